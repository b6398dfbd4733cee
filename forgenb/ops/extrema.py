"""Largest and smallest elements along axes: max, min, argmax, argmin.

NaN wins: a maximum or minimum over anything that holds NaN is NaN, and argmax and argmin point to the first
NaN. Partial results of fixed blocks are combined in turn, as sums are; a maximum has no rounding.

Imports what every family of ops does (see `forgenb.ops`); the larger of two operands is `forgenb.ops.comparison`.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import INT64
from ..errors import ArgumentError
from ..kernel import row_kernel
from ..kernel.primitives import lane_max, lanes, maximum, minimum, put, select
from ..layout import count
from ..tape import record
from ..tensor import Tensor, empty
from .apply import as_tensor, copied, narrowed, row_major, run_rows
from .casts import astype
from .comparison import equal, where
from .reduction import BLOCK, ROWS, as_middle, reduced_shape, sum_
from .settings import flag, normalized_axes, one_axis
from .table import op


@row_kernel("parts | x[rows,n/block] -> out[parts]; blocks:int block:int smallest:int")
def extreme_row_kernel(row, x, out, blocks, block, smallest):
    """Largest or smallest float of one block of one row."""
    line = row // blocks
    start = (row - line * blocks) * block
    piece = x[line, start : min(start + block, x.shape[1])]
    m = piece[0]
    if smallest:
        for j in lanes(piece.shape[0]):
            m = minimum(m, piece[j])
        m = -lane_max(-m)
    else:
        for j in lanes(piece.shape[0]):
            m = maximum(m, piece[j])
        m = lane_max(m)
    put(out, row, m)


@row_kernel("parts | x[outer,n/block,inner] -> out[parts,inner]; blocks:int block:int smallest:int")
def extreme_column_kernel(row, x, out, blocks, block, smallest):
    """Largest or smallest float of each column in one block of rows."""
    group = row // blocks
    start = (row - group * blocks) * block
    for j in lanes(x.shape[2]):
        put(out, (row, j), x[group, start, j])
    for i in range(start + 1, min(start + block, x.shape[1])):
        if smallest:
            for j in lanes(x.shape[2]):
                put(out, (row, j), minimum(out[row, j], x[group, i, j]))
        else:
            for j in lanes(x.shape[2]):
                put(out, (row, j), maximum(out[row, j], x[group, i, j]))


@row_kernel("parts | x[outer,n/block,inner]:int -> out[parts,inner]:int; blocks:int block:int smallest:int")
def extreme_whole_kernel(row, x, out, blocks, block, smallest):
    """Largest or smallest integer of each column in one block of rows."""
    group = row // blocks
    start = (row - group * blocks) * block
    for j in lanes(x.shape[2]):
        put(out, (row, j), x[group, start, j])
    for i in range(start + 1, min(start + block, x.shape[1])):
        for j in lanes(x.shape[2]):
            known, found = out[row, j], x[group, i, j]
            put(out, (row, j), select((found > known) == (smallest == 0), found, known))


@row_kernel("outer | x[outer,n,inner] top[outer,inner] -> index[outer,inner]:int")
def first_index_kernel(row, x, top, index):
    """Where each column first holds its extremum `top`, which is NaN if the column holds one."""
    for j in lanes(x.shape[2]):
        i = 0
        while i < x.shape[1] - 1 and x[row, i, j] != top[row, j] and x[row, i, j] == x[row, i, j]:
            i += 1
        put(index, (row, j), i)


@row_kernel("outer | x[outer,n,inner]:int top[outer,inner]:int -> index[outer,inner]:int")
def first_index_whole_kernel(row, x, top, index):
    """Where each column of integers first holds its extremum `top`."""
    for j in lanes(x.shape[2]):
        i = 0
        while i < x.shape[1] - 1 and x[row, i, j] != top[row, j]:
            i += 1
        put(index, (row, j), i)


def _extreme_middle(x: Tensor, outer: int, n: int, inner: int, smallest: bool) -> Tensor:
    """Extremum of contiguous ``x[outer, n, inner]`` over n, as ``[outer, inner]`` (off the tape)."""
    while True:
        rows = x.dtype.kind == "f" and inner == 1
        block = BLOCK if inner == 1 else ROWS
        blocks = -(-n // block)
        parts, scalars = outer * blocks, (blocks, block, int(smallest))
        out = empty((parts, inner), x.dtype, x.backend)
        if rows:
            run_rows(extreme_row_kernel, (parts, outer, n), (x, out), scalars, work=min(n, block))
        else:
            kernel = extreme_column_kernel if x.dtype.kind == "f" else extreme_whole_kernel
            run_rows(kernel, (parts, outer, n, inner), (x, out), scalars, work=min(n, block) * inner)
        if blocks == 1:
            return out
        x, n = out, blocks


def _prepared(name: str, x, axis) -> tuple[Tensor, tuple[int, ...]]:
    """`x` as a tensor and the axes to reduce, which must hold something where the result does."""
    x = as_tensor(x)
    axes = normalized_axes(name, x.ndim, axis)
    if count(tuple(x.shape[a] for a in axes)) == 0:
        raise ArgumentError(
            f"{name} of shape {x.shape} over axis={axis}: nothing has no {name}, check for size 0 first"
        )
    return x, axes


def _middle(x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, int, int, int]:
    whole = x.dtype.kind != "f" and x.dtype is not INT64
    return as_middle(copied(x, INT64) if whole else x, axes)


def extreme(x: Tensor, axes: tuple[int, ...], keepdims: bool, smallest: bool) -> Tensor:
    """Extremum of `x` over axes that hold something (off the tape)."""
    shape = reduced_shape(x.shape, axes, keepdims)
    if count(shape) == 0:
        return empty(shape, x.dtype, x.backend)
    out = _extreme_middle(*_middle(x, axes), smallest)
    return row_major(narrowed(out, x.dtype), shape)


def _differentiable(x: Tensor, axes: tuple[int, ...], keepdims: bool, smallest: bool) -> Tensor:
    keepdims = flag("min" if smallest else "max", "keepdims", keepdims)
    kept = reduced_shape(x.shape, axes, True)

    def backward(dout, out):
        from .movement import reshape

        chosen = equal(x, reshape(out, kept))
        ties = sum_(astype(chosen, dout.dtype), axis=axes, keepdims=True)
        return (where(chosen, reshape(dout, kept) / ties, 0.0),)

    backward.__qualname__ = "min" if smallest else "max"
    return record(extreme(x, axes, keepdims, smallest), (x,), backward, save_output=True)


def _samples(rng: np.random.Generator):
    for shape in ((), (1,), (7,), (3, 5), (2, 1, 4)):
        yield (_distinct(rng, shape),), {}
    for sign in (1, -1):
        yield (sign * np.arange(2500.0),), {}
        yield (sign * np.arange(390.0).reshape(130, 3),), {"axis": 0}
    for axis in (0, 1, -1, (0, 2), (0, 1), (1, 2)):
        yield (_distinct(rng, (3, 4, 5)),), {"axis": axis, "keepdims": axis in (0, (0, 2))}
    yield (_distinct(rng, (3, 0)),), {"axis": 0}
    yield (rng.integers(-9, 9, (70, 3)),), {"axis": 0}


def _distinct(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers that are at least 0.0625 apart, so that no step of a difference makes a tie."""
    return rng.permutation(count(shape)).reshape(shape) / 16 - 2.0


