"""The one seam: every launch, allocation, product and copy of the library passes through these functions.

They count (`stats`), compile on first use, note who ran how long while someone traces, and hand everything to a
recorder while a step is being recorded.

Imports the declarations of `forgenb.kernel`. Every launch passes here, so nothing that takes time may be added.
"""

from __future__ import annotations

import threading
import time
from contextvars import ContextVar
from dataclasses import astuple, dataclass

import numpy as np

from ..kernel import Kernel
from .planned import PlannedMemory
from .progress import compiling
from .ready import Ready

RECORDER: ContextVar = ContextVar("forgenb_recorder", default=None)
"""What takes launches down instead of running them, while a step is recorded."""

METERS: list = []
"""Those who count the blocks that are alive; see `forgenb.backend.peak_memory`."""


@dataclass(slots=True)
class Stats:
    """Counts since the process started. ``stats().since(before)`` gives those of a piece of code."""

    launches: int = 0
    products: int = 0
    allocations: int = 0
    bytes_allocated: int = 0
    copies: int = 0
    syncs: int = 0

    def since(self, before: Stats) -> Stats:
        """The difference from an earlier snapshot."""
        return Stats(*(now - then for now, then in zip(astuple(self), astuple(before), strict=True)))


_COUNTS = Stats()
_LAUNCHERS: dict[tuple, object] = {}


class _Trace(threading.local):
    events: list[tuple[str, float]] | None = None


_TRACE = _Trace()
_TRACING: set[int] = set()
"""The threads that trace; while there are none, a launch does not look for its thread's events, which takes longer."""


def stats() -> Stats:
    """A snapshot of the counters: launches, products, allocations, bytes, host copies, synchronisations."""
    return Stats(*astuple(_COUNTS))


def launcher(backend, kernel: Kernel, real: str, storage: tuple[str, ...] = ()):
    """The compiled launcher of `kernel`, from this process, the store, or the compiler."""
    key = (backend, kernel, real, storage)
    found = _LAUNCHERS.get(key)
    if found is None:
        with compiling(kernel.name):
            found = _LAUNCHERS[key] = backend.compile(kernel, real, storage)
    return found


def launch(backend, kernel: Kernel, real: str, storage: tuple[str, ...], extent: int, chunk: int, block: bytes):
    """Launch `kernel` over ``0 .. extent``; nothing happens for an empty extent."""
    if extent == 0:
        return
    found = _LAUNCHERS.get((backend, kernel, real, storage)) or launcher(backend, kernel, real, storage)
    _COUNTS.launches += 1
    if not _TRACING or _TRACE.events is None:
        backend.launch(found, extent, chunk, block)
        return
    started = time.perf_counter()
    backend.launch(found, extent, chunk, block)
    _TRACE.events.append((kernel.name, time.perf_counter() - started))


def launch_ready(ready: Ready, block: bytes, *addresses: int) -> None:
    """Run a launch that was prepared."""
    _COUNTS.launches += 1
    if not _TRACING or _TRACE.events is None:
        ready.call(block, *addresses)
        return
    started = time.perf_counter()
    ready.call(block, *addresses)
    _TRACE.events.append((ready.kernel.name, time.perf_counter() - started))


def launch_new(ready: Ready, block: bytes, nbytes: int, first: int, second: int | None):
    """Allocate, and run a prepared launch of one or two operands that writes there; nothing is being recorded."""
    memory = ready.backend.allocate(nbytes)
    counts = _COUNTS
    counts.launches += 1
    counts.allocations += 1
    counts.bytes_allocated += nbytes
    for meter in METERS:
        meter.add(memory, nbytes)
    events = _TRACE.events if _TRACING else None
    started = 0.0 if events is None else time.perf_counter()
    if second is None:
        ready.call(block, first, memory.address)
    else:
        ready.call(block, first, second, memory.address)
    if events is not None:
        events.append((ready.kernel.name, time.perf_counter() - started))
    return memory


def gemm(backend, *arguments) -> None:
    """A matrix product, see `Backend.gemm`."""
    _COUNTS.products += 1
    started = time.perf_counter()
    backend.gemm(*arguments)
    if _TRACING and _TRACE.events is not None:
        _TRACE.events.append(("gemm", time.perf_counter() - started))


def allocate(backend, nbytes: int):
    """A block of memory that holds anything until it is written."""
    recorder = RECORDER.get()
    if recorder is not None:
        return recorder.allocate(nbytes)
    _COUNTS.allocations += 1
    _COUNTS.bytes_allocated += nbytes
    memory = backend.allocate(nbytes)
    for meter in METERS:
        meter.add(memory, nbytes)
    return memory


def upload(backend, memory, array: np.ndarray) -> None:
    """Copy a host array in row-major order into the start of a block."""
    _COUNTS.copies += 1
    if isinstance(memory, PlannedMemory):
        RECORDER.get().constant(backend, memory, array)
    else:
        backend.upload(memory, array)


def transfer(backend, memory, source, begin: int) -> None:
    """Fill a block from byte `begin` on of another block of the same backend."""
    _COUNTS.copies += 1
    copy = getattr(backend, "copy", None)
    if copy is not None:
        copy(memory, source, begin)
    else:
        backend.upload(memory, host_view(backend, source, np.dtype("uint8"), begin, (memory.nbytes,), (1,)))


def host_view(backend, memory, dtype: np.dtype, offset, shape: tuple, strides: tuple) -> np.ndarray:
    """The elements as a NumPy array, after everything launched has finished."""
    recorder, asked = RECORDER.get(), memory
    if isinstance(memory, PlannedMemory):
        memory, begin = memory.block()
        offset += begin // dtype.itemsize
    if recorder is not None and getattr(asked, "mode", "") != "constant":
        recorder.refuse_read(asked)
    if not isinstance(offset, (int, np.integer)):
        offset = offset.compute()  # of a view at a symbol: raises unless a routine runs
    synchronize(backend)
    return backend.view(memory, dtype, offset, shape, strides)


def synchronize(backend) -> None:
    """Wait until everything launched has finished."""
    _COUNTS.syncs += 1
    backend.synchronize()


def start_trace() -> list[tuple[str, float]] | None:
    """Begin to note (kernel, seconds) of every launch of this thread; returns what `stop_trace` puts back."""
    before, _TRACE.events = _TRACE.events, []
    _TRACING.add(threading.get_ident())
    return before


def take_trace() -> list[tuple[str, float]]:
    """What was noted since the last call."""
    noted, _TRACE.events = _TRACE.events or [], []
    return noted


def stop_trace(before) -> None:
    """End noting, or go back to an outer one."""
    _TRACE.events = before
    if before is None:
        _TRACING.discard(threading.get_ident())
