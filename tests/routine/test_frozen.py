"""What a recording would freeze: it raises, or the step is recorded anew. docs/routines.md lists the same cases."""

import random

import numpy as np
import pytest

import forgenb as fnb
from forgenb import models, nn, ops, train
from forgenb.errors import ArgumentError, IndexRangeError, MemoryModeError, TapeError

X = np.ones((2, 3), "float32")
SCALE = 2.0
COUNT = 0
PAIR = (1, "a")


@pytest.fixture
def _numpy_state():
    before = np.random.get_state()
    yield
    np.random.set_state(before)


@pytest.mark.usefixtures("_numpy_state")
@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.rand(),
        lambda: random.random(),
        lambda: fnb.random.generator(1, "noise").normal(),
        lambda: nn.Linear(3, 3, name="late"),
    ],
    ids=["numpy", "python", "forgenb", "initial values"],
)
def test_random_draws_on_the_host_raise(draw):
    def step(x):
        draw()
        return x * 2.0

    with pytest.raises(MemoryModeError, match="on the host.*every run would use the same ones"):
        fnb.compile(step)(X)
    with pytest.raises(MemoryModeError, match="every run would use the same ones"), fnb.capture():
        draw()


@pytest.mark.usefixtures("_numpy_state")
def test_draws_outside_of_the_step_are_free():
    run = fnb.compile(lambda x: x * 2.0)
    np.random.rand()
    run(np.random.rand(2, 3))


def test_reading_an_argument_or_a_tensor_from_outside_raises():
    outside = fnb.tensor(3.0)
    with pytest.raises(MemoryModeError, match="the value of an argument of the step was read while"):
        fnb.compile(lambda x: x * float(x.sum(axis=None).shape == () and x[0, 0].item()))(X)
    with pytest.raises(MemoryModeError, match="the value of a tensor from outside was read while"):
        fnb.compile(lambda x: x * outside.item())(X)


def test_a_changed_global_records_anew(monkeypatch):
    run = fnb.compile(lambda x: x * SCALE)
    assert run(X).numpy()[0, 0] == 2
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert run(X).numpy()[0, 0] == 3
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    assert run(X).numpy()[0, 0] == 2
    assert len(run.routines) == 2


def test_a_changed_closure_records_anew():
    power = 1.0

    def step(x):
        def inner():
            return x * power

        return inner()

    run = fnb.compile(step)
    assert run(X).numpy()[0, 0] == 1
    power = 5.0
    assert run(X).numpy()[0, 0] == 5


def test_a_routine_made_before_the_change_refuses_to_run(monkeypatch):
    run = fnb.compile(lambda x: x * SCALE, "scaled")
    run(X)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    with pytest.raises(MemoryModeError, match="'scaled' does not fit any more: global SCALE was 2.0 .* and is 3.0 now"):
        run.routine.run()


def test_a_step_that_changes_its_own_global_raises():
    def step(x):
        global COUNT
        COUNT += 1
        return x * COUNT

    with pytest.raises(MemoryModeError, match="changes what it depends on: global COUNT was 0 .* and is 1 now"):
        fnb.compile(step)(X)


def test_the_mode_of_a_model_belongs_to_the_recording():
    drop = nn.Dropout(0.5)
    run = fnb.compile(lambda x: drop(x) * 1.0)
    zeros = (run(np.ones(1000, "float32")).numpy() == 0).sum()
    assert 400 < zeros < 600
    drop.eval()
    assert (run(np.ones(1000, "float32")).numpy() == 1).all()
    drop.train()
    assert 400 < (run(np.ones(1000, "float32")).numpy() == 0).sum() < 600
    assert len(run.routines) == 2
    config = models.GPTConfig(vocab=5, context=4, layers=1, heads=1, width=4, dropout=0.5)
    model = models.GPT(config)
    ids = fnb.tensor(np.zeros((1, 4), "int64"))
    with fnb.capture():
        loss = model.loss(ids, ids)
    routine = train.to_routine(train.forward(loss))
    routine.run()
    model.eval()
    with pytest.raises(MemoryModeError, match="model.training was True"):
        routine.run()


