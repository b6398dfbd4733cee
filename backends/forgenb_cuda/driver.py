"""The machine with a GPU: NVIDIA's driver through ctypes, one context, memory from a pool.

Everything is queued on one stream, so copies, launches and reuse of memory happen in the order of the calls; but what
a thread does inside `Gpu.on_stream` is queued on a stream of its own. A launch hands the argument block to the driver
as it is and copies nothing to the device beforehand.
"""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from forgenb.errors import BackendError

from .choice import compute_capability, driver_library
from .pool import Memory, Pool
from .program import Plan
from .streams import NON_BLOCKING, Event, Side

BUFFER_POINTER, BUFFER_SIZE, END = 1, 2, 0
"""CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE, _END: how a launch is given its parameters as one block."""

MULTIPROCESSORS, OUT_OF_MEMORY = 16, 2
"""CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CUDA_ERROR_OUT_OF_MEMORY."""

PACK_EXTENT = struct.Struct("=q")


@dataclass(frozen=True)
class Loaded:
    """A program on the device: its build, and the driver's handle of the function."""

    name: str
    key: str
    text: str
    seconds: float
    cached: bool
    build: object
    function: ctypes.c_void_p


class Gpu:
    """The first GPU that the driver shows (CUDA_VISIBLE_DEVICES chooses)."""

    tile = 16
    streams = 2

    def __init__(self, library=None):
        self._library = library if library is not None else driver_library()
        self._context, self._main = ctypes.c_void_p(), ctypes.c_void_p()
        self._threads, self._forked = _Thread(), False
        device = ctypes.c_int(0)
        self._call("cuInit", 0)
        self._call("cuDeviceGet", ctypes.byref(device), 0)
        self.cc = compute_capability(self._library, device.value)
        count = ctypes.c_int(0)
        self._call("cuDeviceGetAttribute", ctypes.byref(count), MULTIPROCESSORS, device)
        self.grid = 32 * max(count.value, 1)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        self._enter()
        self._call("cuStreamCreate", ctypes.byref(self._main), NON_BLOCKING)
        self.pool = Pool(self._take, self._give, self._fill, self._wait_for_all)
        os.register_at_fork(after_in_child=self._refuse)

    # memory

    def allocate(self, nbytes: int) -> Memory:
        """A block from the pool, which may hold anything."""
        self._enter()
        return Memory(self.pool, nbytes)

    def upload(self, address: int, array: np.ndarray) -> None:
        """Queue a copy; the driver has read pageable host memory when the call returns."""
        self._enter()
        self._call("cuMemcpyHtoDAsync_v2", _u64(address), _pointer(array), _size(array.nbytes), self._stream)

    def download(self, address: int, nbytes: int) -> np.ndarray:
        """The bytes at an address, after everything queued before."""
        self._enter()
        found = np.empty(nbytes, np.uint8)
        self._call("cuMemcpyDtoHAsync_v2", _pointer(found), _u64(address), _size(nbytes), self._stream)
        self.synchronize()
        return found

    def cached_bytes(self) -> int:
        """Bytes that the pool holds and nobody uses."""
        return self.pool.cached_bytes()

    def release_cached(self) -> None:
        """Give unused blocks back to the driver."""
        self._enter()
        self.pool.release()

    def _take(self, nbytes: int) -> int:
        address = ctypes.c_uint64(0)
        code = self._library.cuMemAlloc_v2(ctypes.byref(address), _size(nbytes))
        if code == OUT_OF_MEMORY:
            self.pool.release()
            code = self._library.cuMemAlloc_v2(ctypes.byref(address), _size(nbytes))
        self._check("cuMemAlloc_v2", code, f" of {nbytes} bytes")
        return address.value

    def _give(self, address: int) -> None:
        self._library.cuMemFree_v2(_u64(address))

    def _fill(self, address: int, nbytes: int) -> None:
        self._call("cuMemsetD8Async", _u64(address), ctypes.c_ubyte(255), _size(nbytes), self._stream)

    # streams

    @property
    def _stream(self) -> ctypes.c_void_p:
        """Where this thread queues its work."""
        return self._threads.here or self._main

    @contextmanager
    def on_stream(self) -> Iterator[None]:
        """Queue this thread's work on a stream of its own, which begins after all that the main stream has.

        When it ends, that work has finished, and all threads see its results; an error of a launch comes out here. The
        stream is made when a thread needs it first and goes with the thread. What is freed inside is held back until
        the end (`Pool`).
        """
        self._enter()
        mine = self._threads
        if mine.here is not None:
            yield
            return
        if mine.side is None:
            mine.side = Side(self._library, self._call)
        task = self.pool.begin()
        try:
            mine.side.follow(self._main, self._call)
            mine.here = mine.side.stream
            try:
                yield
            finally:
                mine.here = None
                self._call("cuStreamSynchronize", mine.side.stream)
        finally:
            self.pool.end(task)

    def _wait_for_all(self) -> None:
        self._call("cuCtxSynchronize")

    # programs

    def row_shape(self, rows: int, longest: int) -> tuple[int, tuple[int, int]]:
        """A warp a row, four rows a block, where rows are short; else a block of up to 256 lanes a row."""
        width = min(256, max(32, 1 << max(0, (longest // 4 - 1).bit_length())))
        height = 4 if width == 32 else 1
        return min(self.grid, -(-rows // height)), (width, height)

    def map_shape(self, extent: int) -> tuple[int, tuple[int, int]]:
        """Blocks of 256, enough of them to fill the device; the loop strides over the rest."""
        return min(self.grid, -(-extent // 256)), (256, 1)

    def build(self, plan: Plan) -> Loaded:
        """Compile a program, or take it from the store, and load it."""
        from .built import program

        self._enter()
        made = program(plan, self.cc)
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), made.binary)
        self._call("cuModuleGetFunction", ctypes.byref(function), module, b"launch")
        return Loaded(made.name, made.key, made.text, made.seconds, made.cached, made, function)

    def run(self, program: Loaded, blocks: int, block: tuple[int, int], extent: int, data: bytes) -> None:
        """Queue one launch."""
        self._enter()
        parameters = ctypes.create_string_buffer(PACK_EXTENT.pack(extent) + data, 8 + len(data))
        size = ctypes.c_size_t(8 + len(data))
        extra = (ctypes.c_void_p * 5)(
            BUFFER_POINTER, ctypes.addressof(parameters), BUFFER_SIZE, ctypes.addressof(size), END
        )
        grid = (blocks, 1, 1, *block, 1, 0)
        self._call("cuLaunchKernel", program.function, *map(ctypes.c_uint, grid), self._stream, None, extra)

    def synchronize(self) -> None:
        """Wait until all that this thread's stream has is finished; an error of an earlier launch comes out here."""
        self._enter()
        self._call("cuStreamSynchronize", self._stream)

    def wait(self, stream: int) -> None:
        """Wait until everything queued on another library's stream has finished."""
        self._enter()
        self._call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def event(self) -> Event:
        """A mark in the stream, to measure the time between two."""
        self._enter()
        return Event(self)

    def report(self) -> dict[str, object]:
        """The GPU and the driver."""
        from .choice import driver_version, toolkit_version

        driver, toolkit = driver_version(self._library), toolkit_version()
        return {"machine": f"GPU sm_{self.cc[0]}{self.cc[1]}", "driver": driver, "toolkit": toolkit}

    # the driver

    def _enter(self) -> None:
        """Make the context current in this thread."""
        if self._forked:
            raise BackendError(
                "CUDA does not work in a forked child: start processes with multiprocessing's 'spawn' method, or "
                "choose the backend in the child only"
            )
        if self._threads.entered is not self._context:
            self._call("cuCtxSetCurrent", self._context)
            self._threads.entered = self._context

    def _refuse(self) -> None:
        self._forked = True

    def _call(self, name: str, *arguments) -> None:
        self._check(name, getattr(self._library, name)(*arguments))

    def _check(self, name: str, code: int, detail: str = "") -> None:
        if code:
            text = ctypes.c_char_p()
            self._library.cuGetErrorName(code, ctypes.byref(text))
            known = text.value.decode() if text.value else "an unknown error"
            raise BackendError(f"the CUDA driver's {name}{detail} failed with {known} ({code})")


class _Thread(threading.local):
    """What each thread has: the context that it entered, its own stream, and that stream's handle while it is used."""

    entered: ctypes.c_void_p | None = None
    side: Side | None = None
    here: ctypes.c_void_p | None = None


def _u64(value: int) -> ctypes.c_uint64:
    return ctypes.c_uint64(value)


def _size(value: int) -> ctypes.c_size_t:
    return ctypes.c_size_t(value)


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
