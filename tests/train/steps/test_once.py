"""A forward pass by itself: its value, the graph that stays trainable, and the memory that does not stay."""

import contextlib
import gc
import weakref

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops, train
from forgenb.errors import BindingError, IndexRangeError, MemoryModeError

X = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)


def captured():
    """A parameter, data, an inner value and a loss."""
    w = fnb.Parameter(fnb.tensor(X.T.copy(), name="w"))
    x = fnb.tensor(X)
    with fnb.capture():
        hidden = ops.softmax(ops.tanh(x @ w) + fnb.tensor(np.float32(0.5)))
        loss = (hidden * hidden).sum()
    return w, x, hidden, loss


def expected(w, x):
    z = np.exp(np.tanh(x @ w) + 0.5)
    return ((z / z.sum(1, keepdims=True)) ** 2).sum()


@pytest.mark.usefixtures("each_backend")
def test_a_tensor_can_be_read_and_trained_afterwards():
    w, x, hidden, loss = captured()
    assert train.forward_once(loss) is loss
    assert loss.item() == pytest.approx(expected(w.numpy(), X), rel=1e-6)
    update = train.grad_update(loss)
    x[...] = 2 * X
    assert train.forward_once(loss).item() == pytest.approx(expected(w.numpy(), 2 * X), rel=1e-6)
    with pytest.raises(MemoryModeError, match="while its step was being recorded"):
        hidden.numpy()
    routine = train.to_routine(train.sequence([update, train.sgd_update(update, 0.1)]))
    with pytest.raises(MemoryModeError, match="has not run yet"):
        loss.item()
    routine.run()
    first = loss.item()
    assert first == pytest.approx(expected(X.T, 2 * X), rel=1e-6)
    for _ in range(3):
        routine.run()
    assert loss.item() < first
    with pytest.raises(MemoryModeError, match="forward_once of a tensor.*that a routine computes already"):
        train.forward_once(loss)


def test_steps_after_it_have_the_bits_of_steps_without_it():
    found = []
    for looks in (True, False):
        w, _, hidden, loss = captured()
        if looks:
            train.forward_once(hidden)
            train.forward_and_forget(loss)
        update = train.grad_update(loss)
        routine = train.to_routine(train.sequence([update, train.sgd_update(update, 0.1)]))
        for _ in range(3):
            routine.run()
        found.append((loss.item(), w.numpy().copy()))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_a_view_of_a_value_and_what_was_computed_already():
    x = fnb.tensor(X)
    with fnb.capture():
        y = ops.exp(x)
        z = y.T[1] * 2.0
    np.testing.assert_allclose(train.forward_once(y.T[1]).numpy(), np.exp(X[:, 1]), rtol=1e-6)
    np.testing.assert_allclose(train.forward_and_forget(y.T), np.exp(X.T), rtol=1e-6)
    train.to_routine(train.forward(y)).run()
    np.testing.assert_allclose(train.forward_and_forget(z), 2 * np.exp(X[:, 1]), rtol=1e-6)


def test_symbols_are_given_by_name():
    i, data = fnb.symbol("i", range=2), fnb.tensor(X)
    with fnb.capture():
        y = data[i] * 2.0
    assert train.forward_once(y, i=1).tolist() == (2 * X[1]).tolist()
    assert train.forward_and_forget(y).tolist() == (2 * X[0]).tolist()
    with pytest.raises(IndexRangeError, match="routine 'tensor fwd' got i = 2: its range is 0 .. 1"):
        train.forward_once(y, i=2)
    with pytest.raises(BindingError, match="no symbol 'j'"):
        train.forward_once(y, j=2)


def test_a_constant_that_the_step_writes_into_is_as_it_was():
    x = fnb.tensor(X)
    with fnb.capture():
        total = fnb.tensor(np.zeros(3, "float32"))
        for row in range(2):
            total.add_in_place(x[row])
        y = total * 1.0
    for _ in range(2):
        np.testing.assert_allclose(train.forward_once(y).numpy(), X.sum(0), atol=1e-7)
    routine = train.to_routine(train.forward(y))
    for _ in range(2):
        routine.run()
        np.testing.assert_allclose(y.numpy(), X.sum(0), atol=1e-7)


def test_dropout_draws_anew_as_in_eager_code():
    drop = fnb.nn.Dropout(0.5)
    x = fnb.tensor(np.ones(100, "float32"))
    with fnb.capture():
        y = drop(x)
    first = train.forward_and_forget(y)
    assert (train.forward_and_forget(y) != first).any()
    assert drop.calls == 2


def test_nothing_of_it_is_frozen_into_another_step():
    x = fnb.tensor(X)
    with fnb.capture():
        y = ops.exp(x)
    train.forward_once(y)
    with pytest.raises(MemoryModeError, match="read while the step was being recorded"):
        fnb.compile(lambda: x * float(y.numpy()[0, 0]))()
    with fnb.capture(), pytest.raises(MemoryModeError, match="was run while a step was being recorded"):
        train.forward_once(y)


def test_what_is_not_captured_is_refused():
    for f in (train.forward_once, train.forward_and_forget):
        with pytest.raises(MemoryModeError, match=f"{f.__name__} needs a tensor that is not computed yet"):
            f(fnb.tensor(1.0))


@contextlib.contextmanager
def blocks_of(backend, monkeypatch):
    """The blocks that are alive of those that the backend hands out in a block; the cyclic collector is off."""
    alive = weakref.WeakSet()

    def noted(nbytes):
        memory = allocate(nbytes)
        alive.add(memory)
        return memory

    allocate = backend.allocate
    gc.disable()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(backend, "allocate", noted)
            yield alive
    finally:
        gc.enable()


def test_a_tensor_that_holds_nothing():
    x = fnb.tensor(X[:0])
    with fnb.capture():
        y = ops.exp(x) * 2.0
    assert train.forward_and_forget(y).shape == (0, 3)
    assert train.forward_once(y).shape == (0, 3)
    assert y.tolist() == []
    with fnb.capture():
        z = ops.exp(x).sum(axis=0) + 1.0
    assert train.forward_once(z).tolist() == train.forward_and_forget(z).tolist() == [1, 1, 1]


def test_dumps_keep_nothing_alive(tmp_path, monkeypatch):
    _, x, _, loss = captured()
    with blocks_of(x.backend, monkeypatch) as alive, fnb.debug(folder=tmp_path, trace=True, keep=True):
        train.forward_and_forget(loss)
        train.forward_and_forget(loss)
        assert len(alive) == 0
    assert len(list(tmp_path.glob("0[01]_tensor_fwd.*"))) == 8


def test_forgetting_leaves_no_buffer(each_backend, monkeypatch):
    w, x, _, loss = captured()
    train.forward_and_forget(loss)
    with blocks_of(x.backend, monkeypatch) as alive, fnb.peak_memory() as peak:
        found = train.forward_and_forget(loss)
        assert len(alive) == 0 == peak.now
        train.forward_once(loss)
        assert [m.nbytes for m in alive] == [4]
        train.forward_once(loss)
        assert [m.nbytes for m in alive] == [4]
        train.to_routine(train.grad_update(loss))
        assert 4 not in [m.nbytes for m in alive]
    assert type(found) is np.ndarray
    assert found.flags.owndata
    assert found == pytest.approx(expected(w.numpy(), X), rel=1e-6)
