"""Pages from the operating system for large blocks of memory.

A large block has pages of its own: what others allocate never lies between two of them, so that memory that is given
back is free at once. Imports NumPy only.
"""

from __future__ import annotations

import mmap

import numpy as np

OWN = 1 << 18
"""Bytes from which a block has pages of its own."""

LARGE = 1 << 22
"""Bytes from which the system is asked for large pages, which are touched and found with fewer faults."""


def fresh(nbytes: int) -> np.ndarray:
    """Bytes that hold anything.

    Raises
    ------
    MemoryError
        If the system has none.
    """
    if nbytes < OWN or not hasattr(mmap, "MAP_PRIVATE"):
        return np.empty(nbytes, np.uint8)
    try:
        pages = mmap.mmap(-1, nbytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError):
        raise MemoryError(f"the system has no {nbytes} bytes") from None
    if nbytes >= LARGE and hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.uint8)
