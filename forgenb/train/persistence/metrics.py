"""The curve of a run: one JSON object a line, appended as training goes on.

Imports `opening`, `documents` and `forgenb.errors`; it does not know what a model is.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from forgenb.errors import ArgumentError, CheckpointError
from forgenb.storage.documents import parsed
from forgenb.storage.opening import StrPath, opened, reason

__all__ = ["Metrics", "read_metrics"]

LONGEST = 1 << 16
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)


class Metrics:
    """An open ``metrics.jsonl``, written by one process at a time.

    Parameters
    ----------
    path
        The file; it is made where there is none.
    step
        Lines of later steps, and a last line that was cut short, are removed: they belong to steps that the
        checkpoint does not hold and that will be done again.

    Raises
    ------
    ArgumentError
        Another process has it open.
    CheckpointError
        It cannot be written.
    """

    def __init__(self, path: Path, step: int = 0):
        self.path = path
        try:
            self._handle = os.open(path, _FLAGS, 0o666)
        except OSError as error:
            raise self._failed(error) from error
        try:
            _lock(self._handle, path)
            self._size = _length_until(path, step)
            os.truncate(self._handle, self._size)
        except BaseException:
            self.close()
            raise

    def append(self, row: Mapping[str, object]) -> None:
        """Write one line, in one piece."""
        line = json.dumps(row, allow_nan=False).encode() + b"\n"
        try:
            written = os.write(self._handle, line)
            if written < len(line):
                os.write(self._handle, line[written:])  # raises why the rest did not fit
        except OSError as error:
            os.truncate(self._handle, self._size)
            raise self._failed(error) from error
        self._size += len(line)

    def sync(self) -> None:
        """Flush all lines to the disk, which is done before a checkpoint says that they are there."""
        try:
            os.fsync(self._handle)
        except OSError as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Let another process write."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _failed(self, error: OSError) -> CheckpointError:
        return CheckpointError(
            f"{str(self.path)!r} cannot be written: {reason(error)}. The last checkpoint is whole; make room "
            "and resume from it."
        )


def read_metrics(path: StrPath) -> list[dict]:
    """Return every whole line of a ``metrics.jsonl``.

    Raises
    ------
    CheckpointError
        The file cannot be read, or a whole line is none that a run writes; the message has its number.
    """
    with opened(path) as file:
        return [
            parsed(line, f"{os.fspath(path)!r} is damaged: line {number}")
            for number, line in enumerate(_lines(file), start=1)
            if line.endswith(b"\n") or len(line) == LONGEST
        ]


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, of which a very long one comes in pieces."""
    return iter(lambda: file.readline(LONGEST), b"")


def _length_until(path: Path, step: int) -> int:
    """How many bytes hold the whole lines up to `step`."""
    length = 0
    with opened(path) as file:
        for line in _lines(file):
            try:
                row = parsed(line, "")
            except CheckpointError:
                break
            found = row.get("step")
            if not line.endswith(b"\n") or type(found) is not int or found > step:
                break
            length += len(line)
    return length


def _lock(handle: int, path: Path) -> None:
    """Hold the file until it is closed or the process ends, on systems that have such locks."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ArgumentError(
            f"The run in {str(path.parent)!r} is being trained by another process; wait for it or stop it."
        ) from error
    except OSError:
        return  # a network folder without locks
