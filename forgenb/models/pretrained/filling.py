"""Values of stored tensors into arrays: read, converted and looked at a MiB at a time, by several threads.

A piece is checked by the thread that read it, while caches still hold it. Which values are written and which error is
raised depend on the files alone. Imports `stored` and `forgenb.storage`; what a model is is not known here.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forgenb.errors import CheckpointError
from forgenb.models.pretrained.stored import BFLOAT16, Stored
from forgenb.storage.finite import first_not_finite

__all__ = ["converted", "fill"]

WORTH = 1 << 22
"""Bytes for which one more thread is worth its start."""


def fill(targets: Sequence[tuple[NDArray, Stored]], threads: int) -> None:
    """Write stored tensors into row-major arrays of their shapes and of any float dtype.

    Parameters
    ----------
    targets
        Arrays, and the tensors that become their values.
    threads
        The most threads that do so, the calling one included.

    Raises
    ------
    CheckpointError
        A file ends early, or a value is not finite in its array's dtype: the first that is so, in order.
    """
    nbytes = sum(values.nbytes for values, _ in targets)
    pieces = (
        (values.reshape(-1)[start:stop], stored, start)
        for values, stored in targets
        for start, stop in stored.file.pieces(stored.name)
    )
    _each(_fill_piece, pieces, min(threads, 1 + nbytes // WORTH))


def converted(part: NDArray, dtype: np.dtype) -> NDArray:
    """Stored values in the dtype of a model; bfloat16 is the upper half of a float32."""
    if part.dtype == BFLOAT16:
        part = (part.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):  # what does not fit becomes infinite, which is refused
        return part.astype(dtype, copy=False)


def _fill_piece(own: NDArray, stored: Stored, start: int) -> None:
    dtype = stored.layout[1]
    if dtype == own.dtype:
        stored.file.read_piece(stored.name, start, own)
    else:
        part = np.empty(own.size, dtype)
        stored.file.read_piece(stored.name, start, part)
        own[:] = converted(part, own.dtype)
    if not np.isfinite(own).all():
        _refuse(stored, start, own)


def _refuse(stored: Stored, start: int, part: NDArray) -> None:
    """Raise the error of a part with a value that is not finite."""
    (first,) = first_not_finite(part) or (0,)
    position = tuple(int(i) for i in np.unravel_index(start + first, stored.layout[0]))
    raise CheckpointError(
        f"{stored.file.place!r} is not loaded: {stored.name!r} has {part[first]} at position {position} in "
        f"{part.dtype.name}, and only finite numbers are of use; get the file again, or ask for a wider dtype."
    )


def _each(work: Callable[..., None], items: Iterable[tuple[Any, ...]], threads: int) -> None:
    """Do `work` for all items, begun in their order, and raise the error of the first that fails.

    Items are drawn one by one, so all before one that fails have been begun, and are finished before the error is told.
    """
    lock, numbered = Lock(), enumerate(items)
    failures: list[tuple[int, BaseException]] = []

    def drawn() -> tuple[int, tuple[Any, ...]] | None:
        with lock:
            return None if failures else next(numbered, None)

    def run() -> None:
        while (one := drawn()) is not None:
            try:
                work(*one[1])
            except BaseException as error:
                failures.append((one[0], error))

    with ThreadPoolExecutor(threads) as pool:
        with suppress(RuntimeError):  # the system gives no more threads, or the interpreter is about to end
            for _ in range(threads - 1):
                pool.submit(run)
        run()
    if failures:
        try:
            raise min(failures, key=lambda failure: failure[0])[1]
        finally:
            failures.clear()  # errors hold frames, and frames would hold the errors
