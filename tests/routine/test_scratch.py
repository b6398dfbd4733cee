"""What planning does for scratch: each pass shows in the bytes, none in the bits, and it holds back where it must."""

import numpy as np
import pytest
from support.cuda import installed, lane_backend

import forgenb as fnb
from forgenb import ops, optim
from forgenb.ops.dropout import dropout
from forgenb.routine import plan, rematerialize

MB = 1 << 20
X = np.random.default_rng(0).normal(0, 1, (512, 512)).astype("float32")
"""Exactly one MiB, from which on values are worth planning for."""

FEW = X[:32]
"""So few rows that gradients of weights take more than anything else."""


@pytest.fixture
def reordered_only(monkeypatch):
    monkeypatch.setattr(rematerialize, "SHARE", 0.0)


def names(routine):
    return [statement.name for statement in routine.program]


def weights(count):
    rng = np.random.default_rng(1)
    return [fnb.Parameter(fnb.tensor(rng.normal(0, 0.05, (512, 512)).astype("float32"))) for _ in range(count)]


def training(count, kind=optim.SGD, clip_norm=None, extra=lambda h, ws: h):
    """A chain of products with its update, as (parameters, step)."""
    parameters = weights(count)
    optimizer = kind(parameters, lr=0.1)

    def step(x):
        optimizer.zero_grad()
        h = x
        for w in parameters:
            h = h @ w
        loss = ops.mean(extra(h, parameters) ** 2.0)
        loss.backward()
        optimizer.step(clip_norm=clip_norm)
        return loss

    return parameters, step


