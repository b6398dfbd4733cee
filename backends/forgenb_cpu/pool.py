"""The one thread pool: chunks of a launch, claimed by whoever is free.

A job lives in a row of atomic slots. The launching thread opens it, claims chunks like everyone else,
closes it when none is left, and waits only for workers that had entered: never for one that the
operating system has not scheduled. Chunk bounds do not depend on who runs them, so neither do bits.

A worker spins for a moment after its last chunk, then sleeps on a Python lock until a job wakes it.
A second Python thread that launches meanwhile runs its chunks alone. A forked child starts without
workers and makes its own. The threads start at the first launch that is worth splitting.

Imports Numba, `atomic` and `compile`. It knows launchers as addresses; nothing here may wait for a thread that has
not begun.
"""

from __future__ import annotations

import ctypes
import threading

import numpy as np
from numba import types as nt

from .atomic import INTRINSICS
from .compile import build

NAMES = ("GENERATION", "OPEN", "FUNCTION", "EXTENT", "CHUNK", "ARGS", "NEXT", "INSIDE", "STOP", "YIELD")
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
    while quiet < spins and not atomic_load(job, STOP):
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

RUN = f"""\
def launch(job, function, extent, chunk, args):
    atomic_store(job, FUNCTION, function)
    atomic_store(job, EXTENT, extent)
    atomic_store(job, CHUNK, chunk)
    atomic_store(job, ARGS, args)
    atomic_store(job, NEXT, int64(0))
    atomic_store(job, OPEN, int64(1))
    atomic_add(job, GENERATION, int64(1))
{CLAIM.format(" " * 4)}
    atomic_store(job, OPEN, int64(0))
    quiet = int64(0)
    while atomic_load(job, INSIDE):
        quiet += 1
        pause()
        if quiet > SPINS:
            call_plain(atomic_load(job, YIELD))
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
        if not self._busy.acquire(blocking=False):
            return False
        try:
            while len(self._workers) < self.threads - 1:
                self._start()
            while self._sleeping:
                self._sleeping.pop().release()
            self._run(self._job, function, extent, chunk, args)
        finally:
            self._busy.release()
        return True

    def _start(self) -> None:
        worker = threading.Thread(target=self._live, name="forgenb-cpu", daemon=True)
        self._workers.append(worker)
        worker.start()

    def _live(self) -> None:
        seen, awake = 0, threading.Semaphore(0)
        while not self._state[SLOT["STOP"] * SPACING]:
            seen = self._work(self._job, seen, SPINS + YIELDS)
            self._sleeping.append(awake)
            awake.acquire()

    def close(self) -> None:
        """Stop and join the workers."""
        self._state[SLOT["STOP"] * SPACING] = 1
        for worker in self._workers:
            while worker.is_alive():
                while self._sleeping:
                    self._sleeping.pop().release()
                worker.join(0.001)
        self._workers.clear()
