"""Running sums: cumsum.

An axis is cut into the fixed blocks of `forgenb.ops.reduction`. Their sums are added up first, in the same way, and
tell each block what comes before it. So blocks run at once, bits do not depend on threads, and rounding grows with
the size of a block rather than with that of the axis.

Imports what every family of ops does (see `forgenb.ops`).
"""

from __future__ import annotations

import numpy as np

from ..dtypes import INT64
from ..errors import ArgumentError
from ..kernel import row_kernel
from ..kernel.primitives import lanes, put
from ..tape import record
from ..tensor import Tensor, empty
from .apply import as_tensor, copied, row_major, run_rows
from .indexing import flip
from .movement import narrowed, reshape
from .reduction import BLOCK, ROWS, as_middle, block_sums, normalized_axes
from .table import op


@row_kernel("parts | x[outer,n,inner] before[parts,inner] -> out[outer,n,inner]; blocks:int block:int")
def cumsum_kernel(row, x, before, out, blocks, block):
    """Running sums of each column in one block of rows, on top of the sums ``before`` up to the last block."""
    group = row // blocks
    start = (row - group * blocks) * block
    for j in lanes(x.shape[2]):
        if start == 0:
            put(out, (group, start, j), x[group, start, j])
        else:
            put(out, (group, start, j), before[row - 1, j] + x[group, start, j])
    for i in range(start + 1, min(start + block, x.shape[1])):
        for j in lanes(x.shape[2]):
            put(out, (group, i, j), out[group, i - 1, j] + x[group, i, j])


def _running(x: Tensor, outer: int, n: int, inner: int) -> Tensor:
    """Running sums of contiguous ``x[outer, n, inner]`` over n (off the tape)."""
    block = BLOCK if inner == 1 else ROWS
    blocks = -(-n // block)
    parts = outer * blocks
    if blocks == 1:
        before = empty((parts, inner), x.dtype, x.backend)
    else:
        sums = block_sums(x, outer, n, inner, block)
        before = row_major(_running(row_major(sums, (outer, blocks, inner)), outer, blocks, inner), (parts, inner))
    out = empty((outer, n, inner), x.dtype, x.backend)
    run_rows(cumsum_kernel, (parts, outer, n, inner), (x, before, out), (blocks, block), work=min(n, block) * inner)
    return out


def _samples(rng: np.random.Generator):
    for shape in ((), (1,), (7,), (3, 5), (0,)):
        yield (rng.uniform(-2, 2, shape),), {}
    for axis in (0, 1, -1):
        yield (rng.uniform(-2, 2, (3, 4, 5)),), {"axis": axis}
    yield (rng.uniform(-2, 2, 1030),), {}
    yield (rng.uniform(-2, 2, (130, 2)),), {"axis": 0}
    yield (rng.uniform(-2, 2, (2, 0)),), {"axis": 1}
    yield (rng.integers(-9, 9, (3, 4)),), {"axis": 1}


@op(_samples, np.cumsum)
def cumsum(x, axis: int | None = None) -> Tensor:
    r"""Running sum along an axis, :math:`out_i = \sum_{j \le i} x_j`; without an axis of all elements in order.

    Integers and bools add up to int64.

    Backward: the running sum of `dout` from the end, :math:`dx_i = \sum_{j \ge i} dout_j`. Saves nothing.

    Raises
    ------
    ArgumentError
        If `axis` is not one axis.
    ShapeError
        If the axis does not exist.
    """
    x = as_tensor(x)
    if axis is None:
        return cumsum(reshape(x, (x.size,)), 0)
    if not isinstance(axis, int):
        raise ArgumentError(f"cumsum got axis={axis!r}: it runs along one axis, or with None through all elements")
    x = x if x.dtype.kind == "f" else copied(x, INT64)
    (along,) = normalized_axes("cumsum", x.ndim, axis)

    def backward(dout):
        return (flip(cumsum(flip(dout, along), along), along),)

    out = _running(*as_middle(x, (along,))) if x.size else empty(x.shape, x.dtype, x.backend)
    return record(narrowed(row_major(out, x.shape), x.dtype), (x,), backward)
