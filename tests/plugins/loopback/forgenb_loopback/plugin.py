"""The backend: forgenb's CPU kernels on translated addresses, with every transfer counted."""

import numpy as np

from forgenb.backend import get_backend
from forgenb.kernel import map_block, read_map_block, read_row_block, row_block

from .memory import Memory, Space


class LoopbackBackend:
    """See `forgenb.backend.Backend`."""

    name = "loopback"
    host = False
    threads = 1

    def __init__(self):
        self.space = Space()
        self.compiler = get_backend("cpu")
        self.uploads = self.downloads = 0
        self._kernels = {}

    def allocate(self, nbytes):
        return Memory(self.space, nbytes)

    def upload(self, memory, array):
        self.uploads += 1
        block, offset = self.space.find(memory.address)
        block[offset : offset + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)

    def view(self, memory, dtype, offset, shape, strides):
        self.downloads += 1
        block, start = self.space.find(memory.address)
        flat = block[start : start + block.nbytes // dtype.itemsize * dtype.itemsize].view(dtype)
        steps = tuple(s * dtype.itemsize for s in strides)
        if 0 in shape:
            return np.empty(shape, dtype)
        return np.lib.stride_tricks.as_strided(flat[offset:], shape, steps).copy()

    def compile(self, kernel, real, storage):
        launcher = self.compiler.compile(kernel, real, storage)
        self._kernels[id(launcher)] = kernel
        return launcher

    def compiled(self):
        return []

    def source(self, kernel, real):
        return self.compiler.source(kernel, real)

    def launch(self, launcher, extent, chunk, block):
        self.compiler.launch(launcher, extent, chunk, self.translated(self._kernels[id(launcher)], block))

    def translated(self, kernel, block):
        """The argument block with the host's pointers in place of this backend's addresses."""
        pointer = self.space.pointer
        if kernel.form == "row":
            found = read_row_block(kernel, block)
            addresses = map(pointer, found.addresses)
            return row_block(kernel).pack(*found.sizes.values(), *found.scalars, *addresses)
        found = read_map_block(kernel, block)
        operands = [slot for address, strides in found.operands for slot in (pointer(address), *strides)]
        packer = map_block(kernel, len(found.dims))
        return packer.pack(*found.scalars, len(found.dims), found.limit, *found.dims, *operands)

    def gemm(self, real, shape, flags, scales, places, steps, batch):
        places = tuple(map(self.space.pointer, places))
        self.compiler.gemm(real, shape, flags, scales, places, steps, batch)

    def synchronize(self):
        pass
