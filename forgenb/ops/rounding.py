"""Steps, element by element: sign and floor. Constant between their steps, so that their gradients are 0 everywhere.

The dtype is that of the operand, and NaN stays NaN.

Imports what every family of ops does (see `forgenb.ops`).
"""

from __future__ import annotations

import numpy as np

from ..kernel import map_kernel
from ..kernel.primitives import floor as floor_of
from ..kernel.primitives import select
from ..tape import record
from ..tensor import Tensor
from .apply import as_tensor, copied, run_map
from .movement import zeros
from .table import op, unary


@map_kernel("x -> out")
def sign_kernel(x):
    """1, 0 or -1; NaN for NaN."""
    return select(x > 0.0, 1.0, select(x < 0.0, -1.0, select(x == 0.0, 0.0, x)))


@map_kernel("x -> out")
def sign_whole_kernel(x):
    """1, 0 or -1."""
    return select(x > 0, 1, select(x < 0, -1, 0))


@op(unary(-2, 2, apart=(0.0,)), np.sign)
def sign(x) -> Tensor:
    r"""1 where :math:`x > 0`, -1 where :math:`x < 0`, 0 at 0, in the dtype of `x`.

    Backward: :math:`dx = 0`, also at 0. Saves nothing.
    """
    x = as_tensor(x)
    shape, dtype, backend = x.shape, x.dtype, x.backend

    def backward(dout):
        return (zeros(shape, dtype, backend),)

    return record(run_map(sign_kernel if dtype.kind == "f" else sign_whole_kernel, (x,)), (x,), backward)


@map_kernel("x -> out")
def floor_kernel(x):
    """The largest whole number that is not above x."""
    return floor_of(x)


@op(unary(-3, 3, apart=(-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)), np.floor)
def floor(x) -> Tensor:
    r"""Largest whole number that is not above `x`, :math:`out = \lfloor x \rfloor`, in the dtype of `x`.

    Backward: :math:`dx = 0`, also at whole numbers. Saves nothing.
    """
    x = as_tensor(x)
    shape, dtype, backend = x.shape, x.dtype, x.backend

    def backward(dout):
        return (zeros(shape, dtype, backend),)

    return record(run_map(floor_kernel, (x,)), (x,), backward) if dtype.kind == "f" else copied(x)
