"""Captures and programs: nothing is computed, what was recorded can be read as text and as a graph."""

import gc
import weakref

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops, train
from forgenb.errors import MemoryModeError
from forgenb.ops.copying import filled
from forgenb.routine import Program


def captured():
    x = fnb.tensor(np.ones((2, 3), "float32"))
    with fnb.capture("small") as c:
        with fnb.scope("block 1"):
            hidden = ops.tanh(x @ x.T)
        with fnb.scope('the "end"'):
            total = hidden.sum()
    return c, hidden, total


def test_nothing_runs_inside_a_capture():
    x = fnb.tensor([1.0])
    before = fnb.stats()
    with fnb.capture() as c:
        y = ops.exp(x) + 1.0
    assert fnb.stats().since(before).launches == 0
    assert (y.shape, y.dtype.name) == ((1,), "float32")
    with pytest.raises(MemoryModeError, match="when nothing is computed yet"):
        y.numpy()
    assert len(c.program) == 2


def test_the_program_is_there_after_the_block():
    with fnb.capture() as c, pytest.raises(MemoryModeError, match="only after its with block"):
        c.program  # noqa: B018
    with pytest.raises(ZeroDivisionError), fnb.capture() as c:
        1 / 0  # noqa: B018
    with pytest.raises(MemoryModeError, match="only after its with block"):
        c.program  # noqa: B018


def test_captures_do_not_nest():
    with fnb.capture(), pytest.raises(MemoryModeError, match="being recorded already"), fnb.capture():
        pass
    with fnb.capture() as c:
        ops.exp(fnb.tensor([1.0]))
    assert len(c.program) == 1


def test_a_program_is_a_list_with_a_text():
    c, _, _ = captured()
    program = c.program
    assert isinstance(program, fnb.Program)
    assert isinstance(program, Program)
    assert len(program) == 3
    assert next(s.name for s in program) == "gemm"
    assert repr(program) == "<Program 'small': 3 statements>"
    text = str(program)
    assert "routine small: 3 statements" in text
    assert "block 1:" in text
    assert "2x3 3x2 2x2" in text
    assert "v0 = gemm(p1, p1)" in text


def test_the_graph_is_dot_text():
    c, _, _ = captured()
    lines = c.program.graph().splitlines()
    assert lines[0] == 'digraph "small" {'
    assert lines[-1] == "}"
    assert any('label="block 1"' in line for line in lines)
    assert any('label="the \\"end\\""' in line for line in lines)
    assert "  n0 -> n1;" in lines
    assert "  n1 -> n2;" in lines
    assert sum("shape=ellipse" in line for line in lines) == 1
    assert c.program.graph().count("{") == c.program.graph().count("}")


def test_a_routine_shows_kinds_memory_and_source():
    _, hidden, total = captured()
    routine = train.to_routine(train.forward(total))
    assert isinstance(routine, fnb.Routine)
    routine()
    assert total.item() == pytest.approx(4 * np.tanh(3.0), rel=1e-6)
    assert "s" in str(routine)
    assert "tanh" in routine.source
    memory = routine.memory()
    assert memory["outside"] == 24
    assert memory["stored"] == 64
    assert memory["peak"] == memory["stored"] + memory["scratch"] + memory["constant"] + memory["outside"]
    assert repr(routine) == "<Routine 'tensor fwd': 3 statements, 1 runs>"
    with pytest.raises(MemoryModeError, match="scratch of routine 'tensor fwd'"):
        hidden.numpy()


def test_a_stored_value_of_one_routine_is_read_by_another():
    x = fnb.tensor([1.0, 2.0])
    with fnb.capture():
        y = ops.exp(x)
    first = train.to_routine(train.forward(y), name="first")
    with fnb.capture():
        z = y * 2.0
    second = train.to_routine(train.forward(z), name="second")
    with pytest.raises(MemoryModeError, match="routine 'second' reads a value that is not there yet.*'first'"):
        second.run()
    assert second.runs == 0
    first.run()
    second.run()
    np.testing.assert_array_equal(z.numpy(), 2 * y.numpy())
    x[...] = 0.0
    first.run()
    second.run()
    assert z.tolist() == [2.0, 2.0]


def test_scratch_of_one_routine_cannot_be_read_by_another():
    with fnb.capture():
        y = ops.exp(fnb.tensor([1.0]))
        z = y.sum()
    train.to_routine(train.forward(z), name="first")
    with fnb.capture():
        w = y * 2.0
    with pytest.raises(MemoryModeError, match="routine 'tensor fwd': .* reads what is not kept.*retain"):
        train.to_routine(train.forward(w))


def test_a_tensor_that_a_kernel_fills_is_not_read_before():
    def step(x):
        return filled((2,), 3.0, x.dtype, x.backend) + x

    assert fnb.compile(step)(np.ones(2, "float32")).tolist() == [4.0, 4.0]


def test_a_constant_that_the_step_writes_into_is_a_value_that_it_computes():
    x = fnb.tensor(np.arange(3, dtype="float32"))
    with fnb.capture():
        constant, y = fnb.tensor([1.0, 1.0, 1.0]), fnb.tensor([1.0, 1.0, 1.0])
        assert y.tolist() == [1, 1, 1]
        y[1:] = x[1:] * 2.0
        with pytest.raises(MemoryModeError, match="while its step was being recorded"):
            y.tolist()
        z = y + constant
    assert constant.tolist() == [1, 1, 1]
    with pytest.raises(MemoryModeError, match="while its step was being recorded"):
        y.tolist()
    assert fnb.train.forward_once(y).tolist() == [1, 2, 4]
    routine = fnb.train.to_routine(fnb.train.forward(y))
    for factor in (1.0, 2.0):
        x[...] = factor * np.arange(3)
        routine.run()
        assert y.tolist() == [1, 2 * factor, 4 * factor]
    assert fnb.train.forward_and_forget(z).tolist() == [2, 5, 9]


def test_ids_that_the_step_writes_cannot_be_checked():
    table, chosen = fnb.tensor([[1.0], [2.0]]), fnb.tensor([1, 1])
    with fnb.capture():
        ids = fnb.tensor([0, 1])
        ids[...] = chosen
        with pytest.raises(MemoryModeError, match="ids that the recorded step computes itself cannot be checked"):
            ops.embedding(ids, table)


def test_a_routine_that_is_dropped_gives_its_memory_back_at_once():
    run = fnb.compile(lambda x: ops.exp(ops.softmax(x)).sum())
    run(np.ones((2, 3), "float32"))
    arena = weakref.ref(run.routine._arena)
    gc.disable()
    try:
        del run
        assert arena() is None
    finally:
        gc.enable()
