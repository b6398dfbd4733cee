"""The one thread pool: chunks of a launch, claimed by whoever is free.

A job lives in a row of atomic slots. The launching thread opens it, claims chunks like everyone else,
closes it when none is left, and waits only for workers that had entered: never for one that the
operating system has not scheduled. Chunk bounds do not depend on who runs them, so neither do bits.

A worker spins for a moment after its last chunk, then sleeps on a Python lock until a job wakes it. While a
program runs it does not sleep: only the program's start would wake it.
A second Python thread that launches meanwhile runs its chunks alone. A forked child starts without
workers and makes its own. The threads start at the first launch that is worth splitting.

Imports Numba, `atomic` and `compile`. It knows launchers as addresses; nothing here may wait for a thread that has
not begun.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading

import numpy as np
from numba import types as nt

from .atomic import INTRINSICS
from .compile import build

NAMES = ("GENERATION", "OPEN", "FUNCTION", "EXTENT", "CHUNK", "ARGS", "NEXT", "INSIDE", "STOP", "YIELD", "TAKEN")
SLOT = {name: number for number, name in enumerate(NAMES)}
SPACING = 8  # slots, so that no two share a cache line
SPINS, YIELDS = 3000, 2000

CLAIM = """\
{0}function, extent = atomic_load(job, FUNCTION), atomic_load(job, EXTENT)
{0}chunk, args = atomic_load(job, CHUNK), atomic_load(job, ARGS)
{0}begin = atomic_add(job, NEXT, chunk)
{0}while begin < extent:
{0}    call_launcher(function, begin, min(begin + chunk, extent), args)
{0}    begin = atomic_add(job, NEXT, chunk)
"""

WORK = f"""\
def launch(job, seen, spins):
    quiet = int64(0)
    while (quiet < spins or atomic_load(job, TAKEN)) and not atomic_load(job, STOP):
        generation = atomic_load(job, GENERATION)
        if generation == seen:
            quiet += 1
            pause()
            if quiet > SPINS:
                call_plain(atomic_load(job, YIELD))
        else:
            seen, quiet = generation, int64(0)
            atomic_add(job, INSIDE, int64(1))
            if atomic_load(job, OPEN):
{CLAIM.format(" " * 16)}
            atomic_add(job, INSIDE, int64(-1))
    return seen
"""

OPEN = """\
{0}atomic_store(job, FUNCTION, function)
{0}atomic_store(job, EXTENT, extent)
{0}atomic_store(job, CHUNK, chunk)
{0}atomic_store(job, ARGS, args)
{0}atomic_store(job, NEXT, int64(0))
{0}atomic_store(job, OPEN, int64(1))
{0}atomic_add(job, GENERATION, int64(1))
"""

FINISH = """\
{0}atomic_store(job, OPEN, int64(0))
{0}quiet = int64(0)
{0}while atomic_load(job, INSIDE):
{0}    quiet += 1
{0}    pause()
{0}    if quiet > SPINS:
{0}        call_plain(atomic_load(job, YIELD))
"""

RUN = f"""\
def launch(job, function, extent, chunk, args):
{OPEN.format(" " * 4)}
{CLAIM.format(" " * 4)}
{FINISH.format(" " * 4)}
"""

LOOPS = {"SPINS": SPINS, **INTRINSICS} | {n: v * SPACING for n, v in SLOT.items()}


class Pool:
    """`threads` threads in all, the launching one included."""

    def __init__(self, threads: int):
        self.threads = threads
        integers = (nt.int64,) * 5
        work = build("pool_work", WORK, {}, LOOPS, nt.int64(*integers[:3]))
        run = build("pool_run", RUN, {}, LOOPS, nt.void(*integers))
        self._work = ctypes.CFUNCTYPE(*(ctypes.c_int64,) * 4)(work.address)
        self._run = ctypes.CFUNCTYPE(None, *(ctypes.c_int64,) * 4, ctypes.c_char_p)(run.address)
        self._state = np.zeros(len(SLOT) * SPACING, np.int64)
        self._job = self._state.ctypes.data
        self._state[SLOT["YIELD"] * SPACING] = ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value or 0
        self._busy = threading.Lock()
        self._sleeping: list[threading.Semaphore] = []
        self._workers: list[threading.Thread] = []

    def run(self, function: int, extent: int, chunk: int, args: bytes) -> bool:
        """Run all chunks of a launch; False, and nothing done, where another thread has the pool."""
        return self._with_workers(self._run, function, extent, chunk, args)

    def replay(self, loop, table: int, count: int) -> bool:
        """Run a table of launches by the compiled `loop`; False where another thread has the pool."""
        return self._with_workers(loop, table, count, self.threads)

    def _with_workers(self, function, *arguments) -> bool:
        if not self._busy.acquire(blocking=False):
            return False
        try:
            if self._closed:
                return False
            while len(self._workers) < self.threads - 1:
                self._start()
            self._state[SLOT["TAKEN"] * SPACING] = 1
            self._wake()
            function(self._job, *arguments)
        finally:
            self._state[SLOT["TAKEN"] * SPACING] = 0
            self._busy.release()
        return True

    def _start(self) -> None:
        worker = threading.Thread(target=self._live, name="forgenb-cpu", daemon=True)
        try:
            worker.start()
        except RuntimeError:  # the system gives no more threads, or the interpreter is about to end
            self.threads = len(self._workers) + 1
        else:
            self._workers.append(worker)

    def _wake(self) -> None:
        while self._sleeping:
            with contextlib.suppress(IndexError):
                self._sleeping.pop().release()

    def _live(self) -> None:
        seen, awake = 0, threading.Semaphore(0)
        while not self._closed:
            seen = self._work(self._job, seen, SPINS + YIELDS)
            self._sleeping.append(awake)
            if self._state[SLOT["TAKEN"] * SPACING]:  # a program began while this thread was on its way here
                awake.acquire(blocking=False)
                with contextlib.suppress(ValueError):
                    self._sleeping.remove(awake)
            else:
                awake.acquire()

    @property
    def _closed(self) -> bool:
        return bool(self._state[SLOT["STOP"] * SPACING])

    def close(self) -> None:
        """Stop and join the workers, after the launch that runs now; later launches are not taken."""
        running = self._busy.acquire(timeout=1)
        self._state[SLOT["STOP"] * SPACING] = 1
        if running:
            self._busy.release()
        for worker in self._workers:
            while worker.is_alive():
                self._wake()
                worker.join(0.001)
        self._workers.clear()
