"""Sum of squares of a whole tensor, in fixed blocks: the norm of a gradient is its root.

Imports what every family of ops does (see `forgenb.ops`); the norm of many tensors is
`forgenb.optim.clip_grad_norm`.
"""

from __future__ import annotations

import numpy as np

from ..kernel import row_kernel
from ..kernel.primitives import accumulate, lane_sum, lanes, put, real
from ..tape import record
from ..tensor import Tensor, empty
from .apply import as_tensor, narrowed, row_major, run_rows, widened
from .plans import floats_only
from .reduction import BLOCK, sum_middle
from .table import op, unary


@row_kernel("parts | x[n/block] -> out[parts]; block:int")
def sum_squares_kernel(row, x, out, block):
    """Sum of squares of one block."""
    piece = x[row * block : min(row * block + block, x.shape[0])]
    s = real(0)
    for j in lanes(piece.shape[0]):
        s = accumulate(s, piece[j] * piece[j])
    put(out, row, lane_sum(s))


def blocks_of(x: Tensor) -> int:
    """How many blocks `square_sums` makes of `x`."""
    return max(1, -(-x.size // BLOCK))


def square_sums(x: Tensor, out: Tensor) -> None:
    """Sums of squares of the blocks of contiguous `x`, one into each element of `out` (off the tape)."""
    flat = row_major(x, (x.size,))
    run_rows(sum_squares_kernel, (out.size, x.size), (flat, out), (BLOCK,), work=BLOCK)


@op(unary(-2, 2), lambda x: np.sum(np.square(x)), dtypes="floats")
def sumsq(x) -> Tensor:
    r"""Sum of squares of all elements, :math:`out = \sum x^2`, without dimensions.

    Backward: :math:`dx = 2 x\,dout`. Saves x.

    Raises
    ------
    DTypeError
        If x is not a float.
    """
    x = as_tensor(x)
    floats_only("sumsq", x)
    source = widened(x.detach())
    parts = empty((blocks_of(x),), source.dtype, x.backend)
    square_sums(source, parts)
    out = row_major(sum_middle(parts, 1, parts.size, 1), ())

    def backward(dout):
        return (x * dout * 2.0,)

    return record(narrowed(out, x.dtype), (x,), backward)