def test_no_grad_belongs_to_the_recording():
    w = fnb.Parameter(fnb.tensor(2.0))
    run = fnb.compile(lambda x: x * w)
    run(X)
    with fnb.no_grad():
        run(X)
    assert len(run.routines) == 2


def test_another_shape_dtype_or_plain_value_records_anew():
    run = fnb.compile(lambda x, factor: x * factor)
    for x, factor in ((X, 1.0), (X[:1], 1.0), (X.astype("float64"), 1.0), (X, 2.0), (X, 1)):
        np.testing.assert_array_equal(run(x, factor).numpy(), x * factor)
    assert len(run.routines) == 5
    with pytest.raises(ArgumentError, match="got arguments of types ndarray, list"):
        run(X, [1.0])


def test_ids_of_an_argument_are_never_frozen():
    table = fnb.tensor(np.arange(12, dtype="float32").reshape(4, 3))
    for dtype in ("int64", "int32"):
        run = fnb.compile(lambda ids: (ops.take(table, ids), ops.embedding(ids, table)))
        for ids in ([0, 1], [3, 2]):
            for found in run(np.array(ids, dtype)):
                np.testing.assert_array_equal(found.numpy(), table.numpy()[ids])
        for wrong in (4, -1):
            with pytest.raises(IndexRangeError, match=f"take got id {wrong}: it must be in 0 .. 3"):
                run(np.array([0, wrong], dtype))


def test_ids_from_outside_are_checked_again_when_they_change():
    table, ids = fnb.tensor(np.eye(3, dtype="float32")), fnb.tensor(np.array([0, 1]))
    run = fnb.compile(lambda: ops.embedding(ids, table))
    run()
    ids[0] = 7
    with pytest.raises(IndexRangeError, match="token id 7"):
        run()


def test_what_changes_in_every_call_is_refused_in_the_end():
    step = 0
    run = fnb.compile(lambda x: x * step, "schedule")
    for step in range(16):
        assert run(X).numpy()[0, 0] == step
    step = 16
    with pytest.raises(MemoryModeError, match="'schedule' was recorded 16 times.*closed-over step was 15 .* a symbol"):
        run(X)


@pytest.mark.parametrize(
    ("one", "other"), [(0.0, -0.0), (0.0j, -0.0j), ((1,), (1.0,)), ((0, (1,)), (0, (True,)))], ids=repr
)
def test_plain_values_that_are_equal_but_not_the_same_record_anew(one, other):
    kept = one
    run = fnb.compile(lambda x, value: x + 1.0)
    held = fnb.compile(lambda x: (x + 1.0) if kept is None else (x + 2.0))
    for kept in (one, other, one):
        run(X, kept)
        held(X)
    assert len(run.routines) == len(held.routines) == 2


def test_nan_is_the_same_plain_value_every_time():
    kept = float("nan")
    run, held = fnb.compile(lambda x, value: x + 1.0), fnb.compile(lambda x: x + (0.0 if kept is None else 1.0))
    for kept in (float("nan"), float("nan")):
        run(X, kept)
        held(X)
    assert len(run.routines) == len(held.routines) == 1


def test_a_tracked_argument_is_refused():
    run, x = fnb.compile(lambda x: x + 1.0), fnb.tensor(X, requires_grad=True)
    with pytest.raises(TapeError, match=r"tracked tensor of shape \(2, 3\) as an argument.*pass argument.detach\(\)"):
        run(x)
    assert run(x.detach()).tolist() == (X + 1).tolist()
    with fnb.no_grad():
        assert run(x).tolist() == (X + 1).tolist()


def test_a_routine_does_not_run_while_a_step_is_recorded():
    inner = fnb.compile(lambda x: x + 1.0, "inner")
    inner(X)
    with pytest.raises(MemoryModeError, match="'inner' was run while a step was being recorded"):
        fnb.compile(inner)(X)
    with fnb.capture(), pytest.raises(MemoryModeError, match="'inner' was run while a step was being recorded"):
        inner.routine.run()
    assert inner.routine.runs == 1
