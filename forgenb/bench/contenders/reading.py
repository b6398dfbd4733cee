"""A process that only reads: as many bytes of memory as a model's weights have, or of its file.

Imports NumPy, whose passes let go of the interpreter's lock.
"""

from __future__ import annotations

import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from . import worker
from .loading import bits

__all__ = ["ReadingWorker", "main"]

LEAST = 1 << 28
"""Bytes that are read in one go at least, so that starting the threads does not count."""
TIMES = 5
"""How often that is done in a turn."""
PIECE = 1 << 20
"""Bytes of a file that are read at a time: what caches hold."""
ALIGN = 64
"""Of a buffer: where its address does not agree with the place in the file, copying from the cache takes longer."""
LENGTH = 8
"""Bytes at the start of a safetensors file, which say how many its header has."""


class ReadingWorker:
    """What others are held against."""

    def __init__(self, contender: str, threads: int):
        self.threads = threads
        self._buffer = np.zeros(0, np.uint8)

    def weights(self, nbytes: int) -> dict:
        """Milliseconds in which all threads together read a buffer of so many bytes once: the median of some goes."""
        buffer, passes = self._touched(nbytes), -(-LEAST // nbytes)

        def read(part: np.ndarray) -> None:
            for _ in range(passes):
                part.max()  # the fastest of NumPy's passes

        parts, seconds = np.array_split(buffer, self.threads), []
        with ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(len, parts))  # starts the threads
            for _ in range(TIMES):
                began = time.perf_counter()
                list(pool.map(read, parts))
                seconds.append(time.perf_counter() - began)
        return {"ms": statistics.median(seconds) / passes * 1e3}

    def run(self, file: str, anew: bool) -> dict:
        """Milliseconds of reading a file into memory that is new, or into a buffer that has been written before."""
        nbytes = os.path.getsize(file)
        buffer = None if anew else self._touched(nbytes)
        began = time.perf_counter()
        if buffer is None:
            buffer = _aligned(nbytes)
        _read(file, buffer)
        return {"ms": (time.perf_counter() - began) * 1e3}

    def bits(self, file: str) -> dict:
        """A number that all bits of the tensors in a safetensors file are in."""
        buffer = np.empty(os.path.getsize(file), np.uint8)
        _read(file, buffer)
        header = int.from_bytes(buffer[:LENGTH].tobytes(), "little")
        return {"bits": bits([buffer[LENGTH + header :]])}

    def _touched(self, nbytes: int) -> np.ndarray:
        if len(self._buffer) != nbytes:
            self._buffer = _aligned(nbytes)
            self._buffer[:] = 1
        return self._buffer


def _aligned(nbytes: int) -> np.ndarray:
    """Memory at a multiple of `ALIGN`, with anything in it."""
    whole = np.empty(nbytes + ALIGN, np.uint8)
    begin = -whole.ctypes.data % ALIGN
    return whole[begin : begin + nbytes]


def _read(file: str, buffer: np.ndarray) -> None:
    """The bytes of a file, which must be as many as `buffer` has."""
    done = 0
    with open(file, "rb", buffering=0) as source:
        while done < len(buffer):
            count = source.readinto(buffer.data[done : done + PIECE])
            if not count:
                raise OSError(f"{file!r} has ended after {done} of {len(buffer)} bytes")
            done += count


def main() -> None:
    """Answer what comes on the standard input."""
    worker.main(ReadingWorker)
