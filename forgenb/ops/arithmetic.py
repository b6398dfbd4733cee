"""Arithmetic with NumPy broadcasting: add, sub, mul, div, neg, pow, scale.

Each op is told whole: kernel, op with its closure, table row. A gradient is summed back over the axes
that its operand was broadcast along (`sum_to`).

Imports what every family of ops does (see `forgenb.ops`); nothing here looks at elements on the host.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import float_dtype
from ..kernel import map_kernel
from ..tape import record
from ..tensor import Tensor
from .apply import as_tensor, copied, pair, run_map
from .reduction import sum_to
from .settings import number
from .table import binary, op, unary


@map_kernel("x y -> out")
def add_kernel(x, y):
    """The sum."""
    return x + y


@op(binary(-2, 2), np.add, (0, 1))
def add(x, y) -> Tensor:
    r"""Sum with broadcasting, :math:`out = x + y`.

    Backward: :math:`dx = dout`, :math:`dy = dout`, each summed to its operand's shape. Saves nothing.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.
    """
    x, y = pair(x, y)
    x_shape, y_shape = x.shape, y.shape

    def backward(dout):
        return sum_to(dout, x_shape), sum_to(dout, y_shape)

    return record(run_map(add_kernel, (x, y)), (x, y), backward)


@map_kernel("x y -> out")
def sub_kernel(x, y):
    """The difference."""
    return x - y


@op(binary(-2, 2), np.subtract, (0, 1))
def sub(x, y) -> Tensor:
    r"""Difference with broadcasting, :math:`out = x - y`.

    Backward: :math:`dx = dout`, :math:`dy = -dout`. Saves nothing.
    """
    x, y = pair(x, y)
    x_shape, y_shape, y_wanted = x.shape, y.shape, y.requires_grad

    def backward(dout):
        return sum_to(dout, x_shape), neg(sum_to(dout, y_shape)) if y_wanted else None

    return record(run_map(sub_kernel, (x, y)), (x, y), backward)


@map_kernel("x y -> out")
def mul_kernel(x, y):
    """The product."""
    return x * y


@op(binary(-2, 2), np.multiply, (0, 1))
def mul(x, y) -> Tensor:
    r"""Product with broadcasting, :math:`out = x y`.

    Backward: :math:`dx = y\,dout`, :math:`dy = x\,dout`. Saves both operands.
    """
    x, y = pair(x, y)

    def backward(dout):
        dx = sum_to(dout * y, x.shape) if x.requires_grad else None
        dy = sum_to(dout * x, y.shape) if y.requires_grad else None
        return dx, dy

    return record(run_map(mul_kernel, (x, y)), (x, y), backward)


@map_kernel("x y -> out")
def div_kernel(x, y):
    """The quotient."""
    return x / y


@op(binary(-2, 2, 0.5, 2), np.true_divide, (0, 1), dtypes="float")
def div(x, y) -> Tensor:
    r"""Quotient with broadcasting, :math:`out = x / y`; integers divide to float32.

    Backward: :math:`dx = dout / y`, :math:`dy = -dout\,x / y^2`. Saves both operands.
    """
    x, y = pair(x, y)

    def backward(dout):
        part = dout / y
        dx = sum_to(part, x.shape) if x.requires_grad else None
        dy = sum_to(neg(part * (x / y)), y.shape) if y.requires_grad else None
        return dx, dy

    if x.dtype.kind == "f" or y.dtype.kind == "f":
        return record(run_map(div_kernel, (x, y)), (x, y), backward)
    return run_map(div_kernel, (x, y), dtype=float_dtype(x.dtype))


@map_kernel("x -> out")
def neg_kernel(x):
    """The negative."""
    return -x


@op(unary(-2, 2), np.negative)
def neg(x) -> Tensor:
    r"""Negation, :math:`out = -x`. Backward: :math:`dx = -dout`. Saves nothing."""
    x = as_tensor(x)

    def backward(dout):
        return (neg(dout),)

    return record(run_map(neg_kernel, (x,)), (x,), backward)


@map_kernel("x -> out; alpha")
def scale_kernel(x, alpha):
    """The product with one number for all."""
    return x * alpha


@op(unary(-2, 2), lambda x, alpha=0.5: x * alpha, dtypes="float")
def scale(x, alpha: float = 0.5) -> Tensor:
    r"""Product with a host number, :math:`out = \alpha x`; integers give float32.

    Backward: :math:`dx = \alpha\,dout`. Saves nothing.
    """
    x = as_tensor(x)
    x = x if x.dtype.kind == "f" else copied(x, float_dtype(x.dtype))

    if type(alpha) is not float:
        alpha = number("scale", "alpha", alpha)

    def backward(dout):
        return (scale(dout, alpha),)

    return record(run_map(scale_kernel, (x,), (alpha,)), (x,), backward)
