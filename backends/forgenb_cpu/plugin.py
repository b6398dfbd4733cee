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
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from forgenb.errors import ArgumentError, ShapeError

from .blas import PACK, blas_function, blas_report, blocks_for, gemm_launcher, load_blas, one_thread
from .call import HEADER, MOST_OPERANDS, SLOTS, short_call
from .compile import Compiled, compile_kernel, compiled
from .memory import SMALL, Memory, allocate, cached_bytes, release_cached
from .pool import Pool
from .replay import Replay, replay_function
from .templates import launcher_text, operand_types
from .tiled import bands_for, tiled_launcher, units

CALL = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_char_p)
STORAGE = {"bool": "bool_"}
SERIAL_FLOP = 200_000
MOST_THREADS = 1024
LARGEST = 2**31 - 1
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
        return compile_kernel(kernel, real, tuple(STORAGE.get(s, s) for s in storage))

    def compiled(self) -> list[Compiled]:
        return compiled()

    def source(self, kernel, real: str) -> str:
        storage = tuple(operand_types(kernel, real)) if kernel.form == "map" else ()
        return f"{inspect.getsource(kernel.body)}\n{launcher_text(kernel, real, storage)}"

    def launch(self, launcher: Compiled, extent: int, chunk: int, block: bytes) -> None:
        if extent > chunk and self._threads > 1:
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
        """What holds while products run: OpenBLAS at one thread where it is in use."""
        return one_thread() if self.blas == "scipy" else contextlib.nullcontext()

    def gemm_launch(
        self, real: str, shape: tuple, flags: tuple, scales: tuple, places: tuple, steps: tuple, batch: tuple
    ) -> tuple:
        """A product as a launch: (launcher, extent, chunk, values of the argument block, their packer)."""
        m, n, k = shape
        outer, inner = batch
        if max(*shape, *steps[0]) > LARGEST:
            raise ShapeError(
                f"a product of {m} x {k} and {k} x {n} with steps {steps[0]} between rows is too large: "
                f"BLAS counts to {LARGEST}"
            )
        if self.blas == "tile":
            launcher, pieces, cut = tiled_launcher(real), units(outer * inner, m, n, real), (*bands_for(m), 0, 0)
        else:
            blocks, width, by_rows = blocks_for(outer * inner, m, n)
            launcher, pieces, cut = (
                gemm_launcher(real),
                blocks * outer * inner,
                (blocks, width, by_rows, blas_function(real)),
            )
        a, b, out, bias = places
        beta = 1.0 if bias else scales[1]
        values = [m, n, k, a, b, out, bias, scales[0], beta, *steps[0], *flags, inner, *steps[1], *cut]
        serial = 2 * m * n * k * outer * inner < SERIAL_FLOP
        return launcher, pieces, pieces if serial else max(1, pieces // 16), values, PACK

    def row_bands(self, real: str, shape: tuple, batch: tuple) -> int:
        """Bands of equally many rows that the pieces of a product form, one after the other; 1 where they do not."""
        m, n, _ = shape
        if self.blas == "tile":
            bands, rows = bands_for(m)
            return bands if bands * rows == m else 1
        blocks, width, by_rows = blocks_for(batch[0] * batch[1], m, n)
        return blocks if by_rows and m == blocks * width else 1

    def replay(self, rows: list, stages: list) -> Replay:
        """A program of launches that one call runs; see `Replay`."""
        return Replay(rows, stages, self)

    def replay_tables(self, alone: tuple[int, int], staged: tuple[int, int], shared: bool) -> None:
        """Run one of two tables (address, rows) of a program: that for one thread where nothing is to be shared out,
        or another thread has the pool.
        """
        loop = replay_function()
        if not shared or self._threads < 2 or not self._ready_pool().replay(loop, *staged):
            loop(0, *alone, 1)

    def synchronize(self) -> None:
        """Launches have finished when they return."""

    def memory(self) -> dict[str, int]:
        return {"cached": cached_bytes()}

    def release_cached(self) -> None:
        release_cached()

    def report(self) -> dict[str, object]:
        return {"threads": self._threads, "products": self.blas, **blas_report()}

    def _ready_pool(self) -> Pool:
        with self._lock:
            if self._pool is None:
                self._pool = Pool(self._threads)
            return self._pool

    def _forget_pool(self) -> None:
        self._pool, self._lock = None, threading.Lock()

    def _close(self) -> None:
        self.threads = self._threads


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
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def blas_from_environment() -> str:
    """``FORGENB_BLAS`` (tile or scipy), else the register tile on CPUs with AVX-512, where it is the faster one."""
    chosen = os.environ.get("FORGENB_BLAS", "auto")
    if chosen not in ("auto", "tile", "scipy"):
        raise ArgumentError(f"FORGENB_BLAS must be auto, tile or scipy, got {chosen!r}")
    if chosen != "auto":
        return chosen
    return "tile" if llvm.get_host_cpu_features().get("avx512f") else "scipy"