@op(_samples, lambda x, axis=None, keepdims=False: np.amax(x, axis=axis, keepdims=keepdims), name="max")
def max_(x, axis=None, keepdims: bool = False) -> Tensor:
    r"""Largest element along axes, :math:`out = \max_{axis} x`; NaN if there is one, in the dtype of `x`.

    Backward: `dout` goes to the largest element, in equal shares where several are equally large.
    Elements get 0 where the maximum is NaN. Saves `x` and the output.

    Raises
    ------
    ArgumentError
        If an axis to reduce has size 0.
    ShapeError
        If an axis does not exist or is repeated.
    """
    x, axes = _prepared("max", x, axis)
    return _differentiable(x, axes, keepdims, False)


@op(_samples, lambda x, axis=None, keepdims=False: np.amin(x, axis=axis, keepdims=keepdims), name="min")
def min_(x, axis=None, keepdims: bool = False) -> Tensor:
    r"""Smallest element along axes, :math:`out = \min_{axis} x`; otherwise like `max`.

    Backward: `dout` goes to the smallest element, in equal shares where several are equally small.
    Elements get 0 where the minimum is NaN. Saves `x` and the output.

    Raises
    ------
    ArgumentError
        If an axis to reduce has size 0.
    ShapeError
        If an axis does not exist or is repeated.
    """
    x, axes = _prepared("min", x, axis)
    return _differentiable(x, axes, keepdims, True)


def _index_samples(rng: np.random.Generator):
    for shape in ((), (1,), (7,), (3, 5), (2500,)):
        yield (np.round(rng.uniform(-3, 3, shape)),), {}
    for axis in (0, 1, -1):
        yield (np.round(rng.uniform(-3, 3, (3, 4, 5))),), {"axis": axis, "keepdims": axis == 1}
    yield (np.array([[1.0, np.nan, 2.0, np.nan], [-1.0, 5.0, 5.0, 0.0]]),), {"axis": 1}
    yield (rng.integers(-3, 3, (5, 40)),), {"axis": 1}


def _first_index(name: str, x, axis, keepdims: bool) -> Tensor:
    x = as_tensor(x)
    x, axes = _prepared(name, x, None if axis is None else one_axis(name, x.ndim, axis))
    shape = reduced_shape(x.shape, axes, flag(name, "keepdims", keepdims))
    out = empty(shape, INT64, x.backend)
    if out.size:
        middle, outer, n, inner = _middle(x, axes)
        top = _extreme_middle(middle, outer, n, inner, name == "argmin")
        kernel = first_index_kernel if middle.dtype.kind == "f" else first_index_whole_kernel
        run_rows(kernel, (outer, n, inner), (middle, top, out))
    return out


@op(_index_samples, np.argmax, (), dtypes="int64")
def argmax(x, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Index of the first largest element along an axis, or of the first NaN, as int64. Not differentiable.

    Without an axis the index counts the elements in row-major order.

    Raises
    ------
    ArgumentError
        If the axis has size 0, or is not one axis.
    ShapeError
        If the axis does not exist.
    """
    return _first_index("argmax", x, axis, keepdims)


@op(_index_samples, np.argmin, (), dtypes="int64")
def argmin(x, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Index of the first smallest element along an axis; otherwise like `argmax`.

    Raises
    ------
    ArgumentError
        If the axis has size 0, or is not one axis.
    ShapeError
        If the axis does not exist.
    """
    return _first_index("argmin", x, axis, keepdims)
