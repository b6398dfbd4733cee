"""Tensors with the same elements as an array, laid out in memory in other ways."""

from __future__ import annotations

import numpy as np

from ..creation import tensor
from ..layout import contiguous_strides
from ..tensor import Tensor


def sliced(array: np.ndarray) -> Tensor:
    """Every second element of a larger block, whose other floats are NaN."""
    filler = np.nan if array.dtype.kind == "f" else 1
    block = np.full(tuple(2 * s + 1 for s in array.shape), filler, array.dtype)
    block[(slice(1, None, 2),) * array.ndim] = array
    steps = contiguous_strides(block.shape)
    return tensor(block).view(array.shape, tuple(2 * s for s in steps), sum(steps))


def transposed(array: np.ndarray) -> Tensor:
    """In column-major order."""
    turned = array.T.copy()
    return tensor(turned).view(array.shape, tuple(reversed(contiguous_strides(turned.shape))))


def reversed_(array: np.ndarray) -> Tensor:
    """From the last element to the first, with negative strides."""
    steps = tuple(-s for s in contiguous_strides(array.shape))
    return tensor(np.flip(array).copy()).view(array.shape, steps, max(array.size - 1, 0))


def broadcast(array: np.ndarray) -> Tensor:
    """The first row again and again, with stride 0: the one layout that changes the values."""
    if array.ndim == 0 or array.size == 0:
        return tensor(array)
    return tensor(array[:1]).view(array.shape, (0, *contiguous_strides(array.shape)[1:]))


LAYOUTS = {"sliced": sliced, "transposed": transposed, "reversed": reversed_, "broadcast": broadcast}
"""Each layout by name: a function from an array to a tensor."""
