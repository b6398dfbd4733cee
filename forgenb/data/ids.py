"""Checking that something is a sequence of ids.

Imports NumPy and `forgenb.errors`. Ids that an op is given are checked in `forgenb.ops.ids`.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forgenb.errors import DTypeError, ShapeError

__all__ = ["as_ids"]


def as_ids(ids: ArrayLike) -> NDArray[np.int64]:
    """Return `ids` as a one-dimensional int64 array, without a copy where it is one.

    Parameters
    ----------
    ids
        ``(n,)`` integers of any width.

    Raises
    ------
    ShapeError
        `ids` has not exactly one axis, or is a list of lists of different lengths.
    DTypeError
        `ids` are not integers.
    """
    try:
        array = np.asarray(ids)
    except ValueError:
        raise ShapeError("Ids must have one axis, got lists of different lengths; pass one after another.") from None
    if array.ndim != 1:
        raise ShapeError(f"Ids must have one axis, got shape {array.shape}; flatten them first.")
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise DTypeError(f"Ids must be integers, got dtype {array.dtype}.")
    return array.astype(np.int64, copy=False)
