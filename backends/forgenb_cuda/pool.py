"""Device memory in size classes: a freed block is handed out again, when nothing that is queued still uses it.

A block that is handed out holds anything; whoever asks writes all of it. With `Poison` on, blocks come filled with NaN,
so that a kernel which reads before anyone wrote shows.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable

from forgenb.backend.sizes import size_class

ALIGN = 256


class Poison:
    """Fill every block that is handed out with the bytes of a NaN; on where FORGENB_CUDA_POISON is 1."""

    on = os.environ.get("FORGENB_CUDA_POISON") == "1"


class Pool:
    """Free blocks by size, for one main stream and tasks on others.

    Parameters
    ----------
    take, give, fill, wait : callable
        ``take(nbytes) -> address`` and ``give(address)`` of the driver, ``fill(address, nbytes)`` with NaN, and
        ``wait()`` until all that is queued on any stream has finished.

    Notes
    -----
    Work on a block may still be queued when it is freed: on the main stream, and on that of any task that runs. So what
    is freed while tasks run is held back until each of them has ended, which is after its stream has finished.
    Whatever is free then has work on the main stream only, queued before it was freed. The main stream itself comes
    after that. So does every task that may get the block, since it began after the block was freed (others have ended),
    and a task begins by waiting for all that the main stream had. No task gets back what it frees itself.
    """

    def __init__(self, take: Callable, give: Callable, fill: Callable, wait: Callable):
        self._take, self._give, self.fill, self._wait = take, give, fill, wait
        self._free: dict[int, list[int]] = {}
        self._held: deque[tuple[int, int, int]] = deque()
        self._running: set[int] = set()
        self._begun = 0
        self._lock = threading.RLock()

    def begin(self) -> int:
        """A task begins, and has not waited for the main stream yet; returns its number."""
        with self._lock:
            self._begun += 1
            self._running.add(self._begun)
            return self._begun

    def end(self, task: int) -> None:
        """A task has ended: nothing is queued on its stream any more."""
        with self._lock:
            self._running.discard(task)
            oldest = min(self._running, default=self._begun + 1)
            while self._held and self._held[0][0] < oldest:
                _, size, address = self._held.popleft()
                self._free.setdefault(size, []).append(address)

    def get(self, size: int) -> int:
        """The address of a block of `size` bytes."""
        with self._lock:
            free = self._free.get(size)
            address = free.pop() if free else self._take(size)
        if Poison.on:
            self.fill(address, size)
        return address

    def put(self, size: int, address: int) -> None:
        """Take a block back."""
        with self._lock:
            if self._running:
                self._held.append((self._begun, size, address))
            else:
                self._free.setdefault(size, []).append(address)

    def cached_bytes(self) -> int:
        """Bytes that nobody uses."""
        with self._lock:
            free = sum(size * len(blocks) for size, blocks in self._free.items())
            return free + sum(size for _, size, _ in self._held)

    def release(self) -> None:
        """Wait for all that is queued, and give the blocks that were unused before to the driver."""
        with self._lock:
            unused = [address for blocks in self._free.values() for address in blocks]
            unused += [address for _, _, address in self._held]
            self._free.clear()
            self._held.clear()
        self._wait()
        for address in unused:
            self._give(address)


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
