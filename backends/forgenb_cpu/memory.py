"""Host memory in size classes: a freed block is handed out again instead of being mapped anew.

A fresh page costs more than the arithmetic on it (about 0.2 us for 4 KiB), so training steps, which ask
for the same sizes over and over, run out of the pool. A block that is handed out holds anything: whoever
asks writes all of it. With `POISON` set, blocks come filled with NaN so that tests see who does not.

Imports NumPy only. What a block means (dtype, shape) is never known here.
"""

from __future__ import annotations

import numpy as np

ALIGN = 64
_FREE: dict[int, list[tuple[int, np.ndarray]]] = {}


class Poison:
    """Test switch: fill every block that is handed out with the bytes of a NaN."""

    on = False


class Memory:
    """A block of at least `nbytes` bytes at `address`, returned to the pool when it is collected."""

    __slots__ = ("__weakref__", "_owner", "_size", "address", "nbytes", "version")

    def __init__(self, nbytes: int):
        size = _size_class(nbytes)
        try:
            self.address, self._owner = _FREE[size].pop()
        except (KeyError, IndexError):
            self._owner = _fresh(size + ALIGN)
            self.address = -(-self._owner.ctypes.data // ALIGN) * ALIGN
        self._size, self.nbytes, self.version = size, nbytes, 0
        if Poison.on:
            self._owner[:] = 255

    def __reduce_ex__(self, protocol):
        raise TypeError("a block of memory cannot be copied or pickled: its address would belong to two")

    def __del__(self):
        if _FREE is not None and hasattr(self, "_size"):
            _FREE.setdefault(self._size, []).append((self.address, self._owner))


def _fresh(nbytes: int) -> np.ndarray:
    """Memory from the operating system; where it has none, the pool's unused blocks go back first."""
    try:
        return np.empty(nbytes, np.uint8)
    except (MemoryError, ValueError):
        release_cached()
    try:
        return np.empty(nbytes, np.uint8)
    except (MemoryError, ValueError):
        raise MemoryError(f"a tensor of {nbytes} bytes does not fit into memory") from None


def _size_class(nbytes: int) -> int:
    """Multiples of 64 bytes up to 4 KiB, then eight classes to a doubling."""
    if nbytes <= 4096:
        return max(ALIGN, -(-nbytes // ALIGN) * ALIGN)
    step = 1 << ((nbytes - 1).bit_length() - 4)
    return -(-nbytes // step) * step


def cached_bytes() -> int:
    """Bytes that the pool holds and nobody uses."""
    return sum(size * len(blocks) for size, blocks in _FREE.items())


def release_cached() -> None:
    """Give unused blocks back to the operating system."""
    _FREE.clear()
