"""Inlining: what is fused has the bits of eager code, and what must not be fused is not."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import MemoryModeError

X = np.linspace(-2, 3, 3 * 5 * 4, dtype="float32").reshape(3, 5, 4)
ROW = np.linspace(0.5, 1.5, 4, dtype="float32")


def check(step, *arrays, statements, backend=None):
    """The routine has so many statements and the bits of eager code; returns it."""
    tensors = [fnb.tensor(a, backend=backend) for a in arrays]
    run = fnb.compile(step)
    found, wanted = run(*tensors), step(*tensors)
    assert found.numpy().tobytes() == wanted.numpy().tobytes()
    assert len(run.routine.program) == statements
    return run.routine


@pytest.mark.parametrize("backend", ["cpu", "python"])
def test_a_chain_is_one_statement(backend):
    routine = check(lambda x: ops.tanh(x * 0.5 + 1.0) * x, X, statements=1, backend=backend)
    assert "mul_add_tanh_mul_kernel" in str(routine)
    assert "def add_kernel" not in str(routine)


def test_the_source_of_a_fused_kernel_can_be_read():
    source = check(lambda x: ops.exp(x) + x, X, statements=1).source
    assert "body(" in source
    assert "exp_add_kernel" in source


def test_operands_that_broadcast():
    check(lambda x, row: ops.exp(x + row) * x, X, ROW, statements=1)
    check(lambda x, row: ops.exp(x * 2.0) + row, X, ROW, statements=1)
    check(lambda x, row: (x + row[:, None, None][:3]) * row, X, ROW, statements=1)
    check(lambda x, row: ops.exp(row) + x, X, ROW, statements=2)


def test_views_and_other_orders():
    check(lambda x: ops.exp(x[:, ::2]) + x[:, ::2], X, statements=1)
    check(lambda x: ops.exp(x[::-1]) * 2.0, X, statements=1)
    check(lambda x: ops.exp(x).reshape(15, 4) * 2.0, X, statements=1)
    check(lambda x: ops.exp(x.T) + x.T, X, statements=1)
    check(lambda x: ops.exp(x).T + x.T, X, statements=2)
    check(lambda x: ops.exp(x)[1] + x[0], X, statements=2)


def test_one_element_and_none():
    check(lambda x: ops.exp(x * 2.0), np.float32(0.5), statements=1)
    check(lambda x: ops.exp(x * 2.0) + 1.0, X[:1, :1, :1], statements=1)
    check(lambda x: (ops.exp(x * 2.0).sum() + 1.0) * 2.0, X[:0], statements=1)


def test_comparisons_are_inlined_and_conversions_are_not():
    check(lambda x: ops.where(x > 0.5, x, ops.exp(x)), X, statements=1)
    check(lambda x: ops.astype(ops.astype(x, "float16") * 3.0, "float32"), X, statements=3)


def test_dropout_keeps_its_mask():
    check(lambda x: ops.dropout(ops.exp(x), 0.5, 7) + x, X, statements=1)
    check(lambda x: ops.exp(ops.dropout(x + 1.0, 0.5, 7)), X, statements=1)


def test_a_value_that_is_used_twice_is_computed_once():
    def step(x):
        y = ops.exp(x)
        return y * ops.tanh(y.sum(axis=-1, keepdims=True))

    check(step, X, statements=4)


def test_reductions_and_rows_are_never_inlined():
    check(lambda x: ops.softmax(x * 2.0) + 1.0, X, statements=3)


@pytest.mark.parametrize(("decide", "statements"), [("retain", 2), ("materialize", 2), ("inline", 1)])
def test_decisions(decide, statements):
    run = fnb.compile(lambda x: getattr(ops.exp(x), decide)() + x)
    assert run(X).numpy().tobytes() == (ops.exp(fnb.tensor(X)) + fnb.tensor(X)).numpy().tobytes()
    assert len(run.routine.program) == statements


def test_an_inlined_value_cannot_be_read():
    kept = []

    def step(x):
        kept.append(ops.exp(x))
        return kept[0] + x

    fnb.compile(step)(X)
    with pytest.raises(MemoryModeError, match="inlined in a routine.*retain"):
        kept[0].numpy()


def test_a_source_that_is_overwritten_in_between():
    state = fnb.tensor(X)

    def step(x):
        y = ops.exp(state)
        state.assign_(x)
        return y + x

    run = fnb.compile(step)
    wanted = (ops.exp(fnb.tensor(X)) + fnb.tensor(X * 3)).numpy()
    np.testing.assert_array_equal(run(X * 3).numpy(), wanted)
    np.testing.assert_array_equal(state.numpy(), X * 3)
    assert len(run.routine.program) == 3


def test_a_target_that_the_maker_reads_elsewhere():
    for read in (lambda s: s[::-1], lambda s: s):
        state, twin = fnb.tensor(X), fnb.tensor(X)

        def step(x, state=state, read=read):
            state.assign_(ops.exp(read(state)))
            return x + 1.0

        fnb.compile(step)(X)
        twin.assign_(ops.exp(read(twin)))
        np.testing.assert_array_equal(state.numpy(), twin.numpy())


def test_a_fused_kernel_has_few_operands():
    sources = [np.full(6, i, "float32") for i in range(20)]

    def step(*all_):
        total = all_[0]
        for t in all_[1:]:
            total = total + t
        return total

    routine = check(step, *sources, statements=2)
    assert max(len(s.kernel.operands) for s in routine.program) <= 12


W = np.linspace(-0.5, 0.5, 16, dtype="float32").reshape(4, 4)


@pytest.mark.parametrize(
    "block", [lambda x: ops.tanh(x @ W), lambda x: ops.softmax(x * 0.5), lambda x: ops.tanh(x * 0.5)]
)
def test_work_of_a_residual_stream_grows_in_a_line_with_its_depth(block):
    """Each value of the stream has two readers; inlining it in both would compute it again and again."""

    def work(depth):
        def step(x):
            for _ in range(depth):
                x = x + block(x) * 0.1
            return x.sum()

        run = fnb.compile(step)
        run(X)
        return run.routine.work()

    few, many, most = (work(depth) for depth in (6, 12, 24))
    for kind in ("bytes", "flop"):
        assert most[kind] - many[kind] <= 2 * (many[kind] - few[kind])
        assert many[kind] <= 2 * few[kind]
        assert most[kind] > many[kind] > few[kind]
