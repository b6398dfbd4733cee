"""Integer operands: brought to int64 on the right backend and checked on the host before any kernel runs."""

from __future__ import annotations

import numpy as np

from ..dtypes import INT64
from ..errors import BackendError, DTypeError, IndexRangeError
from ..tensor import Tensor, from_array


def checked_ids(name: str, ids, size: int, backend, what: str = "id") -> Tensor:
    """`ids` as a contiguous int64 tensor on `backend`, all of them in ``0 .. size - 1``.

    Raises
    ------
    BackendError
        If they are a tensor of another backend: nothing is copied in silence.
    DTypeError
        If they are not integers.
    IndexRangeError
        Naming the first id that is out of range.
    """
    if isinstance(ids, Tensor) and ids.backend is not backend:
        raise BackendError(
            f"{name} got {what}s on backend {ids.backend.name!r} for a tensor on {backend.name!r}: move them with "
            f".to({backend.name!r})"
        )
    array = ids.numpy() if isinstance(ids, Tensor) else np.asarray(ids)
    if array.dtype.kind not in "iu" and array.size:
        raise DTypeError(f"{name} needs integer {what}s, got dtype {array.dtype}")
    if array.size and (array.min() < 0 or array.max() >= size):
        wrong = array[(array < 0) | (array >= size)].flat[0]
        raise IndexRangeError(f"{name} got {what} {wrong}: it must be in 0 .. {size - 1}")
    if isinstance(ids, Tensor) and ids.dtype is INT64 and ids.contiguous:
        return ids.detach()
    return from_array(np.ascontiguousarray(array, INT64), backend)
