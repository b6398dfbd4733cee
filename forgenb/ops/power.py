"""Powers: `pow` with a tensor or a number as exponent, and its gradients for base and exponent.

Conventions: :math:`x^0 = 1` for every x, also 0 and NaN; a negative base with a broken exponent gives NaN.
The gradient for the base is 0 where the exponent is 0. The gradient for the exponent is 0 where the base is 0
and the exponent is not negative, and NaN where the base is negative, since no logarithm exists there.

Imports what every family of ops does (see `forgenb.ops`); roots and squares are `forgenb.ops.pointwise`.
"""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError
from ..kernel import map_kernel
from ..kernel.elementary import log as log_of
from ..kernel.elementary import pow as pow_of
from ..kernel.primitives import select
from ..tape import record
from ..tensor import Tensor
from .apply import as_tensor, pair, run_map
from .arithmetic import add, mul, scale, sub
from .pointwise import as_float, as_floats, log, sqrt, square
from .reduction import sum_to
from .settings import number
from .table import PAIRS, SHAPES, binary, op


@map_kernel("x y -> out")
def pow_kernel(x, y):
    """A power."""
    return pow_of(x, y)


@map_kernel("x -> out; exponent")
def pow_number_kernel(x, exponent):
    """A power with one exponent for all."""
    return pow_of(x, exponent)


@map_kernel("x y -> out")
def pow_whole_kernel(x, y):
    """Power of integers by repeated squaring; `y` is not negative."""
    out = 1
    while y > 0:
        if y % 2 == 1:
            out = out * x
        x = x * x
        y = y // 2
    return out


@map_kernel("x y dout -> dx")
def pow_grad_kernel(x, y, dout):
    """The slope for the base."""
    return select(y == 0.0, 0.0, dout * y * pow_of(x, y - 1.0))


@map_kernel("x dout -> dx; exponent")
def pow_number_grad_kernel(x, dout, exponent):
    """The slope for the base, with one exponent for all."""
    return select(exponent == 0.0, 0.0, dout * exponent * pow_of(x, exponent - 1.0))


@map_kernel("x y dout -> dy")
def pow_grad_exponent_kernel(x, y, dout):
    """The slope for the exponent."""
    return select((x == 0.0) & (y >= 0.0), 0.0, dout * pow_of(x, y) * log_of(x))


def _grad_samples(rng: np.random.Generator):
    for first, second in PAIRS:
        dout = rng.uniform(-2, 2, np.broadcast_shapes(first, second))
        yield (rng.uniform(0.5, 2, first), rng.uniform(-2, 2, second), dout), {}
    yield (rng.uniform(0.5, 2, (2, 4)), rng.uniform(-2, 2, 4), rng.uniform(-2, 2, (2, 1))), {}


def _mixed(x: Tensor, y: Tensor, dout: Tensor) -> Tensor:
    r"""The mixed derivative :math:`x^{y-1} (1 + y \log x)\,dout` that both gradients share."""
    lower = sub(y, 1.0)
    return add(mul(y, pow_grad_exponent(x, lower, dout)), mul(pow_(x, lower), dout))


@op(_grad_samples, lambda x, y, dout: dout * y * x ** (y - 1), (0, 1, 2), dtypes="float")
def pow_grad(x, y, dout) -> Tensor:
    r"""Gradient of `pow` for the base, :math:`dx = y\,x^{y-1}\,dout`, not summed to the shape of `x`.

    Backward, with the cotangent :math:`g`: :math:`y (y-1) x^{y-2}\,dout\,g` for `x`,
    :math:`x^{y-1} (1 + y \log x)\,dout\,g` for `y`, :math:`y\,x^{y-1} g` for `dout`. Saves all operands.
    """
    x, y, dout = as_floats(x, y, dout)

    def backward(g):
        both = mul(g, dout)
        dx = sum_to(mul(y, pow_grad(x, y - 1.0, both)), x.shape)
        return dx, sum_to(_mixed(x, y, both), y.shape), sum_to(pow_grad(x, y, g), dout.shape)

    return record(run_map(pow_grad_kernel, (x, y, dout)), (x, y, dout), backward)


