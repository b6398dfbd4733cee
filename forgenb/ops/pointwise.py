"""Functions of one operand, element by element: exp, log, sqrt, rsqrt, square, abs.

Integers and bools are computed in float32, except by `square` and `abs`, which keep their dtype. NaN stays
NaN. Outside a domain the result is that of IEEE 754 (``log(-1)`` is NaN, ``log(0)`` is -infinity), silently.

Imports what every family of ops does (see `forgenb.ops`); what has two operands belongs elsewhere.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import float_dtype, result_dtype
from ..kernel import map_kernel
from ..kernel.elementary import exp as exp_of
from ..kernel.elementary import log as log_of
from ..kernel.primitives import absolute, select
from ..kernel.primitives import sqrt as sqrt_of
from ..tape import record
from ..tensor import Tensor
from .apply import as_tensor, copied, run_map, together
from .arithmetic import div, mul
from .table import SHAPES, op, unary


def as_float(x) -> Tensor:
    """`x` as a tensor of a float dtype: integers and bools become float32."""
    if not isinstance(x, Tensor):
        x = as_tensor(x)
    return x if x.layout.dtype.kind == "f" else copied(x, float_dtype(x.dtype))


def as_floats(*values) -> tuple[Tensor, ...]:
    """Each as a float tensor, on one backend: integers and bools become what all of them give together."""
    for value in values:
        if type(value) is not Tensor or value.layout.dtype.kind != "f":
            break
    else:
        return values
    tensors = together(*values)
    common = float_dtype(result_dtype(*(t.dtype for t in tensors)))
    return tuple(t if t.dtype.kind == "f" else copied(t, common) for t in tensors)


def with_cotangent(low: float, high: float, apart: tuple[float, ...] = ()):
    """Samples for a gradient kernel of one operand: the operand, and a cotangent of its shape."""

    def samples(rng: np.random.Generator):
        for (x,), _ in unary(low, high, SHAPES, apart)(rng):
            yield (x, rng.uniform(-2, 2, x.shape)), {}

    return samples


@map_kernel("x -> out")
def exp_kernel(x):
    """The exponential."""
    return exp_of(x)


@op(unary(-3, 3), np.exp, dtypes="float")
def exp(x) -> Tensor:
    r"""Exponential, :math:`out = e^x`.

    Backward: :math:`dx = out\,dout`. Saves its output.
    """
    x = as_float(x)

    def backward(dout, out):
        return (mul(dout, out),)

    return record(run_map(exp_kernel, (x,)), (x,), backward, save_output=True)


@map_kernel("x -> out")
def log_kernel(x):
    """The natural logarithm."""
    return log_of(x)


@op(unary(0.2, 4), np.log, dtypes="float")
def log(x) -> Tensor:
    r"""Natural logarithm, :math:`out = \log x`; -infinity at 0, NaN below.

    Backward: :math:`dx = dout / x`. Saves `x`.
    """
    x = as_float(x)

    def backward(dout):
        return (div(dout, x),)

    return record(run_map(log_kernel, (x,)), (x,), backward)


@map_kernel("x -> out")
def sqrt_kernel(x):
    """The square root."""
    return sqrt_of(x)


@map_kernel("out dout -> dx")
def sqrt_grad_kernel(out, dout):
    """Half of `dout`, by the output."""
    return 0.5 * dout / out


@op(with_cotangent(0.2, 2), lambda out, dout: dout / (2 * out), (0, 1), dtypes="float")
def sqrt_grad(out, dout) -> Tensor:
    r"""Gradient of `sqrt` from its output, :math:`dx = dout / (2\,out)`.

    Backward, with the cotangent :math:`g`: :math:`-g\,dx / out` for `out`, :math:`g / (2\,out)` for `dout`.
    Saves both operands.
    """
    out, dout = as_floats(out, dout)

    def backward(g):
        part = sqrt_grad(out, g)
        return -(part * dout / out), part

    return record(run_map(sqrt_grad_kernel, (out, dout)), (out, dout), backward)


@op(unary(0.2, 4), np.sqrt, dtypes="float")
def sqrt(x) -> Tensor:
    r"""Square root, :math:`out = \sqrt x`; NaN below 0.

    Backward: :math:`dx = dout / (2\,out)`, infinite at 0. Saves its output.
    """
    x = as_float(x)

    def backward(dout, out):
        return (sqrt_grad(out, dout),)

    return record(run_map(sqrt_kernel, (x,)), (x,), backward, save_output=True)


@map_kernel("x -> out")
def rsqrt_kernel(x):
    """One over the square root."""
    return 1.0 / sqrt_of(x)


@map_kernel("out dout -> dx")
def rsqrt_grad_kernel(out, dout):
    """Minus half of `dout`, times the cube of the output."""
    return -0.5 * dout * out * out * out


@op(with_cotangent(0.5, 2), lambda out, dout: -0.5 * dout * out**3, (0, 1), dtypes="float")
def rsqrt_grad(out, dout) -> Tensor:
    r"""Gradient of `rsqrt` from its output, :math:`dx = -\tfrac12 out^3\,dout`.

    Backward, with the cotangent :math:`g`: :math:`-\tfrac32 out^2\,dout\,g` for `out`,
    ``rsqrt_grad(out, g)`` for `dout`. Saves both operands.
    """
    out, dout = as_floats(out, dout)

    def backward(g):
        return out * out * dout * g * -1.5, rsqrt_grad(out, g)

    return record(run_map(rsqrt_grad_kernel, (out, dout)), (out, dout), backward)


@op(unary(0.2, 4), lambda x: 1 / np.sqrt(x), dtypes="float")
def rsqrt(x) -> Tensor:
    r"""One over the square root, :math:`out = 1 / \sqrt x`; infinity at 0, NaN below.

    Backward: :math:`dx = -\tfrac12 out^3\,dout`. Saves its output.
    """
    x = as_float(x)

    def backward(dout, out):
        return (rsqrt_grad(out, dout),)

    return record(run_map(rsqrt_kernel, (x,)), (x,), backward, save_output=True)


@map_kernel("x -> out")
def square_kernel(x):
    """The product with itself."""
    return x * x


@map_kernel("x dout -> dx")
def square_grad_kernel(x, dout):
    """Twice `x`, times `dout`."""
    return (x + x) * dout


@op(with_cotangent(-2, 2), lambda x, dout: 2 * x * dout, (0, 1), dtypes="float")
def square_grad(x, dout) -> Tensor:
    r"""Gradient of `square`, :math:`dx = 2 x\,dout`.

    Backward, with the cotangent :math:`g`: :math:`2\,dout\,g` for `x`, :math:`2 x\,g` for `dout`. Saves both.
    """
    x, dout = as_floats(x, dout)

    def backward(g):
        return square_grad(dout, g), square_grad(x, g)

    return record(run_map(square_grad_kernel, (x, dout)), (x, dout), backward)


@op(unary(-2, 2), np.square)
def square(x) -> Tensor:
    r"""Product with itself, :math:`out = x^2`, in the dtype of `x`.

    Backward: :math:`dx = 2 x\,dout`, so 0 at 0. Saves `x`.
    """
    x = as_tensor(x)

    def backward(dout):
        return (square_grad(x, dout),)

    return record(run_map(square_kernel, (x,)), (x,), backward)


@map_kernel("x -> out")
def abs_kernel(x):
    """A float without its sign."""
    return absolute(x)


@map_kernel("x -> out")
def abs_whole_kernel(x):
    """An integer without its sign."""
    return select(x < -x, -x, x)


@map_kernel("x dout -> dx")
def abs_grad_kernel(x, dout):
    """The sign of `x`, times `dout`."""
    return select(x > 0.0, dout, select(x < 0.0, -dout, x))


@op(with_cotangent(-2, 2, apart=(0.0,)), lambda x, dout: np.sign(x) * dout, (1,), dtypes="float")
def abs_grad(x, dout) -> Tensor:
    r"""Gradient of `abs`, :math:`dx = \operatorname{sign}(x)\,dout`, with sign 0 at 0.

    Backward, with the cotangent :math:`g`: :math:`\operatorname{sign}(x)\,g` for `dout`. Saves `x`.
    """
    x, dout = as_floats(x, dout)

    def backward(g):
        return None, abs_grad(x, g)

    return record(run_map(abs_grad_kernel, (x, dout)), (x, dout), backward)


@op(unary(-2, 2, apart=(0.0,)), np.abs, name="abs")
def abs_(x) -> Tensor:
    r"""Size without sign, :math:`out = |x|`, in the dtype of `x`.

    Backward: :math:`dx = \operatorname{sign}(x)\,dout`; at the kink 0 the gradient is 0. Saves `x`.
    """
    x = as_tensor(x)

    def backward(dout):
        return (abs_grad(x, dout),)

    return record(run_map(abs_kernel if x.dtype.kind == "f" else abs_whole_kernel, (x,)), (x,), backward)
