"""Where values live: each mode has its effect, holds when said twice, and contradictions name both places."""

import re

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops, train
from forgenb.errors import ArgumentError, MemoryModeError

X = np.array([0.5, 1.0], "float32")
KEEPING = [train.set_on_host, train.set_hosted]


def chain():
    """A captured loss with values on its way: x, exp(x), three times that, and the sum."""
    x = fnb.tensor(X, name="x")
    with fnb.capture():
        y = ops.exp(x)
        z = y * 3.0
        loss = z.sum()
    return x, y, z, loss


def trained():
    """A parameter and a captured loss of it."""
    w = fnb.Parameter(fnb.tensor(X, name="w"))
    with fnb.capture():
        hidden = ops.tanh(w * 3.0)
        loss = (hidden * hidden).sum()
    return w, hidden, loss


def run(loss):
    routine = train.to_routine(train.forward(loss))
    routine.run()
    return routine


def line(function, offset):
    return f"test_modes.py:{function.__code__.co_firstlineno + offset}"


@pytest.mark.parametrize("keep", KEEPING)
def test_what_is_kept_is_read_after_each_run(keep):
    x, y, _, loss = chain()
    assert keep(keep(y)) is y
    routine = run(loss)
    np.testing.assert_allclose(y.numpy(), np.exp(X), rtol=1e-6)
    x[...] = 0.0
    routine.run()
    np.testing.assert_array_equal(y.numpy(), [1, 1])
    assert keep(y) is y


def test_without_a_decision_it_is_not():
    _, y, _, loss = chain()
    run(loss)
    with pytest.raises(MemoryModeError, match="retain"):
        y.numpy()
    for keep in KEEPING:
        with pytest.raises(
            MemoryModeError, match=rf"retain\(\) at test_modes.py:\d+ \({keep.__name__}\) comes too late"
        ):
            keep(y)


def test_an_input_is_what_the_host_wrote_last():
    x, _, _, loss = chain()
    assert train.set_on_host(train.set_on_host(x, from_device=False), from_device=False) is x
    routine = run(loss)
    before = loss.item()
    x[...] = [0.0, 0.0]
    routine.run()
    assert loss.item() == 6.0 != before


def test_a_routine_may_not_write_an_input():
    def declare(w):
        train.set_on_host(w, from_device=False)

    w, _, loss = trained()
    declare(w)
    update = train.grad_update(loss)
    wanted = f"would write with sgd_kernel a tensor that set_on_host(from_device=False) at {line(declare, 1)} made an"
    with pytest.raises(MemoryModeError, match=re.escape(wanted)):
        train.to_routine(train.sequence([update, train.sgd_update(update, 0.1)]))
    assert train.is_param(w)
    train.to_routine(update).run()  # reading it is what an input is for


def test_what_a_routine_writes_is_no_input_while_the_routine_lives():
    w, _, loss = trained()
    update = train.grad_update(loss)
    routine = train.to_routine(train.sequence([update, train.sgd_update(update, 0.1)]), name="descent")
    with pytest.raises(MemoryModeError, match="routine 'descent' writes this tensor, and an input is written by the h"):
        train.set_on_host(w, from_device=False)
    del routine
    train.set_on_host(w, from_device=False)


def test_what_a_step_computes_or_makes_is_no_input():
    with fnb.capture():
        constant = fnb.tensor(X)
        y = ops.exp(constant)
    for t, what in ((y, "is computed by"), (constant, "is a constant of")):
        with pytest.raises(MemoryModeError, match=rf"from_device=False\) at test_modes.py:\d+: .*\(2,\) {what} a rec"):
            train.set_on_host(t, from_device=False)


@pytest.mark.parametrize("keep", KEEPING)
def test_an_input_is_no_result(keep):
    def decide(x, first, second):
        first(x)
        second(x)

    def given(x):
        return train.set_on_host(x, from_device=False)

    for first, second in ((given, keep), (keep, given)):
        with pytest.raises(
            MemoryModeError, match=r"at test_modes.py:\d+ conflicts with .* at test_modes.py:\d+: the one"
        ):
            decide(fnb.tensor(X), first, second)


def test_a_constant_can_be_read_and_no_routine_changes_it():
    with fnb.capture():
        constant = fnb.tensor(X)
        loss = (constant * 2.0).sum()
    assert train.set_hosted(constant) is constant
    assert train.set_materialized(constant) is constant
    with pytest.raises(
        MemoryModeError, match=r"set_on_host.. at test_modes.py:\d+: .* is a constant of a recorded step"
    ):
        train.set_on_host(constant)
    run(loss)
    np.testing.assert_array_equal(constant.numpy(), X)


def statements(decide=lambda y: None):
    _, y, _, loss = chain()
    decide(y)
    routine = run(loss)
    assert loss.item() == pytest.approx(np.sum(3 * np.exp(X)))
    return [s.name for s in routine.program], y


