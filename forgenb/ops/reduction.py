"""Reductions over axes: sum, mean, and `sum_to`, which undoes broadcasting.

Any reduction is brought to ``[outer, n, inner]`` and done in fixed blocks (`BLOCK` elements of a row, or
`ROWS` rows of columns), and the partial results in turn: so bits do not depend on threads, and rounding
grows with the depth of that tree, not with n.

Imports what every family of ops does (see `forgenb.ops`); a sum in an order that depends on threads must never be
added.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..dtypes import DEFAULT, FLOAT16, float_dtype, sum_dtype
from ..kernel import row_kernel
from ..kernel.primitives import accumulate, lane_sum, lanes, put, real
from ..layout import contiguous_strides, count
from ..tape import record
from ..tensor import Tensor, empty, full_like
from .apply import as_tensor, copied, row_major, run_rows, widened
from .settings import flag, normalized_axes
from .table import SHAPES, op

BLOCK = 1024
ROWS = 64


@row_kernel("parts | x[rows,n/block] -> out[parts]; blocks:int block:int")
def sum_row_kernel(row, x, out, blocks, block):
    """Sum of one block of one row."""
    line = row // blocks
    start = (row - line * blocks) * block
    piece = x[line, start : min(start + block, x.shape[1])]
    s = real(0)
    for j in lanes(piece.shape[0]):
        s = accumulate(s, piece[j])
    put(out, row, lane_sum(s))


@row_kernel("parts | x[outer,n/block,inner] -> out[parts,inner]; blocks:int block:int")
def sum_column_kernel(row, x, out, blocks, block):
    """Column sums of one block of rows."""
    group = row // blocks
    start = (row - group * blocks) * block
    for j in lanes(x.shape[2]):
        put(out, (row, j), x[group, start, j])
    for i in range(start + 1, min(start + block, x.shape[1])):
        for j in lanes(x.shape[2]):
            put(out, (row, j), out[row, j] + x[group, i, j])


def sum_middle(x: Tensor, outer: int, n: int, inner: int) -> Tensor:
    """Sum of contiguous ``x[outer, n, inner]`` over n, as ``[outer, inner]`` (off the tape)."""
    while True:
        block = BLOCK if inner == 1 else ROWS
        blocks = -(-n // block)
        parts = outer * blocks
        out = empty((parts, inner), x.dtype, x.backend)
        work = min(n, block) * inner
        if inner == 1 and x.dtype.kind == "f":
            run_rows(sum_row_kernel, (parts, outer, n), (x, out), (blocks, block), work=work)
        else:
            run_rows(sum_column_kernel, (parts, outer, n, inner), (x, out), (blocks, block), work=work)
        if blocks == 1:
            return out
        x, n = out, blocks


@lru_cache(maxsize=4096)
def middle(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[tuple[int, ...] | None, tuple[int, int, int]]:
    """An order in which `axes` stand together, None where they do, and the sizes before them, of them, and after."""
    ndim, order = len(shape), None
    first, last = (axes[0], axes[-1] + 1) if axes else (ndim, ndim)
    if axes != tuple(range(first, last)):
        kept = tuple(a for a in range(ndim) if a not in axes)
        order, first, last = (*kept, *axes), len(kept), ndim
        shape = tuple(shape[a] for a in order)
    return order, (count(shape[:first]), count(shape[first:last]), count(shape[last:]))


def as_middle(x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, int, int, int]:
    """`x` as contiguous ``[outer, n, inner]`` with the axes to reduce in the middle, and those sizes."""
    order, sizes = middle(x.shape, axes)
    if order is not None:
        x = x.view(tuple(x.shape[a] for a in order), tuple(x.strides[a] for a in order))
    return widened(x.detach()), *sizes


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """The shape after reducing `axes`."""
    if keepdims:
        return tuple(1 if a in axes else s for a, s in enumerate(shape))
    return tuple(s for a, s in enumerate(shape) if a not in axes)


def summable(x) -> Tensor:
    """`x` as a tensor in the dtype that its numbers are added up in: integers and bools become int64."""
    x = as_tensor(x)
    wanted = sum_dtype(x.dtype)
    return x if x.dtype is wanted else copied(x, wanted)


def _total(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    shape = reduced_shape(x.shape, axes, keepdims)
    if count(shape) == 0 or x.size == 0:
        return full_like(x.view(shape, contiguous_strides(shape)), 0)
    out = sum_middle(*as_middle(x, axes))
    out = copied(out, x.dtype) if x.dtype is FLOAT16 else out
    return row_major(out, shape)


def sum_to(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`x` summed over the axes along which a tensor of `shape` was broadcast to its shape."""
    if x.layout.shape == shape:
        return x
    missing = x.ndim - len(shape)
    axes = tuple(range(missing)) + tuple(
        missing + a for a, extent in enumerate(shape) if extent == 1 and x.shape[missing + a] != 1
    )
    from .movement import reshape

    return reshape(sum_(x, axis=axes), shape)


