"""Copies: of any layout and dtype by a map, and of a transposed layout tile by tile, which reads whole cache lines.

Imports kernels and tensors; `apply` decides when something is copied, and nothing here is recorded.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..kernel import map_kernel, row_kernel
from ..kernel.primitives import lanes, put
from ..tensor import Tensor, empty

TILE = 8


@map_kernel("x -> out")
def copy_kernel(x):
    """The identity; a change of dtype happens where the panel is stored."""
    return x


@map_kernel("out -> out; value")
def fill_kernel(out, value):
    """One value everywhere; what was there is not used."""
    return value


@row_kernel("bands | x[batch,n,m] -> out[batch,m,n]; per_matrix:int tile:int")
def transposed_copy_kernel(row, x, out, per_matrix, tile):
    """Rows ``j .. j + tile`` of one transposed matrix, in square tiles."""
    matrix = row // per_matrix
    first = (row - matrix * per_matrix) * tile
    last = min(first + tile, x.shape[2])
    for start in range(0, x.shape[1], tile):
        width = min(tile, x.shape[1] - start)
        for j in range(first, last):
            for i in lanes(width):
                put(out, (matrix, j, start + i), x[matrix, start + i, j])


@lru_cache(maxsize=4096)
def swapped_sizes(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int, int] | None:
    """(batch, n, m) where the layout is that of contiguous ``[batch, n, m]`` with its last axes swapped, else None."""
    axes = [(s, t) for s, t in zip(shape, strides, strict=True) if s != 1]
    merged: list[tuple[int, int]] = []
    for size, stride in axes:
        if merged and merged[-1][1] == stride * size:
            merged[-1] = (merged[-1][0] * size, stride)
        else:
            merged.append((size, stride))
    if len(merged) == 2:
        merged.insert(0, (1, merged[0][0] * merged[1][0]))
    if len(merged) != 3:
        return None
    (batch, step), (m, one), (n, width) = merged
    return (batch, n, m) if one == 1 and width == m and step == n * m else None


def copy_transposed(x: Tensor, sizes: tuple[int, int, int]) -> Tensor:
    """A row-major copy of `x`, whose memory is ``[batch, n, m]`` with swapped last axes (off the tape)."""
    from .apply import run_rows

    batch, n, m = sizes
    out = empty(x.shape, x.dtype, x.backend)
    bands = -(-m // TILE)
    source = x.view((batch, n, m), (n * m, m, 1))
    run_rows(transposed_copy_kernel, (batch * bands, batch, n, m), (source, out), (bands, TILE), work=TILE * n)
    return out


def filled(shape: tuple[int, ...], value, dtype: np.dtype, backend) -> Tensor:
    """A fresh tensor with one value everywhere, made where it lives."""
    from .apply import run_map

    out = empty(shape, dtype, backend)
    return run_map(fill_kernel, (out,), (value,), into=(out,))
