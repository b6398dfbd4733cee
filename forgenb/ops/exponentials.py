"""Relatives of exp and log, element by element: expm1, log1p, log2, sinh, cosh.

As in `forgenb.ops.pointwise`, integers and bools are computed in float32, NaN stays NaN, and outside a domain the
result is that of IEEE 754.

Imports what every family of ops does (see `forgenb.ops`); the logistic function and tanh are activations.
"""

from __future__ import annotations

import numpy as np

from ..kernel import map_kernel
from ..kernel.elementary import cosh as cosh_of
from ..kernel.elementary import expm1 as expm1_of
from ..kernel.elementary import log1p as log1p_of
from ..kernel.elementary import log2 as log2_of
from ..kernel.elementary import sinh as sinh_of
from ..tape import record
from ..tensor import Tensor
from .apply import run_map
from .arithmetic import add, div, mul, scale
from .pointwise import as_float
from .table import op, unary


@map_kernel("x -> out")
def expm1_kernel(x):
    """The exponential less 1."""
    return expm1_of(x)


@op(unary(-3, 3), np.expm1, dtypes="float")
def expm1(x) -> Tensor:
    r"""Exponential less one, :math:`out = e^x - 1`, accurate near 0.

    Backward: :math:`dx = (out + 1)\,dout`. Saves its output.
    """
    x = as_float(x)

    def backward(dout, out):
        return (mul(dout, add(out, 1.0)),)

    return record(run_map(expm1_kernel, (x,)), (x,), backward, save_output=True)


@map_kernel("x -> out")
def log1p_kernel(x):
    """The natural logarithm of 1 + x."""
    return log1p_of(x)


@op(unary(-0.8, 4), np.log1p, dtypes="float")
def log1p(x) -> Tensor:
    r"""Logarithm of one more, :math:`out = \log(1 + x)`, accurate near 0; -infinity at -1, NaN below.

    Backward: :math:`dx = dout / (1 + x)`. Saves `x`.
    """
    x = as_float(x)

    def backward(dout):
        return (div(dout, add(x, 1.0)),)

    return record(run_map(log1p_kernel, (x,)), (x,), backward)


@map_kernel("x -> out")
def log2_kernel(x):
    """The logarithm to base 2."""
    return log2_of(x)


@op(unary(0.2, 4), np.log2, dtypes="float")
def log2(x) -> Tensor:
    r"""Logarithm to base 2, :math:`out = \log_2 x`, exact for powers of 2; -infinity at 0, NaN below.

    Backward: :math:`dx = dout / (x \log 2)`. Saves `x`.
    """
    x = as_float(x)

    def backward(dout):
        return (scale(div(dout, x), float(1 / np.log(2))),)

    return record(run_map(log2_kernel, (x,)), (x,), backward)


@map_kernel("x -> out")
def sinh_kernel(x):
    """The hyperbolic sine."""
    return sinh_of(x)


@op(unary(-3, 3), np.sinh, dtypes="float")
def sinh(x) -> Tensor:
    r"""Hyperbolic sine, :math:`out = (e^x - e^{-x}) / 2`, accurate near 0.

    Backward: :math:`dx = \cosh(x)\,dout`. Saves `x`.
    """
    x = as_float(x)

    def backward(dout):
        return (mul(dout, cosh(x)),)

    return record(run_map(sinh_kernel, (x,)), (x,), backward)


@map_kernel("x -> out")
def cosh_kernel(x):
    """The hyperbolic cosine."""
    return cosh_of(x)


@op(unary(-3, 3), np.cosh, dtypes="float")
def cosh(x) -> Tensor:
    r"""Hyperbolic cosine, :math:`out = (e^x + e^{-x}) / 2`.

    Backward: :math:`dx = \sinh(x)\,dout`. Saves `x`.
    """
    x = as_float(x)

    def backward(dout):
        return (mul(dout, sinh(x)),)

    return record(run_map(cosh_kernel, (x,)), (x,), backward)