def agree(make, runs=3, x=FEW):
    """The compiled step after some runs, whose bits are those of the eager step."""
    (eager, step), (recorded, again) = make(), make()
    run = fnb.compile(again, "step")
    for _ in range(runs):
        assert step(fnb.tensor(x)).item() == run(x).item()
    for one, other in zip(eager, recorded, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    return run.routine


@pytest.mark.parametrize("kind", [optim.SGD, optim.AdamW])
def test_an_update_follows_its_gradient(kind, reordered_only):
    routine = agree(lambda: training(6, kind))
    found = names(routine)
    updates = [i for i, name in enumerate(found) if name in ("sgd_kernel", "adam_kernel")]
    assert len(updates) == 6
    assert all(found[i - 1] == "gemm" for i in updates)


def test_gradients_are_scratch_that_is_used_again(reordered_only, monkeypatch):
    least = agree(lambda: training(8)).memory()["scratch"]
    monkeypatch.setattr("forgenb.routine.routine.arrange", lambda recorder: None)
    assert agree(lambda: training(8)).memory()["scratch"] > 8 * MB > 4 * least


def test_clipping_needs_all_gradients_first(reordered_only):
    routine = agree(lambda: training(4, clip_norm=1.0))
    found = names(routine)
    assert found.index("sgd_kernel") > found.index("clip_norm_kernel")
    assert found[-4:] == ["sgd_kernel"] * 4


def test_a_weight_is_updated_after_its_last_reader(reordered_only):
    """The penalty reads the weights; its gradient is added at the end of the sweep, the product's before."""
    routine = agree(lambda: training(3, extra=lambda h, ws: h * ops.mean(ws[0] * ws[2])))
    statements = list(routine.program)
    for position, statement in enumerate(statements):
        if statement.name == "sgd_kernel":
            (written,) = statement.writes
            assert not any(m is written for later in statements[position + 1 :] for m in later.reads)


def test_a_retained_gradient_keeps_its_value():
    parameters, step = training(3)
    (w, *_) = parameters
    kept = []

    def keeping(x):
        loss = step(x)
        kept.append(w.grad.retain())
        return loss

    run = fnb.compile(keeping, "step")
    run(FEW)
    others, plain = training(3)
    plain(fnb.tensor(FEW))
    np.testing.assert_array_equal(kept[0].numpy(), others[0].grad.numpy())
    assert run.routine.memory()["stored"] >= MB


def test_a_small_program_stays_as_it_was_recorded(monkeypatch):
    monkeypatch.setattr(plan, "ROOMY", 64 * MB)
    assert names(agree(lambda: training(4)))[-4:] == ["sgd_kernel"] * 4


def gelus(decide=lambda h: None):
    """Routine and loss of a step that keeps each gelu's input and result from forward to backward."""
    parameters = weights(5)

    def step(x):
        h = x
        for w in parameters:
            w.grad = None
            h = ops.gelu(h @ w)
            decide(h)
        loss = ops.mean(h)
        loss.backward()
        return loss, *(w.grad for w in parameters)

    run = fnb.compile(step)
    loss, *_ = run(X)
    return run.routine, loss.item()


def test_pointwise_values_are_computed_again(monkeypatch):
    monkeypatch.setattr(rematerialize, "SHARE", 0.3)
    routine, loss = gelus()
    again = names(routine).count("gelu_kernel") - 5
    assert again >= 3
    monkeypatch.setattr(rematerialize, "SHARE", 0.0)
    kept, same = gelus()
    assert names(kept).count("gelu_kernel") == 5
    assert loss == same
    assert kept.memory()["scratch"] - routine.memory()["scratch"] >= 2 * MB
    assert kept.memory()["unshared"] == routine.memory()["unshared"]


@pytest.mark.parametrize("decide", [fnb.Tensor.retain, fnb.Tensor.materialize])
def test_decisions_prevent_it(decide, monkeypatch):
    monkeypatch.setattr(rematerialize, "SHARE", 0.3)
    routine, loss = gelus(decide)
    assert names(routine).count("gelu_kernel") == 5
    assert loss == gelus()[1]


def test_values_below_the_smallest_are_kept(monkeypatch):
    monkeypatch.setattr(rematerialize, "SHARE", 0.3)
    monkeypatch.setattr(rematerialize, "SMALLEST", MB + 1)
    assert names(gelus()[0]).count("gelu_kernel") == 5


def test_nothing_is_computed_again_from_what_has_changed(monkeypatch):
    """`a` cannot be made again from `x` and `y` at its second use: `y` is another value by then."""
    monkeypatch.setattr(rematerialize, "SHARE", 1.0)

    def step(x):
        y = x * 2.0
        a = ops.softmax(y)
        b = a @ a
        y.add_in_place(x)
        for _ in range(3):
            b = ops.tanh(b @ y) + y * 0.5
        return (b * a).sum()

    run = fnb.compile(step, "step")
    assert run(X).item() == step(fnb.tensor(X)).item()
    assert names(run.routine).count("softmax_kernel") == 1


def test_dropout_that_is_drawn_again_draws_the_same(monkeypatch):
    monkeypatch.setattr(rematerialize, "SHARE", 1.0)
    monkeypatch.setattr(rematerialize, "SMALLEST", 1)
    drawing = lambda h, ws: dropout(ops.gelu(dropout(h, 0.5, 3, 0) @ ws[0]), 0.25, 4, 7)  # noqa: E731
    agree(lambda: training(4, extra=drawing))


@pytest.mark.parametrize("backend", ["cpu", "python", "cuda"])
def test_a_pointwise_result_takes_the_place_of_what_ends_there(backend, monkeypatch):
    monkeypatch.setattr(plan, "ROOMY", 0)
    x = X[:16, :16]

    def step(x):
        y = x @ x
        for _ in range(4):
            y = (ops.tanh(y) + x).materialize()
        return y.sum()

    with installed(lane_backend()), fnb.use(backend):
        run = fnb.compile(step, "step")
        assert run(x).item() == step(fnb.tensor(x)).item()
        maps = [s for s in run.routine.program if s.name == "tanh_add_kernel"]
        assert len(maps) == 4
        assert len({m.placed for s in maps for m in s.writes}) == 1


@pytest.mark.parametrize(
    "use",
    [
        lambda y: y + y.T,
        lambda y: y[:1] * y[1:2],
        lambda y: (y > 0.0).sum(),
        lambda y: ops.exp(y).retain(),
        lambda y: y.astype("float64"),
    ],
    ids=["two layouts", "parts", "dtypes", "stored", "sizes"],
)
def test_a_result_of_another_layout_has_a_place_of_its_own(use, monkeypatch):
    monkeypatch.setattr(plan, "ROOMY", 0)

    def step(x):
        return (use(x @ x) * 1.0).sum()

    run = fnb.compile(step, "step")
    x = X[:32, :32]
    assert run(x).item() == step(fnb.tensor(x)).item()
    memory = {id(m): m for s in run.routine.program for m in s.writes}.values()
    spans = [(m.placed, m.placed + m.nbytes) for m in memory if m.nbytes >= 1024]
    assert len({low for low, _ in spans[:2]}) == len(spans[:2])
