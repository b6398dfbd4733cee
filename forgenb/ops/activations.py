"""Activations and clip: tanh, sigmoid, relu, clip. Integers are computed in float32, and NaN stays NaN.

At a kink the gradient is one fixed value, the same on every backend: 0 for `relu` at 0, `dout` for `clip` on
either bound.

Imports what every family of ops does (see `forgenb.ops`); an activation with a story of its own, such as gelu, has
its own file.
"""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError
from ..kernel import map_kernel
from ..kernel.elementary import sigmoid as sigmoid_of
from ..kernel.elementary import tanh as tanh_of
from ..kernel.primitives import select
from ..tape import record
from ..tensor import Tensor
from .apply import as_tensor, run_map
from .comparison import maximum, minimum
from .pointwise import as_float, as_floats, with_cotangent
from .settings import number, quoted
from .table import SHAPES, op, unary


@map_kernel("x -> out")
def tanh_kernel(x):
    """The hyperbolic tangent."""
    return tanh_of(x)


@map_kernel("out dout -> dx")
def tanh_grad_kernel(out, dout):
    """The slope of tanh in factors, which keep their accuracy near 1 and -1."""
    return (1.0 - out) * (1.0 + out) * dout


@op(with_cotangent(-0.9, 0.9), lambda out, dout: (1 - out**2) * dout, (0, 1), dtypes="float")
def tanh_grad(out, dout) -> Tensor:
    r"""Gradient of `tanh` from its output, :math:`dx = (1 - out^2)\,dout`.

    Backward, with the cotangent :math:`g`: :math:`-2\,out\,dout\,g` for `out`, :math:`(1 - out^2)\,g` for
    `dout`. Saves both.
    """
    out, dout = as_floats(out, dout)

    def backward(g):
        return out * dout * g * -2.0, tanh_grad(out, g)

    return record(run_map(tanh_grad_kernel, (out, dout)), (out, dout), backward)


@op(unary(-3, 3), np.tanh, dtypes="float")
def tanh(x) -> Tensor:
    r"""Hyperbolic tangent, :math:`out = \tanh x`.

    Backward: :math:`dx = (1 - out^2)\,dout`. Saves its output.
    """
    x = as_float(x)

    def backward(dout, out):
        return (tanh_grad(out, dout),)

    return record(run_map(tanh_kernel, (x,)), (x,), backward, save_output=True)


@map_kernel("x -> out")
def sigmoid_kernel(x):
    """The logistic function."""
    return sigmoid_of(x)


@map_kernel("out dout -> dx")
def sigmoid_grad_kernel(out, dout):
    """The slope of the logistic function, from its output."""
    return out * (1.0 - out) * dout


@op(with_cotangent(0.05, 0.95), lambda out, dout: out * (1 - out) * dout, (0, 1), dtypes="float")
def sigmoid_grad(out, dout) -> Tensor:
    r"""Gradient of `sigmoid` from its output, :math:`dx = out\,(1 - out)\,dout`.

    Backward, with the cotangent :math:`g`: :math:`(1 - 2\,out)\,dout\,g` for `out`, :math:`out\,(1 - out)\,g`
    for `dout`. Saves both.
    """
    out, dout = as_floats(out, dout)

    def backward(g):
        return (1.0 - 2.0 * out) * dout * g, sigmoid_grad(out, g)

    return record(run_map(sigmoid_grad_kernel, (out, dout)), (out, dout), backward)


@op(unary(-5, 5), lambda x: np.exp(-np.logaddexp(0, -x)), dtypes="float")
def sigmoid(x) -> Tensor:
    r"""Logistic function, :math:`out = 1 / (1 + e^{-x})`, without overflow for any `x`.

    Backward: :math:`dx = out\,(1 - out)\,dout`. Saves its output.
    """
    x = as_float(x)

    def backward(dout, out):
        return (sigmoid_grad(out, dout),)

    return record(run_map(sigmoid_kernel, (x,)), (x,), backward, save_output=True)


@map_kernel("x -> out")
def relu_kernel(x):
    """Zero below zero; every comparison with NaN fails."""
    return select(x < 0.0, 0.0, x)


@map_kernel("out dout -> dx")
def relu_grad_kernel(out, dout):
    """`dout`, where the output was not cut."""
    return select(out <= 0.0, 0.0, dout)