def test_a_materialised_value_has_a_buffer_and_a_virtual_one_none():
    names, y = statements(train.set_materialized)
    assert "exp_kernel" in names
    assert train.set_materialized(y) is y  # scratch is a buffer
    names, y = statements(lambda y: train.set_virtual(train.set_virtual(y)))
    assert "exp_kernel" not in names
    assert train.set_virtual(y) is y
    with pytest.raises(MemoryModeError, match="conflicts with inline"):
        train.set_materialized(y)


def test_an_inlined_value_stays_virtual_and_gets_no_buffer():
    names, y = statements()
    assert "exp_kernel" not in names
    assert train.set_virtual(y) is y
    with pytest.raises(MemoryModeError, match=r"materialize.. at .* \(set_materialized\) comes too late: .* is inline"):
        train.set_materialized(y)


def test_what_was_made_with_storage_has_it():
    w = fnb.Parameter(fnb.tensor(X))
    with fnb.capture():
        constant = fnb.tensor(X)
    for t in (w, fnb.tensor(X), constant):
        assert train.set_hosted(train.set_materialized(t)) is t
        with pytest.raises(
            MemoryModeError, match=r"set_virtual.. at test_modes.py:\d+: .* made with storage of its own"
        ):
            train.set_virtual(t)


def test_gradients_of_parameters_are_never_virtual():
    w, _, loss = trained()
    train.grad_update(loss)
    with pytest.raises(
        MemoryModeError, match=r"inline.. at test_modes.py:\d+ \(set_virtual\) conflicts with retain.. at "
    ):
        train.set_virtual(w.grad)


@pytest.mark.parametrize("first", [*KEEPING, train.set_materialized, train.set_virtual])
def test_contradictions_name_both_places(first):
    second = train.set_hosted if first is train.set_virtual else train.set_virtual

    def decide(y):
        first(y)
        second(y)

    _, y, _, _ = chain()
    message = rf"at {line(decide, 2)} \({second.__name__}\) conflicts with .* at {line(decide, 1)} \({first.__name__}\)"
    with pytest.raises(MemoryModeError, match=message):
        decide(y)


def test_the_first_decision_is_the_one_that_is_named():
    _, y, _, _ = chain()
    y.inline()
    for _ in range(2):
        train.set_virtual(y)
    with pytest.raises(MemoryModeError, match=r"\(set_hosted\) conflicts with inline\(\) at test_modes.py:\d+: an"):
        train.set_hosted(y)


def test_all_values_of_an_update_are_retained():
    w, hidden, loss = trained()
    update = train.grad_update(loss)
    assert train.retain_all(update) is update
    routine = train.to_routine(update)
    routine.run()
    np.testing.assert_allclose(hidden.numpy(), np.tanh(3 * X), rtol=1e-6)
    assert {m.mode for s in routine.program for m in s.writes} == {"stored"}
    values = list(routine.values().values())
    inner = 2 * np.tanh(3 * X)  # the gradient of hidden, which nothing has a name for
    assert any(v.shape == inner.shape and np.allclose(v, inner, rtol=1e-6) for v in values)
    assert any(np.allclose(v, w.grad.numpy()) for v in values)


def test_all_values_on_the_way_to_a_tensor_are_retained_and_no_others():
    x = fnb.tensor(X)
    with fnb.capture() as c:
        y = ops.exp(x)
        z = ops.tanh(y * 2.0).sum()
        other = ops.sigmoid(x) * 3.0
        total = other.sum()
    assert train.retain_all(z) is z
    routine = train.to_routine(c.program)
    routine.run()
    np.testing.assert_allclose(y.numpy(), np.exp(X), rtol=1e-6)
    assert z.item() == pytest.approx(np.tanh(2 * np.exp(X)).sum())
    for t in (other, total):
        with pytest.raises(MemoryModeError, match="no value to read|never stored"):
            t.numpy()


def test_retaining_all_leaves_what_was_decided_and_constants():
    x = fnb.tensor(X)
    with fnb.capture():
        y = train.set_virtual(ops.exp(x))
        z = train.set_materialized(y * fnb.tensor(X))
        loss = z.sum()
    train.retain_all(train.retain_all(loss))
    run(loss)
    np.testing.assert_allclose(z.numpy(), np.exp(X) * X, rtol=1e-6)
    with pytest.raises(MemoryModeError, match="inlined in a routine"):
        y.numpy()


def test_retaining_all_after_planning_is_too_late():
    _, _, _, loss = chain()
    program = train.forward(loss)
    train.to_routine(program)
    with pytest.raises(MemoryModeError, match=r"retain.. at test_modes.py:\d+ \(retain_all\) comes too late"):
        train.retain_all(program)
    with pytest.raises(MemoryModeError, match="retain_all of a tensor.*that a routine computes already"):
        train.retain_all(loss)
    with pytest.raises(MemoryModeError, match="retain_all needs a tensor that is not computed yet"):
        train.retain_all(fnb.tensor(X))


@pytest.mark.parametrize("f", [*KEEPING, train.set_materialized, train.set_virtual, train.retain_all])
def test_arguments(f):
    with pytest.raises(ArgumentError, match=rf"{f.__name__} needs a .*tensor.*, got ndarray"):
        f(X)
