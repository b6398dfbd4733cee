"""Replay a linked program in one call: a table of launchers, run in order, or stage by stage over the pool.

A row of the table is (function, extent, chunk, address of the argument block). A stage that is shared out is a row
whose function runs tasks: each a stretch of calls (function, begin, end, address). Numbers that change from run to run
are written into the blocks before the call.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Callable

import numpy as np
from numba import types as nt

from .blocks import INTRINSICS as LOADS
from .compile import assembly, build
from .pool import CLAIM, FINISH, LOOPS, OPEN, SPACING

REPLAY = f"""\
def launch(job, table, count, threads):
    for number in range(count):
        row = table + number * 32
        function, extent = atomic_load(row, 0), atomic_load(row, 1)
        chunk, args = atomic_load(row, 2), atomic_load(row, 3)
        if threads <= 1 or extent <= chunk:
            call_launcher(function, 0, extent, args)
        else:
{OPEN.format(" " * 12)}
{CLAIM.format(" " * 12)}
{FINISH.format(" " * 12)}
"""

TASKS = f"""\
def launch(begin, end, args):
    calls, taken = load(args, 0, int64), load(args, 1, int64)
    tasks, homes, seats = load(args, 2, int64), load(args, 3, int64), load(args, 4, int64)
    for seat in range(begin, end):
        for number in range(tasks):
            task = (seat * homes // seats + number) % tasks
            if atomic_add(taken, task * {SPACING}, int64(1)) % seats == 0:
                for call in range(load(args, task + 5, int64), load(args, task + 6, int64)):
                    row = calls + call * 32
                    call_launcher(load(row, 0, int64), load(row, 1, int64), load(row, 2, int64), load(row, 3, int64))
"""

SERIAL = 100_000.0
"""Nanoseconds of work below which a stage stays on one thread: what another core wrote last comes slowly."""

FETCHED = 30_000.0
"""The same for products of one row, which wait for weights: any core reads those as fast as another."""


class Replay:
    """A program that is ready to run.

    Parameters
    ----------
    rows : list
        (launcher, extent, chunk, values, packer) in order; a value may be a function that gives it.
    stages : list of Stage
        What of it may run side by side.
    backend : CpuBackend
        Whose pool runs it.
    """

    def __init__(self, rows: list, stages: list, backend):
        self.backend, self.launchers = backend, [row[0] for row in rows]
        self._late: dict[Callable, tuple[list[int], list[int]]] = {}
        sizes = [packer.size for *_, packer in rows]
        starts = np.cumsum([0, *sizes])
        self._blocks = np.zeros(max(1, int(starts[-1]) // 8), np.int64)
        self._floats = self._blocks.view(np.float64)
        self._table = np.zeros((max(1, len(rows)), 4), np.int64)  # one thread runs it as it is
        base = self._blocks.ctypes.data
        for number, (launcher, extent, chunk, values, packer) in enumerate(rows):
            start = int(starts[number])
            self._fill(start, values, packer)
            self._table[number] = launcher.address, extent, chunk, base + start
        self._staged, self._keep = _staged(self._table, stages, backend.threads)
        self._start, self._shared = self._table.ctypes.data, bool(self._keep)
        self._places = (self._start, len(rows)), (self._staged.ctypes.data, len(self._staged))
        self._patches = [(f, _slots(i), _slots(d)) for f, (i, d) in self._late.items()]
        self._products = not isinstance(backend.products_alone(), contextlib.nullcontext)

    def _fill(self, start: int, values: list, packer) -> None:
        kinds = packer.format.lstrip("=")
        plain = []
        for slot, (value, kind) in enumerate(zip(values, kinds, strict=True)):
            if callable(value):
                places = self._late.setdefault(value, ([], []))
                places[kind == "d"].append(start // 8 + slot)
                value = 0
            plain.append(value)
        packer.pack_into(self._blocks, start, *plain)

    def execute(self) -> None:
        """Run every row, after `prepare`."""
        if not self._products:
            self.backend.replay_tables(*self._places, self._shared)
            return
        with self.backend.products_alone():
            self.backend.replay_tables(*self._places, self._shared)

    def prepare(self) -> None:
        """Compute the late numbers."""
        for compute, integers, floats in self._patches:
            value = compute()
            if integers is not None:
                self._blocks[integers] = value
            if floats is not None:
                self._floats[floats] = value

    def step(self, position: int) -> None:
        """Run one row, after `prepare`."""
        row, small = self._rows[position]
        with self.backend.products_alone():
            self.backend.replay_tables((row, 1), (row, 1), not small)

    @functools.cached_property
    def _rows(self) -> list[tuple[int, bool]]:
        """Address of each row, and whether its launch is one chunk, which wakes no other thread."""
        table = self._table.tolist()
        return [(self._start + 32 * n, extent <= chunk) for n, (_, extent, chunk, _) in enumerate(table)]

    def source(self) -> str:
        """The text of every launcher in it."""
        return "\n".join(dict.fromkeys(f"# {launcher.name}\n{launcher.text}" for launcher in self.launchers))

    def assembly(self) -> str:
        """The machine code of every launcher in it, as text."""
        return "\n".join(f"# {launcher.name}\n{assembly(launcher)}" for launcher in dict.fromkeys(self.launchers))


def _slots(found: list[int]) -> int | np.ndarray | None:
    """Where a late number goes; one place is written faster by its number than by an array of one."""
    return None if not found else found[0] if len(found) == 1 else np.array(found, np.intp)


def _staged(table: np.ndarray, stages: list, seats: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """The table that several threads run: launches of cheap stages, and a row for each stage that is shared out.

    A stage has a seat for each thread. Who sits there takes the tasks of that part of the batch first, so that it
    finds them in its cache in each run, and then what is left. Every seat counts at every task, once, so that the first
    of a run is known without counters that must be set back.
    """
    function, rows, keep = run_tasks().address, [], []
    for stage in stages:
        if len(stage.tasks) < 2 or (stage.cost < SERIAL and stage.fetching < FETCHED):
            numbers = sorted({call[0] for task in stage.tasks for call in task.calls})
            rows += [(table[n, 0], table[n, 1], table[n, 1], table[n, 3]) for n in numbers]
            continue
        calls = [_call(table[n], share, shares) for task in stage.tasks for n, share, shares in task.calls]
        starts = np.cumsum([0, *(len(task.calls) for task in stage.tasks)])
        listed = np.array(calls, np.int64)
        taken = np.zeros(len(stage.tasks) * SPACING, np.int64)
        sizes = len(stage.tasks), stage.homes, seats
        header = np.array([listed.ctypes.data, taken.ctypes.data, *sizes, *starts], np.int64)
        keep += [listed, taken, header]
        rows.append((function, seats, 1, header.ctypes.data))
    return np.array(rows, np.int64).reshape(-1, 4), keep


def _call(row: np.ndarray, share: int, shares: int) -> tuple[int, int, int, int]:
    function, extent, _, address = map(int, row)
    return function, extent * share // shares, extent * (share + 1) // shares, address


@functools.cache
def run_tasks():
    """The compiled launcher that runs tasks ``begin .. end`` of a stage."""
    return build("pool_tasks", TASKS, {}, {**LOADS, **LOOPS})


@functools.cache
def replay_function():
    """The compiled loop as a C function (job, table, count, threads)."""
    found = build("pool_replay", REPLAY, {}, LOOPS, nt.void(*(nt.int64,) * 4))
    return ctypes.CFUNCTYPE(None, *(ctypes.c_int64,) * 4)(found.address)
