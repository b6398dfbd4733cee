"""Diagonals and triangles of matrices: diagonal, its backward undiagonal, tril, triu.

Imports what every family of ops does (see `forgenb.ops`); nothing here computes.
"""

from __future__ import annotations

import numpy as np

from ..errors import ShapeError
from ..tape import record
from ..tensor import Tensor
from .apply import as_tensor, run_map
from .comparison import where
from .copying import copy_kernel
from .movement import zeros
from .settings import one_axis, sizes, whole
from .table import op


def _geometry(name: str, shape: tuple, strides: tuple, offset: int, axis1: int, axis2: int) -> tuple:
    """Shape, strides and offset of the view of a diagonal, which becomes the last axis."""
    offset = whole(name, "offset", offset)
    first, second = one_axis(name, len(shape), axis1, "axis1"), one_axis(name, len(shape), axis2, "axis2")
    if first == second:
        raise ShapeError(f"{name} got axes ({axis1}, {axis2}) where there are {len(shape)} dimensions: it needs two")
    size = max(
        0, min(shape[first], shape[second] - offset) if offset >= 0 else min(shape[first] + offset, shape[second])
    )
    rest = [a for a in range(len(shape)) if a not in (first, second)]
    start = offset * strides[second] if offset >= 0 else -offset * strides[first]
    out = (*(shape[a] for a in rest), size)
    steps = (*(strides[a] for a in rest), strides[first] + strides[second])
    return out, steps, start if size else 0


DIAGONALS: tuple[tuple[tuple, dict], ...] = (
    ((3, 3), {}),
    ((3, 5), {"offset": 1}),
    ((5, 3), {"offset": -2}),
    ((2, 3, 4), {"offset": -1, "axis1": 2, "axis2": 0}),
    ((3, 4), {"offset": 7}),
    ((1, 1), {}),
    ((0, 3), {}),
)
"""Shapes and keywords of the samples: square and oblong matrices, other axes, none on the diagonal."""


def _diagonal_samples(rng: np.random.Generator):
    for shape, words in DIAGONALS:
        yield (rng.uniform(-2, 2, shape),), words


@op(_diagonal_samples, np.diagonal)
def diagonal(x, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    r"""A view of the elements :math:`x_{i, i + offset}` of the axes `axis1` and `axis2`, as a new last axis.

    Backward: `dout` written on the diagonal of zeros (`undiagonal`). Saves nothing.

    Raises
    ------
    ShapeError
        If `x` does not have two such axes.
    """
    x = as_tensor(x)
    before = x.shape
    view = x.view(*_geometry("diagonal", x.shape, x.strides, offset, axis1, axis2))

    def backward(dout):
        return (undiagonal(dout, before, offset, axis1, axis2),)

    return record(view, (x,), backward)


def _undiagonal_samples(rng: np.random.Generator):
    for shape, words in DIAGONALS:
        yield (rng.uniform(-2, 2, np.diagonal(np.empty(shape), **words).shape),), {"shape": shape, **words}


def _undiagonal_reference(x, shape, offset=0, axis1=0, axis2=1):
    out = np.zeros(shape)
    place = np.diagonal(out, offset, axis1, axis2)
    place.flags.writeable = True
    place[...] = x
    return out


@op(_undiagonal_samples, _undiagonal_reference)
def undiagonal(x, shape: tuple[int, ...], offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Zeros of `shape` with `x` on a diagonal, the backward of `diagonal`.

    Backward: that diagonal of `dout`. Saves nothing.

    Raises
    ------
    ShapeError
        If `x` does not have the shape of that diagonal.
    """
    x = as_tensor(x)
    out = zeros(sizes("undiagonal", "shape", shape), x.dtype, x.backend)
    place = out.view(*_geometry("undiagonal", out.shape, out.strides, offset, axis1, axis2))
    if place.shape != x.shape:
        raise ShapeError(f"undiagonal got shape {x.shape} for a diagonal of shape {place.shape} in {out.shape}")
    run_map(copy_kernel, (x.detach(),), into=(place,))

    def backward(dout):
        return (diagonal(dout, offset, axis1, axis2),)

    return record(out, (x,), backward)


def _triangle_samples(rng: np.random.Generator):
    for shape, k in (((3, 3), 0), ((3, 5), 1), ((5, 3), -2), ((2, 3, 4), 0), ((4,), 0), ((0, 3), 0)):
        yield (rng.uniform(-2, 2, shape),), {"k": k}


def _triangle(name: str, x: Tensor, k: int, lower: bool) -> Tensor:
    if x.ndim == 0:
        raise ShapeError(f"{name} got a tensor without dimensions: it needs the rows and columns of a matrix")
    rows, columns = x.shape[-2:][0], x.shape[-1]
    last = max(-rows - 1, min(whole(name, "k", k), columns + 1))
    below = np.tri(rows, columns, last if lower else last - 1, dtype=bool)
    return where(below if lower else ~below, x, zeros((), x.dtype, x.backend))


@op(_triangle_samples, np.tril)
def tril(x, k: int = 0) -> Tensor:
    r"""`x` on and below the diagonal `k` of its last two axes, 0 above it.

    A vector counts as every row of a square matrix, as in NumPy. Backward: `dout` in the same triangle, else 0 (see
    `where`). Saves the triangle as a mask.

    Raises
    ------
    ShapeError
        If `x` has no dimension.
    """
    return _triangle("tril", as_tensor(x), k, True)


@op(_triangle_samples, np.triu)
def triu(x, k: int = 0) -> Tensor:
    r"""`x` on and above the diagonal `k` of its last two axes, 0 below it; otherwise like `tril`.

    Backward: `dout` in the same triangle, else 0 (see `where`). Saves the triangle as a mask.

    Raises
    ------
    ShapeError
        If `x` has no dimension.
    """
    return _triangle("triu", as_tensor(x), k, False)
