"""Integer operands: brought to int64 on the right backend and checked on the host before any kernel runs.

Ids of tokens and classes must not be negative; ids of rows may count from the end, as in NumPy. Imports tensors,
dtypes and errors; no op belongs here.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from ..backend import seam
from ..dtypes import INT64
from ..errors import BackendError, DTypeError, IndexRangeError, ShapeError
from ..tensor import Tensor, from_array
from .apply import copied


def _whole(name: str, ids: np.ndarray, what: str) -> np.ndarray:
    if ids.size and ids.dtype.kind not in "iu":
        raise DTypeError(f"{name} needs whole numbers as {what}s, got dtype {ids.dtype}: convert them to int64")
    return ids.astype(INT64, copy=False)


def inside(ids: np.ndarray, size: int) -> bool:
    """Whether all of int64 `ids` lie in ``[0, size)``: seen as unsigned, a negative one is larger than any size."""
    return ids.size == 0 or int(ids.view(np.uint64).max()) < size


def _check_place(name: str, ids: Tensor, backend, what: str) -> None:
    if ids.backend is not backend:
        raise BackendError(
            f"{name} got {what}s on backend {ids.backend.name!r} for a tensor on {backend.name!r}: move them with "
            f".to({backend.name!r})"
        )


def as_array(name: str, ids, what: str = "id") -> np.ndarray:
    """Ids that are no tensor, as NumPy has them.

    Raises
    ------
    ShapeError
        If they are lists of different lengths.
    """
    try:
        return np.asarray(ids)
    except ValueError:
        raise ShapeError(
            f"{name} got {what}s in lists of different lengths: make them equally long, or pass one list at a time"
        ) from None


def _host(name: str, ids, what: str) -> np.ndarray:
    """The ids on the host. Reading them to check them is allowed while a step is recorded."""
    if not isinstance(ids, Tensor):
        return as_array(name, ids, what)
    token = seam.RECORDER.set(None)
    try:
        return ids.numpy()
    finally:
        seam.RECORDER.reset(token)


_BOUNDS: WeakKeyDictionary = WeakKeyDictionary()
"""Ids that were checked and lie on a device: memory -> (version, offset, shape, strides, bound)."""


def _remember(ids: Tensor, size: int) -> Tensor:
    """Note that `ids` lie in ``[0, size)``, where looking again would mean to fetch them from a device."""
    if not ids.backend.host and seam.RECORDER.get() is None and isinstance(ids.offset, int):
        _BOUNDS[ids.memory] = (ids.memory.version, ids.offset, ids.shape, ids.strides, size)
    return ids


def _known(ids, size: int, backend) -> bool:
    """Whether these very ids were checked against this size or a smaller one, and not written since."""
    if not isinstance(ids, Tensor) or ids.backend is not backend or ids.dtype is not INT64:
        return False
    if backend.host or seam.RECORDER.get() is not None or not isinstance(ids.offset, int):
        return False
    *state, bound = _BOUNDS.get(ids.memory, (None, 0))
    return state == [ids.memory.version, ids.offset, ids.shape, ids.strides] and bound <= size


def checked_ids(name: str, ids, size: int, backend, what: str = "id", ignored: int | None = None) -> Tensor:
    """`ids` as a contiguous int64 tensor on `backend`, all of them in ``0 .. size - 1``, or equal to `ignored`.

    Raises
    ------
    BackendError
        If they are a tensor of another backend: nothing is copied in silence.
    DTypeError
        If they are not integers.
    IndexRangeError
        Naming the first id that is out of range.
    """
    recorder = seam.RECORDER.get() if isinstance(ids, Tensor) else None
    if isinstance(ids, Tensor):
        _check_place(name, ids, backend, what)
    if _known(ids, size, backend):
        return ids.detach()
    if recorder is None or not recorder.guard(ids, lambda: checked_ids(name, ids, size, backend, what, ignored), size):
        array = _host(name, ids, what)
        found = _whole(name, array, what)
        seen = found if ignored is None else np.where(found == ignored, 0, found)
        if not inside(seen, size):
            wrong = array[(seen < 0) | (seen >= size)].flat[0]
            raise IndexRangeError(f"{name} got {what} {wrong}: it must be in 0 .. {size - 1}")
    if ignored is not None and recorder is None:
        kept = isinstance(ids, Tensor) and ids.dtype is INT64 and ids.contiguous
        return ids.detach() if kept else from_array(found, backend)
    if isinstance(ids, Tensor) and ids.dtype is INT64 and ids.contiguous:
        return _remember(ids.detach(), size)
    if recorder is None:
        return _remember(from_array(found, backend), size)
    converted = copied(ids, INT64)
    recorder.checked[id(converted.memory)] = size
    return converted


def still_inside(ids: Tensor, size: int) -> Tensor:
    """`ids`, a copy of some that were checked, noted as lying in ``[0, size)`` too."""
    recorder = seam.RECORDER.get()
    if recorder is not None:
        recorder.checked[id(ids.memory)] = size
    return _remember(ids, size)


def wrapped_positions(name: str, ids: np.ndarray, size: int, axis: int) -> np.ndarray:
    """Host `ids` as int64 in [0, size); negative ones count from the end.

    Raises
    ------
    DTypeError
        If they are not whole numbers.
    IndexRangeError
        If one is out of range, naming it and the axis.
    """
    ids = _whole(name, ids, "id")
    if inside(ids, size):
        return ids
    wrapped = np.where(ids < 0, ids + size, ids)
    if not inside(wrapped, size):
        at = int(np.argmax((wrapped < 0) | (wrapped >= size)))
        raise IndexRangeError(
            f"{name} got id {ids.flat[at]} at position {at}, but axis {axis} has size {size}: ids must lie "
            f"in [{-size}, {size})"
        )
    return wrapped


def wrapped_ids(name: str, ids, size: int, axis: int, backend) -> Tensor:
    """`ids` (tensor, array or list) as a contiguous int64 tensor, see `wrapped_positions`.

    While a step is recorded, those of a tensor must not count from the end: they are read anew in each run.
    """
    if isinstance(ids, Tensor) and seam.RECORDER.get() is not None:
        return checked_ids(name, ids, size, backend)
    if isinstance(ids, Tensor):
        _check_place(name, ids, backend, "id")
        if _known(ids, size, backend):
            return ids
        host = ids.numpy()
        found = wrapped_positions(name, host, size, axis)
        return _remember(ids if found is host and ids.contiguous else from_array(found, backend), size)
    return _remember(from_array(wrapped_positions(name, as_array(name, ids), size, axis), backend), size)
