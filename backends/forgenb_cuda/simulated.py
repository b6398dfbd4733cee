"""The machine without a GPU: memory with addresses of its own, and the words of launchers as plain Python.

Addresses are numbers that mean nothing to the host, so that core code which followed one would fault. Each block has a
stretch of them for itself, so threads need no lock to make or find one, and a kernel that leaves its block raises.
Fresh memory is filled with NaN.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from forgenb.errors import BackendError
from forgenb.kernel import primitives
from forgenb.kernel.primitives import Primitive

from .races import Watch, watched

BASE, STRETCH = 0x7E00_0000_0000, 1 << 32
"""The address of the first block, and from one to the next: more than a simulated block has."""


class Memory:
    """A block of at least `nbytes` bytes of the simulated device."""

    __slots__ = ("__weakref__", "_table", "address", "nbytes", "version")

    def __init__(self, table: Table, address: int, nbytes: int):
        self._table, self.address, self.nbytes, self.version = table, address, nbytes, 0

    def __del__(self):
        self._table.free(self.address)


class Table:
    """The blocks of the simulated device, by address."""

    def __init__(self):
        self._numbers = itertools.count()
        self._buffers: dict[int, np.ndarray] = {}

    def allocate(self, nbytes: int) -> Memory:
        """A new block at addresses that were never used before."""
        number = next(self._numbers)
        self._buffers[number] = np.full(nbytes, 255, np.uint8)
        return Memory(self, BASE + number * STRETCH, nbytes)

    def free(self, address: int) -> None:
        """Forget a block; addresses are not used again."""
        self._buffers.pop((address - BASE) // STRETCH, None)

    def bytes_used(self) -> int:
        """Bytes of the blocks that are alive."""
        return sum(buffer.size for buffer in list(self._buffers.values()))

    def bytes_at(self, address: int, nbytes: int) -> np.ndarray:
        """`nbytes` bytes from `address` on, which must lie in one block.

        Raises
        ------
        BackendError
            If they do not.
        """
        number, offset = divmod(address - BASE, STRETCH)
        buffer = self._buffers.get(number)
        if buffer is None or offset + nbytes > buffer.size:
            raise BackendError(f"a kernel reached {nbytes} bytes at {address:#x}, which is outside every live block")
        return buffer[offset : offset + nbytes]

    def array(self, address: int, shape: tuple, dtype: np.dtype) -> np.ndarray:
        """The row-major array at an address."""
        size = int(np.prod(shape, dtype=np.int64))
        raw = self.bytes_at(address, size * dtype.itemsize) if size else np.empty(0, np.uint8)
        return raw.view(dtype).reshape(shape)


class Kind:
    """A dtype as launchers use it: called, it converts; C's rules, so that a NaN becomes some integer in silence."""

    def __init__(self, dtype):
        self.dtype = np.dtype(dtype)

    def __call__(self, value):
        return value if type(value) is self.dtype.type else np.asarray(value).astype(self.dtype)[()]


_NAMES = ("int64", "uint32", "uint16", "int32", "uint8", "float32", "float64")
TYPES = {name: Kind(name) for name in _NAMES} | {"bool_": Kind("bool")}
TOGETHER = ("lane_sum", "lane_max", "lane_barrier")
"""Words at which the lanes of a block meet."""


class Words:
    """What a launcher and its body call, for one kernel; `scope` is the launcher's namespace, which holds ``cuda``."""

    def __init__(self, table: Table, scope: dict):
        self.table, self.scope = table, scope
        self.watch: Watch | None = None

    @property
    def cuda(self):
        """Numba's simulated module, or the lane interpreter's grid."""
        return self.scope["cuda"]

    def lanes(self, n):
        return range(self.cuda.threadIdx.x, n, self.cuda.blockDim.x)

    def lane_number(self):
        return self.cuda.threadIdx.x

    def rows_here(self, extent):
        cuda = self.cuda
        start = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        return range(start, extent, cuda.gridDim.x * cuda.blockDim.y)

    def elements_here(self, extent):
        cuda = self.cuda
        start = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        return range(start, extent, cuda.gridDim.x * cuda.blockDim.x)

    def lane_barrier(self):
        self.cuda.syncthreads()

    def lane_sum(self, s):
        parts = self.cuda.shared.array(1024, self.scope["real_kind"].dtype)
        return self._combined(parts, s, lambda a, b: a + b)

    def lane_max(self, m):
        parts = self.cuda.shared.array(1024, self.scope["real_kind"].dtype)
        return self._combined(parts, m, primitives.maximum)

    def _combined(self, parts, value, join: Callable):
        cuda = self.cuda
        parts[cuda.threadIdx.x] = value
        cuda.syncthreads()
        found = tree([parts[lane] for lane in range(cuda.blockDim.x)], join)
        cuda.syncthreads()
        return found

    def fetch(self, address, index, kind):
        place = address + index * kind.dtype.itemsize
        if self.watch is not None:
            self.watch.read(place)
        return self.table.bytes_at(place, kind.dtype.itemsize).view(kind.dtype)[0]

    def hand(self, address, index, value):
        place = address + index * value.dtype.itemsize
        if self.watch is not None:
            self.watch.write(place, value)
        self.table.bytes_at(place, value.dtype.itemsize).view(value.dtype)[0] = value

    def array_at(self, address, shape, kind):
        found = self.table.array(address, shape, kind.dtype)
        return found if self.watch is None else watched(found, address, self.watch)

    def quotient(self, a, b):
        return a // b

    def primitives_for(self, real: str) -> dict[str, object]:
        """Every primitive for kernels of one dtype: its plain meaning, or what lanes do together."""
        column = np.float32 if real == "float32" else np.float64
        words = {v.name: v for v in vars(primitives).values() if isinstance(v, Primitive)}
        table = {name: _OfDtype(word, column) if word.of_dtype else word for name, word in words.items()}
        return table | {name: getattr(self, name) for name in ("lanes", *TOGETHER)}

    def launcher(self) -> dict[str, object]:
        """What launcher texts call besides the body."""
        names = "fetch hand array_at quotient lane_number rows_here elements_here"
        return {name: getattr(self, name) for name in names.split()} | {"fma": primitives.fma}


class _OfDtype:
    """A primitive whose result has the kernel's dtype."""

    def __init__(self, word: Primitive, real):
        self.word, self.real = word, real

    def __call__(self, *args):
        return self.real(self.word(*args))


def tree(values: list, join: Callable):
    """What the shuffles of a warp and the sum over warps make of the lanes' values, in the same order."""
    warps = [_halved(values[start : start + 32], join) for start in range(0, len(values), 32)]
    total = warps[0]
    for value in warps[1:]:
        total = join(total, value)
    return total


def _halved(values: list, join: Callable):
    while len(values) > 1:
        half = len(values) // 2
        values = [join(a, b) for a, b in zip(values[:half], values[half:], strict=True)]
    return values[0]
