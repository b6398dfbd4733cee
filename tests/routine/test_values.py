"""All values of a routine that was made with fnb.debug(keep=True): complete, and under their labels."""

import re

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops, optim
from forgenb.errors import MemoryModeError

X = np.linspace(-1, 1, 12, dtype="float32").reshape(4, 3)


def small(x, w):
    """Three values between x and the result; the second is inlined unless it is kept."""
    y = x @ w
    z = ops.tanh(y) * 2.0
    return y, z, z.sum(axis=0)


@pytest.mark.usefixtures("each_backend")
def test_every_value_can_be_read_by_its_tensor_and_by_its_label():
    w = fnb.tensor(X.T.copy())
    tensors = []

    def step(x):
        tensors[:] = small(x, w)
        return tensors[-1]

    with fnb.debug(keep=True):
        run = fnb.compile(step)
        result = run(X)
    expected = X @ X.T, 2 * np.tanh(X @ X.T), (2 * np.tanh(X @ X.T)).sum(0)
    for t, value in zip(tensors, expected, strict=True):
        np.testing.assert_allclose(t.numpy(), value, rtol=1e-5, atol=1e-6)
    values = run.routine.values()
    written = re.findall(r"^ +\d+  (\w+) =", str(run.routine), re.MULTILINE)
    assert list(dict.fromkeys(written)) == list(values)
    assert all(label.startswith("s") for label in values)
    shapes = [v.shape for v in values.values() if v.ndim]  # on a device a kernel writes the 2, too
    assert shapes == [(4, 4), (4, 4), (4, 4), (1, 4)]
    np.testing.assert_array_equal(values[written[-1]][0], result.numpy())
    np.testing.assert_array_equal(values[written[0]], tensors[0].numpy())


def test_without_it_values_are_the_results():
    run = fnb.compile(lambda x: small(x, fnb.tensor(X.T.copy()))[-1])
    result = run(X)
    (value,) = run.routine.values().values()
    np.testing.assert_array_equal(value[0], result.numpy())
    value[...] = 0.0
    run(2 * X)
    assert (value == 0).all()
    assert result.numpy().any()


def test_inner_gradients_are_among_them_and_bits_are_the_same():
    def make():
        w = fnb.Parameter(fnb.tensor(X.T.copy()))
        optimizer = optim.SGD([w], lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = (ops.tanh(x @ w) ** 2.0).sum()
            loss.backward()
            optimizer.step()
            return loss

        return w, fnb.compile(step)

    (w, plain), (other, kept) = make(), make()
    with fnb.debug(keep=True):
        kept(X)
    plain(X)
    y = np.tanh(X @ X.T)
    slope = 2 * y * (1 - y * y)
    found = [v for v in kept.routine.values().values() if v.shape == y.shape]
    assert any(np.allclose(v, slope, rtol=1e-4, atol=1e-6) for v in found)
    assert kept(X).item() == plain(X).item()  # outside of the block, too
    np.testing.assert_array_equal(w.numpy(), other.numpy())
    assert kept.routine.memory()["scratch"] == 0 < plain.routine.memory()["scratch"]


def test_a_value_that_is_written_in_parts_has_its_whole_shape():
    i = fnb.symbol("i", range=4)
    data = fnb.Parameter(fnb.tensor(X))

    def step():
        data.grad = None
        loss = (data[i] * data[i]).sum()
        loss.backward()
        return loss

    with fnb.debug(keep=True):
        run = fnb.compile(step)
        run(i=3)
    expected = np.zeros_like(X)
    expected[3] = 2 * X[3]
    assert any(v.shape == X.shape and np.allclose(v, expected) for v in run.routine.values().values())


def test_what_was_to_be_inlined_stays_so():
    tensors = []

    def step(x):
        tensors.append(ops.exp(x).inline())
        return tensors[0] + 1.0

    with fnb.debug(keep=True):
        run = fnb.compile(step)
        run(X)
    assert len(run.routine.values()) == 1
    with pytest.raises(MemoryModeError, match="inlined in a routine"):
        tensors[0].numpy()


def test_a_routine_that_has_not_run_has_none():
    x = fnb.tensor(X)
    with fnb.capture():
        y = ops.exp(x)
    with pytest.raises(MemoryModeError, match="routine 'tensor fwd' has no values yet: run it first"):
        fnb.train.to_routine(fnb.train.forward(y)).values()