@op(with_cotangent(-2, 2, apart=(0.0,)), lambda out, dout: np.where(out <= 0, 0, dout), (1,), dtypes="float")
def relu_grad(out, dout) -> Tensor:
    r"""Gradient of `relu` from its output (or its input): `dout` where that is above 0 or NaN, else 0.

    Backward, with the cotangent :math:`g`: ``relu_grad(out, g)`` for `dout`. Saves `out`.
    """
    out, dout = as_floats(out, dout)

    def backward(g):
        return None, relu_grad(out, g)

    return record(run_map(relu_grad_kernel, (out, dout)), (out, dout), backward)


@op(unary(-2, 2, apart=(0.0,)), lambda x: np.maximum(x, 0), dtypes="float")
def relu(x) -> Tensor:
    r"""Rectifier, :math:`out = \max(x, 0)`; NaN stays NaN.

    Backward: :math:`dx = dout` where :math:`x > 0`, else 0; at the kink 0 the gradient is 0.
    Saves its output.
    """
    x = as_float(x)

    def backward(dout, out):
        return (relu_grad(out, dout),)

    return record(run_map(relu_kernel, (x,)), (x,), backward, save_output=True)


@map_kernel("x -> out; low high")
def clip_kernel(x, low, high):
    """`x` within the bounds; every comparison with NaN fails."""
    return select(x < low, low, select(x > high, high, x))


@map_kernel("x dout -> dx; low high")
def clip_grad_kernel(x, dout, low, high):
    """`dout`, where `x` is not beyond a bound."""
    return select((x < low) | (x > high), 0.0, dout)


def _clip_samples(rng: np.random.Generator):
    for shape in SHAPES:
        for (x,), _ in unary(-2, 2, (shape,), apart=(-0.5, 1.25))(rng):
            yield (x,), {"low": -0.5, "high": 1.25}
    yield (np.array([-2.0, 0.0, 3.0]),), {"low": 0.5}
    yield (np.array([-2.0, 0.0, 3.0]),), {"high": 0.5}


def _clip_grad_samples(rng: np.random.Generator):
    for (x,), bounds in _clip_samples(rng):
        yield (x, rng.uniform(-2, 2, x.shape)), bounds


def _beyond(x, low=-np.inf, high=np.inf):
    return (x < low) | (x > high)


@op(_clip_grad_samples, lambda x, dout, **bounds: np.where(_beyond(x, **bounds), 0, dout), (1,), dtypes="float")
def clip_grad(x, dout, low: float = -np.inf, high: float = np.inf) -> Tensor:
    r"""Gradient of `clip`: 0 where `x` is below `low` or above `high`, else `dout`.

    Backward, with the cotangent :math:`g`: ``clip_grad(x, g, low, high)`` for `dout`. Saves `x`.
    """
    x, dout = as_floats(x, dout)
    bounds = number("clip_grad", "low", low), number("clip_grad", "high", high)

    def backward(g):
        return None, clip_grad(x, g, *bounds)

    return record(run_map(clip_grad_kernel, (x, dout), bounds), (x, dout), backward)


@op(_clip_samples, lambda x, low=-np.inf, high=np.inf: np.clip(x, low, high), dtypes="numbers")
def clip(x, low: float = -np.inf, high: float = np.inf) -> Tensor:
    r"""Limit to an interval, :math:`out = \min(\max(x, low), high)`; NaN stays NaN.

    Integers stay integers where the bounds are.

    Backward: :math:`dx = dout` where :math:`low \le x \le high`, bounds included, else 0. Saves `x`.

    Raises
    ------
    ArgumentError
        If the bounds are not two numbers in order.
    """
    x = as_tensor(x)
    bounds = number("clip", "low", low), number("clip", "high", high)
    if not bounds[0] <= bounds[1]:
        raise ArgumentError(
            f"clip got low={quoted(low)} and high={quoted(high)}: low must not exceed high, and neither may be NaN"
        )
    if x.dtype.kind != "f":
        x = maximum(x, low) if bounds[0] > -np.inf else x
        return minimum(x, high) if bounds[1] < np.inf else x

    def backward(dout):
        return (clip_grad(x, dout, *bounds),)

    return record(run_map(clip_kernel, (x,), bounds), (x,), backward)