@op(_grad_samples, lambda x, y, dout: dout * x**y * np.log(x), (0, 1, 2), dtypes="float")
def pow_grad_exponent(x, y, dout) -> Tensor:
    r"""Gradient of `pow` for the exponent, :math:`dy = x^y \log(x)\,dout`, not summed to the shape of `y`.

    Backward, with the cotangent :math:`g`: :math:`x^{y-1} (1 + y \log x)\,dout\,g` for `x`,
    :math:`x^y \log^2(x)\,dout\,g` for `y`, :math:`x^y \log(x)\,g` for `dout`. Saves all operands.
    """
    x, y, dout = as_floats(x, y, dout)

    def backward(g):
        both = mul(g, dout)
        dy = sum_to(mul(pow_grad_exponent(x, y, both), log(x)), y.shape)
        return sum_to(_mixed(x, y, both), x.shape), dy, sum_to(pow_grad_exponent(x, y, g), dout.shape)

    return record(run_map(pow_grad_exponent_kernel, (x, y, dout)), (x, y, dout), backward)


def _number_grad_samples(rng: np.random.Generator):
    for shape, exponent in zip(SHAPES, (3.0, -1.5, 0.5, 2.5, 0.0, -2.0), strict=True):
        yield (rng.uniform(0.5, 2, shape), rng.uniform(-2, 2, shape)), {"exponent": exponent}


def _number_grad_reference(x, dout, exponent):
    return dout * exponent * x ** (exponent - 1) if exponent else np.zeros_like(x)


@op(_number_grad_samples, _number_grad_reference, (0, 1), dtypes="float")
def pow_number_grad(x, dout, exponent: float) -> Tensor:
    r"""Gradient of `pow` with a number :math:`n` as exponent, :math:`dx = n\,x^{n-1}\,dout`.

    Backward, with the cotangent :math:`g`: :math:`n (n-1) x^{n-2}\,dout\,g` for `x`, :math:`n\,x^{n-1} g` for
    `dout`. Saves both operands.
    """
    x, dout = as_floats(x, dout)
    n = number("pow_number_grad", "exponent", exponent)

    def backward(g):
        steeper = n - 1.0 if n else 0.0
        return scale(pow_number_grad(x, mul(g, dout), steeper), n), pow_number_grad(x, g, n)

    return record(run_map(pow_number_grad_kernel, (x, dout), (n,)), (x, dout), backward)


def _pow_samples(rng: np.random.Generator):
    yield from binary(0.5, 2, -2, 2)(rng)
    for exponent in (0, 1, 2, 3, -1, 0.5, 2.5):
        yield (rng.uniform(0.5, 2, (3, 5)),), {"y": exponent}
    yield (rng.uniform(-2, -0.5, 7),), {"y": 3}


@op(_pow_samples, lambda x, y: np.power(x, y), (0, 1), name="pow", dtypes="numbers")
def pow_(x, y) -> Tensor:
    r"""Power with broadcasting, :math:`out = x^y`. The exponents 2 and 0.5 are done by `square` and `sqrt`.

    Integers stay integers where both operands are, else the result is a float.

    Backward: :math:`dx = y\,x^{y-1}\,dout`, :math:`dy = x^y \log(x)\,dout`, each summed to its operand's
    shape; the module says what holds at 0 and below. Saves both operands.

    Raises
    ------
    ArgumentError
        If both operands are integers and an exponent is negative.
    ShapeError
        If the shapes do not broadcast.
    """
    if type(y) in (float, int, bool):
        x = as_tensor(x)
        if x.dtype.kind == "f" or type(y) is float:
            return _pow_number(as_float(x), number("pow", "y", y))
    exponent = y if isinstance(y, int) else None
    x, y = pair(x, y)
    if x.dtype.kind != "f" and y.dtype.kind != "f":
        return _pow_whole(x, y, exponent)
    x, y = as_floats(x, y)

    def backward(dout):
        dx = sum_to(pow_grad(x, y, dout), x.shape) if x.requires_grad else None
        dy = sum_to(pow_grad_exponent(x, y, dout), y.shape) if y.requires_grad else None
        return dx, dy

    return record(run_map(pow_kernel, (x, y)), (x, y), backward)


def _pow_number(x: Tensor, exponent: float) -> Tensor:
    if exponent == 2.0:
        return square(x)
    if exponent == 0.5:
        return sqrt(x)

    def backward(dout):
        return (pow_number_grad(x, dout, exponent),)

    return record(run_map(pow_number_kernel, (x,), (exponent,)), (x,), backward)


def _pow_whole(x: Tensor, y: Tensor, exponent: int | None) -> Tensor:
    """The power of integers; an `exponent` that `y` is made of need not be read back."""
    if exponent is None and y.size:
        exponent = int(y.numpy().min())
    if exponent is not None and exponent < 0:
        raise ArgumentError(
            f"pow got integers of dtype {x.dtype.name} with a negative exponent, whose result is no integer: "
            "convert the base with astype('float32')"
        )
    return run_map(pow_whole_kernel, (x, y))
