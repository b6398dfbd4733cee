"""Files that are read with care: regular ones only, and in pieces that are counted before they are asked for.

Imports NumPy and `forgenb.errors`; what the bytes mean is not known here.
"""

import contextlib
import io
import os
import stat
from collections.abc import Iterator
from threading import Lock
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from forgenb.errors import CheckpointError

__all__ = ["RandomAccess", "StrPath", "fill", "filled", "opened", "read_small", "reason"]

StrPath = str | os.PathLike[str]
PIECE = 1 << 20
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Source(Protocol):
    """What gives bytes."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Write bytes into `buffer`, perhaps fewer than it takes, and return how many; none at the end."""
        ...


@contextlib.contextmanager
def opened(path: StrPath) -> Iterator[io.BufferedReader]:
    """Open a regular file to read it; a pipe or a device, whose reading may never end, is not waited for.

    Raises
    ------
    CheckpointError
        The file is missing, is no regular file, or the system refuses to open or to read it.
    """
    place = os.fspath(path)
    try:
        handle = os.open(place, _FLAGS)
    except (OSError, ValueError) as error:  # a null character in the name is a ValueError
        raise CheckpointError(f"{place!r} cannot be read: {reason(error)}.") from error
    try:
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise CheckpointError(f"{place!r} cannot be read: it is no regular file. Give the file itself.")
            yield file
    except OSError as error:
        raise CheckpointError(f"{place!r} cannot be read: {reason(error)}.") from error


def read_small(path: StrPath, most: int) -> bytes:
    """The bytes of a file of at most `most`.

    Raises
    ------
    CheckpointError
        It is larger, or see `opened`.
    """
    with opened(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise CheckpointError(f"{os.fspath(path)!r} is damaged: it has more than {most} bytes, more than is read.")
    return data


def filled(source: Source, shape: tuple[int, ...], dtype: np.dtype) -> NDArray | None:
    """A new row-major array from the next bytes of `source`, in this machine's byte order; None where they end."""
    array = np.empty(shape, dtype)
    return array if fill(source, array) else None


def fill(source: Source, array: NDArray) -> bool:
    """Write the next bytes of `source` into a row-major array; False where they end early.

    `source` may hand out less than it is asked for, and is never asked for more than is missing.
    """
    data = array.reshape(-1).view(np.uint8).data
    done = 0
    while done < len(data):
        count = source.readinto(data[done : done + PIECE])
        if not count:
            return False
        done += count
    return True


class RandomAccess:
    """An open file that is read at any place, by several threads at once.

    Parameters
    ----------
    file
        Open, and not read by others meanwhile.
    """

    def __init__(self, file: io.BufferedReader):
        self._file, self._lock = file, Lock()

    def fill(self, place: int, array: NDArray) -> bool:
        """Write the bytes from `place` on into a row-major array; False where they end early."""
        if hasattr(os, "preadv"):
            return fill(_Placed(self._file.fileno(), place), array)
        with self._lock:  # where the system has one position for all
            self._file.seek(place)
            return fill(self._file, array)


class _Placed:
    """A position of its own in an open file."""

    def __init__(self, handle: int, place: int):
        self._handle, self._place = handle, place

    def readinto(self, buffer: memoryview) -> int:
        count = os.preadv(self._handle, [buffer], self._place)
        self._place += count
        return count


def reason(error: Exception) -> str:
    """What the system said, in its words."""
    return getattr(error, "strerror", None) or str(error)
