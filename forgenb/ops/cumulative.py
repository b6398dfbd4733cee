"""Running sums: cumsum.

Blocks of `ROWS` elements are summed each by itself; their last elements are summed in the same way, and tell each block
what comes before it. So blocks run at once, bits do not depend on threads, and rounding grows with the size of a block
rather than with that of the axis.

Imports what every family of ops does (see `forgenb.ops`).
"""

from __future__ import annotations

import numpy as np

from ..kernel import row_kernel
from ..kernel.primitives import lanes, put
from ..tape import record
from ..tensor import Tensor, empty
from .apply import copied, narrowed, row_major, run_rows
from .indexing import flip
from .movement import reshape
from .reduction import ROWS, as_middle, summable
from .settings import one_axis
from .table import op


@row_kernel("parts | x[rows,n] -> out[rows,n]; blocks:int block:int")
def cumsum_row_kernel(row, x, out, blocks, block):
    """Running sums of one block of one row. One lane does all of it."""
    line = row // blocks
    start = (row - line * blocks) * block
    for _ in lanes(1):
        s = x[line, start]
        put(out, (line, start), s)
        for i in range(start + 1, min(start + block, x.shape[1])):
            s = s + x[line, i]
            put(out, (line, i), s)


@row_kernel("parts | x[outer,n,inner] -> out[outer,n,inner]; blocks:int block:int")
def cumsum_column_kernel(row, x, out, blocks, block):
    """Running sums of each column in one block of rows."""
    group = row // blocks
    start = (row - group * blocks) * block
    for j in lanes(x.shape[2]):
        put(out, (group, start, j), x[group, start, j])
    for i in range(start + 1, min(start + block, x.shape[1])):
        for j in lanes(x.shape[2]):
            put(out, (group, i, j), out[group, i - 1, j] + x[group, i, j])


@row_kernel("parts | out[rows,n] before[rows,ends] -> out[rows,n]; block:int")
def cumsum_carry_row_kernel(row, out, before, block):
    """Add to one block of a row, not the first, the sum of all elements before it."""
    line = row // before.shape[1]
    end = row - line * before.shape[1]
    start = (end + 1) * block
    for i in lanes(min(block, out.shape[1] - start)):
        out[line, start + i] = before[line, end] + out[line, start + i]


@row_kernel("parts | out[outer,n,inner] before[outer,ends,inner] -> out[outer,n,inner]; block:int")
def cumsum_carry_column_kernel(row, out, before, block):
    """Add to one block of rows, not the first, the sums of all rows before it."""
    group = row // before.shape[1]
    end = row - group * before.shape[1]
    start = (end + 1) * block
    for i in range(start, min(start + block, out.shape[1])):
        for j in lanes(out.shape[2]):
            out[group, i, j] = before[group, end, j] + out[group, i, j]


def _running(x: Tensor, outer: int, n: int, inner: int) -> Tensor:
    """Running sums of contiguous ``x[outer, n, inner]`` over n (off the tape)."""
    blocks = -(-n // ROWS)
    ends, work = blocks - 1, min(n, ROWS) * inner
    sizes = (outer, n) if inner == 1 else (outer, n, inner)
    sum_up = cumsum_row_kernel if inner == 1 else cumsum_column_kernel
    carry = cumsum_carry_row_kernel if inner == 1 else cumsum_carry_column_kernel
    out = empty((outer, n, inner), x.dtype, x.backend)
    run_rows(sum_up, (outer * blocks, *sizes), (row_major(x, sizes), row_major(out, sizes)), (blocks, ROWS), work=work)
    if ends:
        sums = out.view((outer, ends, inner), (n * inner, ROWS * inner, 1), (ROWS - 1) * inner)
        before = _running(copied(sums), outer, ends, inner)
        operands = row_major(out, sizes), row_major(before, (outer, ends, *sizes[2:]))
        run_rows(carry, (outer * ends, *sizes, ends), operands, (ROWS,), work=work)
    return out


def _samples(rng: np.random.Generator):
    for shape in ((), (1,), (7,), (3, 5), (0,)):
        yield (rng.uniform(-2, 2, shape),), {}
    for axis in (0, 1, -1):
        yield (rng.uniform(-2, 2, (3, 4, 5)),), {"axis": axis}
    yield (rng.uniform(-2, 2, 130),), {}
    yield (rng.uniform(-2, 2, (130, 2)),), {"axis": 0}
    yield (rng.uniform(-2, 2, (2, 0)),), {"axis": 1}
    yield (rng.integers(-9, 9, (3, 4)),), {"axis": 1}


@op(_samples, np.cumsum, dtypes="sum")
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
    x = summable(x)
    if axis is None:
        return cumsum(reshape(x, (x.size,)), 0)
    along = one_axis("cumsum", x.ndim, axis)

    def backward(dout):
        return (flip(cumsum(flip(dout, along), along), along),)

    out = _running(*as_middle(x, (along,))) if x.size else empty(x.shape, x.dtype, x.backend)
    return record(narrowed(row_major(out, x.shape), x.dtype), (x,), backward)