def _axis_samples(rng: np.random.Generator):
    for shape in SHAPES:
        yield (rng.uniform(-2, 2, shape),), {}
    for axis in (0, 1, -1, (0, 2), (0, 1), (1, 2)):
        yield (rng.uniform(-2, 2, (3, 4, 5)),), {"axis": axis, "keepdims": axis in (0, (0, 2))}
    yield (rng.uniform(-2, 2, 2500),), {}
    yield (rng.uniform(-2, 2, (130, 6)),), {"axis": 0}


def _sum_samples(rng: np.random.Generator):
    yield from _axis_samples(rng)
    yield (rng.integers(-9, 9, (2500,)),), {}
    yield (rng.integers(-9, 9, (130, 3)).astype(np.int32),), {"axis": 0}
    yield (rng.integers(0, 2, (3, 40)) > 0,), {"axis": 1}


@op(_sum_samples, np.sum, name="sum", dtypes="sum")
def sum_(x, axis=None, keepdims: bool = False) -> Tensor:
    r"""Sum over axes, :math:`out = \sum_{axis} x`; the sum of nothing is 0.

    Integers and bools add up to int64.

    Backward: :math:`dx = dout`, broadcast along the axes. Saves nothing.

    Raises
    ------
    ShapeError
        If an axis does not exist or is repeated.
    """
    x = summable(x)
    shape, axes = x.shape, normalized_axes("sum", x.ndim, axis)
    kept = reduced_shape(shape, axes, True)

    def backward(dout):
        from .movement import broadcast_to, reshape

        return (broadcast_to(reshape(dout, kept), shape),)

    return record(_total(x, axes, flag("sum", "keepdims", keepdims)), (x,), backward)


@op(lambda rng: (s for s in _axis_samples(rng) if s[0][0].size), np.mean, dtypes="float")
def mean(x, axis=None, keepdims: bool = False) -> Tensor:
    r"""Mean over axes, :math:`out = \frac1n \sum_{axis} x`; the mean of nothing is NaN, of integers float32.

    Half precision is divided before it is rounded, so that a sum beyond its largest number has a mean.

    Backward: :math:`dx = dout / n`, broadcast along the axes. Saves the sums and the factor :math:`1/n`.
    """
    x, keepdims = as_tensor(x), flag("mean", "keepdims", keepdims)
    if x.dtype is FLOAT16:
        from .casts import astype

        return astype(mean(astype(x, DEFAULT), axis, keepdims), FLOAT16)
    if x.dtype.kind != "f":
        x = copied(x, float_dtype(x.dtype))
    axes = normalized_axes("mean", x.ndim, axis)
    n = count(tuple(x.shape[a] for a in axes))
    total = sum_(x, axis=axes, keepdims=keepdims)
    return total / float(n) if n == 0 else total * (1.0 / n)
