"""Memory of the interpreter: NumPy buffers behind an address space of their own.

Addresses are made up: they only name a place in a block. An array is cut out of its block with a check of
both ends, so that a wrong offset, stride or length is an error here and not a silent read of something
else. Each block has a stretch of addresses of its own, so threads need no lock to make or find one, and what it
does not fill belongs to none. A new block holds NaN until it is written.

Imports NumPy and the errors; kernels are not known here.
"""

from __future__ import annotations

import itertools
import weakref

import numpy as np

from forgenb.errors import BackendError

STRETCH = 1 << 32
"""Addresses from one block to the next."""
UNWRITTEN = 255
"""Every byte of a new block: as a float it is NaN, as an int -1."""


class Memory:
    """A block of `nbytes` bytes at a made-up `address`."""

    __slots__ = ("__weakref__", "address", "buffer", "nbytes", "space", "version")

    def __init__(self, space: Space, address: int, nbytes: int):
        self.space, self.address, self.nbytes, self.version = space, address, nbytes, 0
        self.buffer = np.full(nbytes, UNWRITTEN, np.uint8)

    def __del__(self):
        self.space.forget(self.address)


class Space:
    """All blocks that are alive, by number; numbers grow and are never used twice."""

    def __init__(self):
        self._numbers = itertools.count(1)
        self._blocks: dict[int, weakref.ref[Memory]] = {}

    def allocate(self, nbytes: int) -> Memory:
        """A new block.

        Raises
        ------
        BackendError
            If it does not fit into a stretch.
        """
        if nbytes >= STRETCH:
            raise BackendError(
                f"the python backend has blocks below {STRETCH} bytes, and was asked for one of {nbytes}: interpreted, "
                "they would need hours, so use another backend"
            )
        number = next(self._numbers)
        memory = Memory(self, number * STRETCH, nbytes)
        self._blocks[number] = weakref.ref(memory)
        return memory

    def forget(self, address: int) -> None:
        """Drop a block that nobody holds any more."""
        self._blocks.pop(address // STRETCH, None)

    def array(self, address: int, dtype: np.dtype, shape: tuple, strides: tuple) -> np.ndarray:
        """The elements at `address`, a view of its block; strides count elements.

        Raises
        ------
        IndexError
            If any element lies outside the block.
        """
        if 0 in shape:
            return np.empty(shape, dtype)  # an empty operand may have no block at all
        found = self._blocks.get(address // STRETCH)
        memory = found() if found is not None else None
        if memory is None:
            raise IndexError(f"address {address:#x} is in no block of the python backend's memory")
        return cut(memory, address - memory.address, dtype, shape, strides)


def cut(memory: Memory, start: int, dtype: np.dtype, shape: tuple, strides: tuple) -> np.ndarray:
    """A view of `memory` from byte `start`, after a check of both its ends."""
    if 0 in shape:
        return np.empty(shape, dtype)
    steps = tuple(s * dtype.itemsize for s in strides)
    reach = [(n - 1) * step for n, step in zip(shape, steps, strict=True)]
    low = start + sum(r for r in reach if r < 0)
    high = start + sum(r for r in reach if r > 0) + dtype.itemsize
    if low < 0 or high > memory.nbytes:
        raise IndexError(
            f"{dtype.name}{list(shape)} with strides {list(strides)} takes bytes {low} to {high} of a block of "
            f"{memory.nbytes}"
        )
    return np.ndarray(shape, dtype, memory.buffer, start, steps)
