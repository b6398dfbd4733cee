"""Blocks of memory at addresses that mean nothing to the host, with margins that nobody may write."""

import bisect
import threading

import numpy as np

BASE = 1 << 52  # beyond what a process can map, so a leaked address faults
MARGIN = 8192
FILL = 0xFF  # NaN in every float dtype


class Space:
    """All blocks that are alive, by address. Addresses are never used twice."""

    def __init__(self):
        self.lock = threading.RLock()
        self.starts = []
        self.buffers = {}
        self.next = BASE

    def add(self, nbytes):
        buffer = np.full(nbytes + 2 * MARGIN, FILL, np.uint8)
        with self.lock:
            address = self.next
            self.next += -(-nbytes // 64) * 64 + (1 << 20)
            self.starts.append(address)
            self.buffers[address] = buffer, nbytes
        return address

    def remove(self, address):
        with self.lock:
            del self.starts[bisect.bisect_left(self.starts, address)]
            buffer, nbytes = self.buffers.pop(address)
        if (buffer[:MARGIN] != FILL).any() or (buffer[MARGIN + nbytes :] != FILL).any():
            raise RuntimeError(f"a kernel wrote outside a block of {nbytes} bytes")

    def find(self, address):
        """(bytes of the block that holds an address, offset of the address in it)."""
        with self.lock:
            place = bisect.bisect_right(self.starts, address) - 1
            start = self.starts[place] if place >= 0 else 0
            buffer, nbytes = self.buffers.get(start, (None, -1))
        if not 0 <= address - start <= nbytes:
            raise RuntimeError(f"address {address:#x} is in no block of this backend that is alive")
        return buffer[MARGIN : MARGIN + nbytes], address - start

    def pointer(self, address):
        """Where an address is on the host; 0 stays 0."""
        if address == 0:
            return 0
        block, offset = self.find(address)
        return block.ctypes.data + offset


class Memory:
    """What forgenb holds of a block."""

    def __init__(self, space, nbytes):
        self.address = space.add(nbytes)
        self.nbytes = nbytes
        self.version = 0
        self._space = space

    def __del__(self):
        self._space.remove(self.address)
