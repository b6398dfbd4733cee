"""The CPU backend: what `forgenb.backend` asks of a plug-in, on top of compile, pool, memory and BLAS.

Imports the other modules of this plug-in and `forgenb.errors`. No op is named here, and no result depends on how
many threads there are.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import inspect
import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from forgenb.backend.host import cores
from forgenb.errors import ArgumentError

from .call import HEADER, MOST_OPERANDS, SLOTS, short_call
from .comparison import product_speeds
from .compile import Compiled, compile_kernel, compiled
from .dispatch import LIBRARIES, blas_from_environment, product_launch, row_bands
from .memory import SMALL, Memory, allocate, cached_bytes, release_cached
from .openblas import load_blas, scipy_library
from .pool import Pool
from .replay import Replay, replay_function
from .templates import NUMBA, launcher_text, operand_types

CALL = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_char_p)
MOST_THREADS = 1024
HELD = 16
"""A launch of less than this part of a chunk, some microseconds, holds Python's lock, which is cheaper."""


class CpuBackend:
    """Numba on the host's cores. See `forgenb.backend.Backend` for what each method promises."""

    name = "cpu"
    host = True

    def __init__(self):
        load_blas()
        self.blas = blas_from_environment()
        self._pool: Pool | None = None
        self._threads = threads_from_environment()
        self._lock = threading.Lock()
        self._calls: dict[int, Any] = {}
        self._alone = _Alone()
        os.register_at_fork(after_in_child=self._forget_pool)
        atexit.register(self._close)

    @property
    def threads(self) -> int:
        """Threads that a large launch uses, the calling one included."""
        return self._threads

    @threads.setter
    def threads(self, number: int) -> None:
        if not isinstance(number, int) or not 1 <= number <= MOST_THREADS:
            raise ArgumentError(f"threads must be a whole number from 1 to {MOST_THREADS}, got {number!r}")
        with self._lock:
            self._threads = int(number)
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def __repr__(self) -> str:
        return f"<backend cpu, threads={self._threads}>"

    allocate = staticmethod(allocate)  # the function itself, which spares each tensor a call

    def upload(self, memory: Memory, array: np.ndarray) -> None:
        if array.nbytes <= SMALL:  # a number beside a tensor, mostly, for which a view would take 3 us
            ctypes.memmove(memory.address, array.tobytes(), array.nbytes)
            return
        strides = np.empty(array.shape, array.dtype).strides
        self.view(memory, array.dtype, 0, array.shape, tuple(s // array.itemsize for s in strides))[...] = array

    def copy(self, memory: Memory, source, begin: int) -> None:
        """Fill a block from byte `begin` of another one."""
        ctypes.memmove(memory.address, source.address + begin, memory.nbytes)

    def view(self, memory: Memory, dtype: np.dtype, offset: int, shape: tuple, strides: tuple) -> np.ndarray:
        return np.asarray(_Exposed(memory, dtype, offset, shape, strides))

    def compile(self, kernel, real: str, storage: tuple[str, ...]) -> Compiled:
        return compile_kernel(kernel, real, tuple(NUMBA.get(s, s) for s in storage))

    def compiled(self) -> list[Compiled]:
        return compiled()

    def source(self, kernel, real: str) -> str:
        storage = tuple(operand_types(kernel, real)) if kernel.form == "map" else ()
        return f"{inspect.getsource(kernel.body)}\n{launcher_text(kernel, real, storage)}"

    def launch(self, launcher: Compiled, extent: int, chunk: int, block: bytes) -> None:
        if extent > chunk and self._threads > 1 and not self._alone.on:
            pool = self._pool or self._ready_pool()
            if pool.run(launcher.address, extent, chunk, block):
                return
        call = self._calls.get(launcher.address)
        if call is None:
            call = self._calls[launcher.address] = CALL(launcher.address)
        call(0, extent, block)

    def prepare(self, launcher: Compiled, extent: int, chunk: int, block: bytes, first: int, step: int, operands: int):
        """A launch without its addresses as (call, header of the block), or None where it goes through `launch`."""
        short = extent <= chunk and len(block) <= 8 * SLOTS and operands <= MOST_OPERANDS
        if not short or type(self).launch is not CpuBackend.launch:
            return None
        nogil = extent * HELD > chunk
        return short_call(operands, nogil), HEADER.pack(launcher.address, extent, len(block) // 8, first, step)

    def gemm(self, *arguments) -> None:
        launcher, extent, chunk, values, packer = self.gemm_launch(*arguments)
        with self.products_alone():
            self.launch(launcher, extent, chunk, packer.pack(*values))

    def products_alone(self) -> contextlib.AbstractContextManager:
        """What holds while products run: a library at one thread where one is in use."""
        return contextlib.nullcontext() if self.blas == "tile" else LIBRARIES[self.blas]()

    def gemm_launch(self, real: str, *arguments, bands: int = 0) -> tuple:
        """A product as a launch: (launcher, extent, chunk, values of the argument block, their packer).

        With `bands`, which divides `row_bands`, its pieces form so many bands of rows, one after the other.
        """
        return product_launch(self.blas, bands, real, *arguments)

    def row_bands(self, *arguments) -> int:
        """Into how many bands of equally many rows a product can be cut with the same bits; 1 where it cannot."""
        return row_bands(self.blas, *arguments)

    def replay(self, rows: list, stages: list) -> Replay:
        """A program of launches that one call runs; see `Replay`."""
        return Replay(rows, stages, self)

    def replay_tables(self, alone: tuple[int, int], staged: tuple[int, int], shared: bool) -> None:
        """Run one of two tables (address, rows) of a program: that for one thread where nothing is to be shared out,
        or another thread has the pool.
        """
        loop = replay_function()
        if not shared or self._threads < 2 or self._alone.on or not self._ready_pool().replay(loop, *staged):
            loop(0, *alone, 1)

    def suggested_streams(self) -> int:
        """A stream keeps one core busy."""
        return self._threads

    @contextlib.contextmanager
    def on_stream(self) -> Iterator[None]:
        """Keep this thread's launches off the pool: other streams have the other cores."""
        before, self._alone.on = self._alone.on, True
        try:
            yield
        finally:
            self._alone.on = before

    def synchronize(self) -> None:
        """Launches have finished when they return."""

    def memory(self) -> dict[str, int]:
        return {"cached": cached_bytes()}

    def release_cached(self) -> None:
        release_cached()

    def report(self) -> dict[str, object]:
        """Threads, what computes products, and the BLAS in use or, with the tile, SciPy's."""
        library = LIBRARIES[self.blas]() if self.blas in LIBRARIES else scipy_library()
        return {"threads": self._threads, "products": self.blas, **library.report}

    def product_speeds(self) -> dict[str, float]:
        """GFLOP/s of a short product by each way that is there."""
        return product_speeds(self)

    def _ready_pool(self) -> Pool:
        with self._lock:
            if self._pool is None:
                self._pool = Pool(self._threads)
            return self._pool

    def _forget_pool(self) -> None:
        self._pool, self._lock = None, threading.Lock()

    def _close(self) -> None:
        self.threads = self._threads


class _Alone(threading.local):
    """Whether a thread's launches stay on it."""

    on = False


class _Exposed:
    """Gives NumPy a strided view of a block and keeps the block alive with it."""

    def __init__(self, memory: Memory, dtype: np.dtype, offset: int, shape: tuple, strides: tuple):
        self.memory = memory
        self.__array_interface__ = {
            "version": 3,
            "typestr": dtype.str,
            "shape": shape,
            "strides": tuple(s * dtype.itemsize for s in strides),
            "data": (memory.address + offset * dtype.itemsize, False),
        }


def threads_from_environment() -> int:
    """``FORGENB_THREADS``, else the cores that this process may run on."""
    text = os.environ.get("FORGENB_THREADS", "")
    if text and not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= MOST_THREADS):
        raise ArgumentError(f"FORGENB_THREADS must be a whole number from 1 to {MOST_THREADS}, got {text!r}")
    if text:
        return int(text)
    return cores()
