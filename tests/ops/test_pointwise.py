"""Elementary functions, steps and rectifiers: ends of their domains, kinks, second derivatives, far angles."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops

nan, inf = np.nan, np.inf


def gradients(f, x):
    t = fnb.tensor(np.asarray(x, np.float64), requires_grad=True)
    f(t).sum().backward()
    return t.grad.tolist()


@pytest.mark.parametrize(
    ("f", "x", "out"),
    [
        (ops.expm1, [-inf, 0, inf], [-1, 0, inf]),
        (ops.log1p, [-2, -1, 0, inf], [nan, -inf, 0, inf]),
        (ops.log2, [-1, 0, 1, 8, inf], [nan, -inf, 0, 3, inf]),
        (ops.rsqrt, [-1, 0, 4, inf], [nan, inf, 0.5, 0]),
        (ops.sinh, [-inf, 0, inf], [-inf, 0, inf]),
        (ops.cosh, [-inf, 0, inf], [inf, 1, inf]),
        (ops.sin, [-inf, 0, inf], [nan, 0, nan]),
        (ops.cos, [-inf, 0, inf], [nan, 1, nan]),
        (ops.tan, [-inf, 0, inf], [nan, 0, nan]),
        (ops.erf, [-inf, 0, inf], [-1, 0, 1]),
        (ops.sign, [-inf, -2, 0, 3, inf, nan], [-1, -1, 0, 1, 1, nan]),
        (ops.floor, [-1.5, -1, 1.5, inf, nan], [-2, -1, 1, inf, nan]),
        (ops.softplus, [-inf, 0, inf, nan], [0, np.log(2), inf, nan]),
        (ops.logsigmoid, [-inf, 0, inf, nan], [-inf, -np.log(2), 0, nan]),
        (ops.silu, [-inf, 0, inf, nan], [0, 0, inf, nan]),
        (ops.gelu_erf, [-inf, 0, inf, nan], [0, 0, inf, nan]),
        (ops.elu, [-inf, 0, inf, nan], [-1, 0, inf, nan]),
        (ops.leaky_relu, [-inf, 0, 2, inf, nan], [-inf, 0, 2, inf, nan]),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_limits_and_ends_of_the_domain(f, x, out, dtype):
    found = f(fnb.tensor(np.array(x, dtype)))
    np.testing.assert_allclose(found.numpy(), np.array(out, dtype), rtol=2 * np.finfo(dtype).eps)


@pytest.mark.parametrize("f", [ops.expm1, ops.log1p, ops.sinh, ops.sin, ops.tan, ops.arctan])
def test_functions_that_begin_like_x_keep_small_numbers(f):
    x = np.array([1e-12, -1e-30], np.float32)
    assert f(fnb.tensor(x)).tolist() == x.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_an_angle_does_not_depend_on_its_neighbours(name, dtype):
    """A block with one far angle takes the other way, with the same bits for the others."""
    f = getattr(ops, name)
    x = np.random.default_rng(0).uniform(-9, 9, 700).astype(dtype)
    alone = f(fnb.tensor(x)).numpy().copy()
    x[[3, 400]] = 3e30, nan
    beside = f(fnb.tensor(x)).numpy()
    rest = np.delete(np.arange(700), [3, 400])
    np.testing.assert_array_equal(beside[rest], alone[rest])
    np.testing.assert_allclose(beside[3], getattr(np, name)(np.longdouble(x[3])), rtol=4 * np.finfo(dtype).eps)


def test_steps_have_no_slope():
    assert gradients(ops.sign, [-1, 0, 2]) == [0, 0, 0]
    assert gradients(ops.floor, [-1, 0.5, 2]) == [0, 0, 0]


def test_steps_keep_whole_numbers():
    x = fnb.tensor([-3, 0, 5])
    assert (ops.sign(x).tolist(), ops.floor(x).tolist()) == ([-1, 0, 1], [-3, 0, 5])
    assert ops.sign(x).dtype.name == ops.floor(x).dtype.name == "int64"
    assert ops.floor(x).memory is not x.memory


def test_kinks():
    assert gradients(lambda x: ops.leaky_relu(x, 0.1), [-1, 0, 1]) == [0.1, 0.1, 1]
    assert gradients(lambda x: ops.elu(x, 0.5), [-50, 0, 1]) == [0.5 * np.exp(-50.0), 0.5, 1]


@pytest.mark.parametrize("f", [ops.silu, ops.gelu_erf])
def test_slopes_at_the_ends(f):
    assert gradients(f, [-1000, -inf, 0, 1000, inf]) == [0, 0, 0.5, 1, 1]


SMOOTH = ["expm1", "log1p", "log2", "rsqrt", "sinh", "cosh", "sin", "cos", "tan", "arctan", "erf", "softplus",
          "logsigmoid", "silu", "gelu_erf", "elu", "leaky_relu"]  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives(name):
    x = np.array([0.3, 0.7, 1.1])
    slope = fnb.grad(lambda t: getattr(ops, name)(t).sum())
    fnb.gradcheck(slope, x)
    if name in ("elu", "silu", "gelu_erf", "softplus"):
        fnb.gradcheck(slope, -x)


@pytest.mark.parametrize("name", [n for n in SMOOTH if hasattr(fnb.Tensor, n)])
def test_the_method_is_the_function(name):
    x = fnb.tensor([0.25, 0.5])
    assert getattr(x, name)().tolist() == getattr(ops, name)(x).tolist()
