"""Host memory in size classes: a freed block is handed out again instead of being mapped anew.

A fresh page costs more than the arithmetic on it (about 0.2 us for 4 KiB), so training steps, which ask
for the same sizes over and over, run out of the pool. A block that is handed out holds anything: whoever
asks writes all of it. With `POISON` set, blocks come filled with NaN so that tests see who does not.

Imports `pages` and size classes. What a block means (dtype, shape) is never known here.
"""

from __future__ import annotations

import numpy as np

from forgenb.backend.sizes import EXACT, size_class

from .pages import fresh

ALIGN = 64
SMALL = EXACT


class Poison:
    """Test switch: fill every block that is handed out with the bytes of a NaN."""

    on = False


class Memory:
    """A block of at least `nbytes` bytes at `address`, returned to the pool when it is collected. See `allocate`."""

    __slots__ = ("__weakref__", "_block", "_home", "address", "nbytes", "version")

    address: int
    nbytes: int
    version: int
    _home: list[tuple[int, np.ndarray]]
    _block: tuple[int, np.ndarray]

    def __reduce_ex__(self, protocol):
        raise TypeError("a block of memory cannot be copied or pickled: its address would belong to two")

    def __del__(self):
        self._home.append(self._block)


def allocate(nbytes: int) -> Memory:
    """A block from the pool or from the system; it is filled in here, since a constructor costs another 0.1 us."""
    home = _FREE[nbytes]
    try:
        block = home.pop()
    except IndexError:
        block = _fresh(size_class(nbytes, ALIGN))
    if Poison.on:
        block[1][:] = 255
    made = Memory()
    made._home = home
    made._block = block
    made.address = block[0]
    made.nbytes = nbytes
    made.version = 0
    return made


class _Pool(dict):
    """Size that is asked for -> unused blocks of its class. Small sizes are entered themselves, to be found at once."""

    def __missing__(self, nbytes: int) -> list[tuple[int, np.ndarray]]:
        found = self.setdefault(size_class(nbytes, ALIGN), [])
        return self.setdefault(nbytes, found) if nbytes <= SMALL else found


_FREE = _Pool()


def _fresh(size: int) -> tuple[int, np.ndarray]:
    """Memory from the operating system; where it has none, the pool's unused blocks go back first."""
    for last in (False, True):
        try:
            owner = fresh(size + ALIGN)
            return -(-owner.ctypes.data // ALIGN) * ALIGN, owner
        except (MemoryError, ValueError):
            if last:
                raise MemoryError(f"a tensor of {size} bytes does not fit into memory") from None
            release_cached()
    raise AssertionError("unreachable")


def cached_bytes() -> int:
    """Bytes that the pool holds and nobody uses."""
    return sum(size * len(blocks) for size, blocks in list(_FREE.items()) if size == size_class(size, ALIGN))


def release_cached() -> None:
    """Give unused blocks back to the operating system."""
    for blocks in list(_FREE.values()):
        blocks.clear()
