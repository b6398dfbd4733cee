"""How a tensor's elements lie in its memory: shapes, strides, and the one object that stands for both.

Imports NumPy only. What is computed here is computed once per layout; memory and values are not known here.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np


@lru_cache(maxsize=4096)
def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides of `shape`, in elements."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


@lru_cache(maxsize=4096)
def count(shape: tuple[int, ...]) -> int:
    """Number of elements of `shape`."""
    total = 1
    for extent in shape:
        total *= extent
    return total


@lru_cache(maxsize=4096)
def gapless(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether these strides are the row-major ones, apart from those of axes with one element, which do not count."""
    if count(shape) < 2:
        return True
    wanted = contiguous_strides(shape)
    return all(extent == 1 or stride == step for extent, stride, step in zip(shape, strides, wanted, strict=True))


class Layout:
    """How a tensor's elements lie in its memory: shape, strides (in elements), dtype and backend.

    Equal layouts are one object (`layout_of`), so that a launch that was prepared once is found by identity.
    """

    __slots__ = ("backend", "contiguous", "dtype", "itemsize", "nbytes", "shape", "size", "strides")

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype, backend):
        self.shape, self.strides, self.dtype, self.backend = shape, strides, dtype, backend
        self.size, self.itemsize = count(shape), dtype.itemsize
        self.nbytes = self.size * self.itemsize
        self.contiguous = gapless(shape, strides)


@lru_cache(maxsize=8192)
def layout_of(shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: np.dtype, backend) -> Layout:
    """The one layout of these four; without strides, the row-major one."""
    shape = tuple(map(int, shape))
    strides = contiguous_strides(shape) if strides is None else tuple(map(int, strides))
    return _layout(shape, strides, dtype, backend)


_layout = lru_cache(maxsize=8192)(Layout)
