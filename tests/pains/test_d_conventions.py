"""Section D: ties, zeros, overflow and NaN, on every backend."""

import warnings

import numpy as np
import pytest
from support.leaves import gradients, leaf

import forgenb as fnb
from forgenb import ops

pytestmark = pytest.mark.usefixtures("each_backend")
nan, inf = np.nan, np.inf


@pytest.mark.parametrize("f", [ops.maximum, ops.minimum])
def test_a_tie_halves_the_gradient_whatever_the_order(f):
    """P33."""
    assert gradients(f, leaf(1.0), leaf(1.0)) == [0.5, 0.5]
    assert gradients(lambda a, b: f(b, a), leaf(1.0), leaf(1.0)) == [0.5, 0.5]


def test_which_operand_gets_the_gradient():
    """P33."""
    assert gradients(ops.maximum, leaf([1.0, 2.0]), leaf([3.0, -1.0])) == [[0, 1], [1, 0]]
    assert gradients(ops.minimum, leaf([1.0, 2.0]), leaf([3.0, -1.0])) == [[1, 0], [0, 1]]
    assert gradients(ops.maximum, leaf([nan, 2.0]), leaf([3.0, nan])) == [[1, 1], [1, 1]]


def test_a_norm_at_zero_has_slope_zero():
    """P36."""
    assert gradients(lambda x: (x * x).sum(), leaf([0.0, 0.0])) == [[0, 0]]
    assert gradients(ops.norm, leaf([0.0, 0.0])) == [[0, 0]]
    (found,) = gradients(lambda x: x.norm(axis=1), leaf([[0.0, 0.0], [3.0, 4.0]]))
    np.testing.assert_allclose(found, [[0, 0], [0.6, 0.8]], rtol=1e-15)


@pytest.mark.parametrize("square", [ops.square, lambda x: x**2, lambda x: x * x], ids=["square", "power", "product"])
def test_four_derivatives_of_a_bell_at_zero(square):
    """P38."""
    x = leaf(0.0)
    y = ops.exp(-square(x))
    found = []
    for _ in range(4):
        x.grad = None
        y.backward(create_graph=True)
        y = x.grad
        found.append(y.item())
    assert found == [0, -2, 0, 12]


def test_a_negative_base_has_no_slope_in_its_exponent():
    """P40."""
    a, b = leaf(-2.0), leaf(-3.0)
    (a**b).backward()
    np.testing.assert_allclose(a.grad.numpy(), -0.1875, rtol=1e-15)
    assert np.isnan(b.grad.item())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_sigmoid_neither_overflows_nor_warns(dtype):
    """P42."""
    x = leaf([-1000.0, 0.0, 1000.0], dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ops.sigmoid(x).tolist() == [0, 0.5, 1]
        assert gradients(ops.sigmoid, x) == [[0, 0.25, 0]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nan_is_kept(dtype):
    """P44."""
    x = fnb.tensor(np.array([nan, -1.0, 2.0], dtype))
    one = fnb.tensor(np.array([1.0, nan, 1.0], dtype))
    np.testing.assert_array_equal(ops.relu(x).numpy(), [nan, 0, 2])
    np.testing.assert_array_equal(ops.clip(x, 0, 1).numpy(), [nan, 0, 1])
    np.testing.assert_array_equal(ops.maximum(x, one).numpy(), [nan, nan, 2])
    np.testing.assert_array_equal(ops.minimum(one, x).numpy(), [nan, nan, 1])
    for f in (ops.exp, ops.log, ops.sqrt, ops.tanh, ops.sigmoid, ops.abs, ops.square, ops.max, ops.min):
        assert np.isnan(f(x).numpy().flat[0])


def test_a_maximum_of_windows_keeps_nan_and_infinities():
    """P44."""
    x = np.full((1, 1, 2, 4), -inf)
    x[0, 0, 1, 2] = nan
    t = leaf(x)
    out = ops.max_pool2d(t, 2)
    np.testing.assert_array_equal(out.numpy()[0, 0], [[-inf, nan]])
    out.sum().backward()
    assert t.grad.numpy()[0, 0].tolist() == [[1, 0, 0, 0], [0, 0, 1, 0]]


CONSTANT = {
    "std": lambda x, g: x.std(axis=2),
    "var": lambda x, g: x.var(axis=2),
    "layernorm": lambda x, g: ops.layernorm(x, ones(4), ones(4)),
    "batchnorm": lambda x, g: ops.batchnorm(x, g, g),
    "groupnorm": lambda x, g: ops.groupnorm(x, g, g, 1),
    "rmsnorm": lambda x, g: ops.rmsnorm(x * 0.0, ones(4)),
}


def ones(n):
    return fnb.tensor(np.ones(n))


@pytest.mark.parametrize("norm", CONSTANT)
def test_a_constant_row_has_a_finite_gradient(norm):
    """P46."""
    x = leaf(np.full((2, 3, 4), 3.0))
    out = CONSTANT[norm](x, fnb.tensor([0.5, 1.0, 1.5], dtype="float64"))
    assert np.isfinite(out.numpy()).all()
    (out * out + out).sum().backward()
    assert np.isfinite(x.grad.numpy()).all()
    if norm in ("std", "var"):
        assert not x.grad.numpy().any()
