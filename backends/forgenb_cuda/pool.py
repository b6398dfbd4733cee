"""Device memory in size classes: a freed block is handed out again, in the order of the one stream.

A block that is handed out holds anything; whoever asks writes all of it. With `Poison` on, blocks come filled with NaN,
so that a kernel which reads before anyone wrote shows.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from forgenb.backend.sizes import size_class

ALIGN = 256


class Poison:
    """Fill every block that is handed out with the bytes of a NaN; on where FORGENB_CUDA_POISON is 1."""

    on = os.environ.get("FORGENB_CUDA_POISON") == "1"


class Pool:
    """Free blocks by size.

    Parameters
    ----------
    take, give, fill : callable
        ``take(nbytes) -> address`` and ``give(address)`` of the driver, and ``fill(address, nbytes)`` with NaN.
    """

    def __init__(self, take: Callable, give: Callable, fill: Callable):
        self._take, self._give, self.fill = take, give, fill
        self._free: dict[int, list[int]] = {}
        self._lock = threading.RLock()

    def get(self, size: int) -> int:
        """The address of a block of `size` bytes."""
        with self._lock:
            free = self._free.get(size)
            address = free.pop() if free else self._take(size)
        if Poison.on:
            self.fill(address, size)
        return address

    def put(self, size: int, address: int) -> None:
        """Take a block back; work that is queued on it still runs before whatever uses it next."""
        with self._lock:
            self._free.setdefault(size, []).append(address)

    def cached_bytes(self) -> int:
        """Bytes of the free blocks."""
        with self._lock:
            return sum(size * len(blocks) for size, blocks in self._free.items())

    def release(self) -> None:
        """Give the free blocks back to the driver."""
        with self._lock:
            for blocks in self._free.values():
                for address in blocks:
                    self._give(address)
            self._free.clear()


class Memory:
    """A block of at least `nbytes` bytes, returned to the pool when it is collected."""

    __slots__ = ("__weakref__", "_pool", "_size", "address", "nbytes", "version")

    def __init__(self, pool: Pool, nbytes: int):
        self._pool, self._size = pool, size_class(nbytes, ALIGN)
        self.nbytes, self.version = nbytes, 0
        self.address = pool.get(self._size)

    def __del__(self):
        if getattr(self, "address", None) is not None:
            self._pool.put(self._size, self.address)
