"""Ids that a caller hands to a model, checked before anything is read.

Imports `as_ids` and errors; the ids that an op is given are checked in `forgenb.ops.ids`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..data.ids import as_ids
from ..errors import IndexRangeError

__all__ = ["known_ids", "prompt_ids"]


def known_ids(ids: ArrayLike, vocab: int) -> NDArray[np.int64]:
    """The ids as an array of int64 with one axis.

    Raises
    ------
    ShapeError, DTypeError
        If they are not integers in a row.
    IndexRangeError
        If one is outside the vocabulary; the message names the first and its position.
    """
    array = as_ids(ids)
    outside = (array < 0) | (array >= vocab)
    if outside.any():
        place = int(np.argmax(outside))
        raise IndexRangeError(f"id {array[place]} at position {place} is outside the model's vocabulary of {vocab}")
    return array


def prompt_ids(ids: ArrayLike, vocab: int) -> list[int]:
    """`known_ids` as integers of Python, also of those that no window will see."""
    return known_ids(ids, vocab).tolist()
