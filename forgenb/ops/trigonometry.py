"""Trigonometric functions of angles in radians: sin, cos, tan, arctan.

Angles of any finite size are reduced exactly. That takes longer than the function itself, so a kernel looks at a block
of angles first and does it only where one of them is beyond 2**20. Both ways give the same bits below.

Imports what every family of ops does (see `forgenb.ops`); hyperbolic functions are `forgenb.ops.exponentials`.
"""

from __future__ import annotations

import numpy as np

from ..kernel import Kernel, map_kernel, row_kernel
from ..kernel.elementary import arctan as arctan_of
from ..kernel.elementary import cos as cos_of
from ..kernel.elementary import near_cos, near_sin, near_tan
from ..kernel.elementary import sin as sin_of
from ..kernel.elementary import tan as tan_of
from ..kernel.primitives import absolute, lane_max, lanes, maximum, put, real
from ..tape import record
from ..tensor import Tensor, empty
from .apply import narrowed, row_major, run_map, run_rows, widened
from .arithmetic import add, div, mul, neg
from .pointwise import as_float, square
from .table import op, unary

BLOCK = 256


def farthest(x, start, stop):
    """The largest size among ``x[start:stop]``, or NaN, the same for every lane."""
    m = real(0)
    for j in lanes(stop - start):
        m = maximum(m, absolute(x[start + j]))
    return lane_max(m)


@row_kernel("parts | x[n] -> out[n]; block:int")
def sin_kernel(row, x, out, block):
    """Sines of one block of angles."""
    start, stop = row * block, min(row * block + block, x.shape[0])
    if farthest(x, start, stop) <= 1048576.0:
        for j in lanes(stop - start):
            put(out, start + j, near_sin(x[start + j]))
    else:
        for j in lanes(stop - start):
            put(out, start + j, sin_of(x[start + j]))


@row_kernel("parts | x[n] -> out[n]; block:int")
def cos_kernel(row, x, out, block):
    """Cosines of one block of angles."""
    start, stop = row * block, min(row * block + block, x.shape[0])
    if farthest(x, start, stop) <= 1048576.0:
        for j in lanes(stop - start):
            put(out, start + j, near_cos(x[start + j]))
    else:
        for j in lanes(stop - start):
            put(out, start + j, cos_of(x[start + j]))


@row_kernel("parts | x[n] -> out[n]; block:int")
def tan_kernel(row, x, out, block):
    """Tangents of one block of angles."""
    start, stop = row * block, min(row * block + block, x.shape[0])
    if farthest(x, start, stop) <= 1048576.0:
        for j in lanes(stop - start):
            put(out, start + j, near_tan(x[start + j]))
    else:
        for j in lanes(stop - start):
            put(out, start + j, tan_of(x[start + j]))


def _of_angles(kernel: Kernel, x: Tensor) -> Tensor:
    """Launch one of the kernels above on blocks of `x` (off the tape)."""
    source = widened(x.detach())
    out = empty(x.shape, source.dtype, x.backend)
    n = x.size
    if n:
        operands = row_major(source, (n,)), row_major(out, (n,))
        run_rows(kernel, (-(-n // BLOCK), n), operands, (BLOCK,), work=BLOCK)
    return narrowed(out, x.dtype)


def _angles(low: float, high: float):
    def samples(rng: np.random.Generator):
        yield from unary(low, high)(rng)
        yield from unary(low, high, ((1100,),))(rng)

    return samples


@op(_angles(-4, 4), np.sin, dtypes="float")
def sin(x) -> Tensor:
    r"""Sine, :math:`out = \sin x`; NaN of infinity.

    Backward: :math:`dx = \cos(x)\,dout`. Saves `x`.
    """
    x = as_float(x)

    def backward(dout):
        return (mul(dout, cos(x)),)

    return record(_of_angles(sin_kernel, x), (x,), backward)


@op(_angles(-4, 4), np.cos, dtypes="float")
def cos(x) -> Tensor:
    r"""Cosine, :math:`out = \cos x`; NaN of infinity.

    Backward: :math:`dx = -\sin(x)\,dout`. Saves `x`.
    """
    x = as_float(x)

    def backward(dout):
        return (neg(mul(dout, sin(x))),)

    return record(_of_angles(cos_kernel, x), (x,), backward)


@op(_angles(-1.2, 1.2), np.tan, dtypes="float")
def tan(x) -> Tensor:
    r"""Tangent, :math:`out = \sin x / \cos x`; NaN of infinity.

    Backward: :math:`dx = (1 + out^2)\,dout`. Saves its output.
    """
    x = as_float(x)

    def backward(dout, out):
        return (mul(dout, add(square(out), 1.0)),)

    return record(_of_angles(tan_kernel, x), (x,), backward, save_output=True)


@map_kernel("x -> out")
def arctan_kernel(x):
    """The arctangent."""
    return arctan_of(x)


@op(unary(-4, 4), np.arctan, dtypes="float")
def arctan(x) -> Tensor:
    r"""Angle between :math:`-\pi/2` and :math:`\pi/2` with the tangent `x`, :math:`out = \arctan x`.

    Backward: :math:`dx = dout / (1 + x^2)`. Saves `x`.
    """
    x = as_float(x)

    def backward(dout):
        return (div(dout, add(square(x), 1.0)),)

    return record(run_map(arctan_kernel, (x,)), (x,), backward)
