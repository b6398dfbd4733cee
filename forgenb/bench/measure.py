"""The comparison itself: every contender gives the same losses first, then they take turns.

Imports `process`, `data` and the specs; it prints nothing.
"""

from __future__ import annotations

import math
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from forgenb.errors import ArgumentError

from .contenders.specs import OWN, SPECS, STEPS
from .data import arrays
from .process import WorkerProcess

__all__ = ["Plan", "Row", "alternating", "begin", "check_losses", "check_room", "compare", "save", "take_turns"]

Name = TypeVar("Name")

GATE_STEPS = 3
TOLERANCE = 1e-4
"""Relative difference of the first losses above which two contenders do not do the same."""
SPARE = 100_000_000
"""Bytes that a disk keeps when a comparison has written its files."""
PAUSE = 0.3
"""Seconds between two turns, in which waiting threads of the one before come to rest."""
BUDGET = 6.0
"""Seconds after which a turn ends, however many steps are left."""
MEMORY_STEPS = 2
"""Steps that show how much memory a workload takes: an optimiser may make its state at the end of the first."""


@dataclass(frozen=True)
class Plan:
    """What to compare, and how thoroughly.

    Attributes
    ----------
    workloads, contenders : sequence of str
        Names.
    threads : int
        That each contender may use.
    rounds : int
        Turns of each contender.
    steps : int, optional
        Timed steps in a turn; by default what suits the workload.
    pythons : mapping
        Interpreters of contenders that live in another environment.
    """

    workloads: Sequence[str]
    contenders: Sequence[str]
    threads: int
    rounds: int = 5
    steps: int | None = None
    pythons: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Row:
    """What one contender reached on one workload; or why it did not take part, in `skipped`.

    A turn's figure is the median of its steps. The three times are median, least and most of the turns' figures.
    `peak_mb` is the most resident memory of a process over that of the same process after a small step. `nbytes` are
    those of the operands of all statements of a step, where the contender knows them.
    """

    workload: str
    contender: str
    threads: int
    median_ms: float | None = None
    min_ms: float | None = None
    max_ms: float | None = None
    loss_first: float | None = None
    loss_last: float | None = None
    peak_mb: float | None = None
    skipped: str | None = None
    nbytes: int | None = None
    versions: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict:
        """The fields that a script reads: those of a result, or of one that was skipped."""
        results = ["median_ms", "min_ms", "max_ms", "loss_first", "loss_last", "peak_mb"]
        return self._fields(["skipped"] if self.skipped else results)

    def _fields(self, names: Sequence[str]) -> dict:
        return {name: getattr(self, name) for name in ("workload", "contender", "threads", *names)}

    def set_times(self, turns: Sequence[float]) -> None:
        """Sum the turns up, in milliseconds."""
        self.median_ms, self.min_ms, self.max_ms = statistics.median(turns), min(turns), max(turns)


def compare(plan: Plan, workload: str, tell: Callable[[str], None] = lambda text: None) -> Iterator[Row]:
    """Compare the contenders on one workload; gives a row for each, in the plan's order.

    Parameters
    ----------
    plan : Plan
    workload : str
        One of `SPECS`.
    tell : callable
        Is told what is being done.
    """
    rows = {name: Row(workload, name, plan.threads) for name in plan.contenders}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        try:
            file = save(folder, workload)
        except ImportError as error:
            for row in rows.values():
                row.skipped = str(error)
            yield from rows.values()
            return
        workers, losses = {}, {}
        for name, row in rows.items():
            tell(f"{workload}: {name} begins")
            workers[name] = stack.enter_context(WorkerProcess(name, plan.threads, plan.pythons.get(name)))
            losses[name] = begin(row, workers[name], file)
        check_losses(rows, {name: found for name, found in losses.items() if found})
        live = {name: worker for name, worker in workers.items() if rows[name].skipped is None}
        take_turns(plan, workload, rows, live, tell)
        stack.close()
        for name in live:
            if rows[name].skipped is None:
                tell(f"{workload}: memory of {name}")
                _measure_memory(plan, rows[name], folder, file)
        yield from rows.values()


def check_losses(rows: Mapping[str, Row], found: Mapping[str, Sequence[float]]) -> None:
    """Skip the contenders whose losses differ from those that most agree on; forgenb's count where it is a draw."""

    def friends(name: str) -> list[str]:
        return [other for other in found if agree(found[name], found[other])]

    if not found:
        return
    reference = max(found, key=lambda name: (len(friends(name)), name in OWN))
    for name in set(found) - set(friends(reference)):
        mine, theirs = (", ".join(f"{loss:.6g}" for loss in found[key]) for key in (name, reference))
        rows[name].skipped = f"not comparable: its first losses are {mine}, those of {reference} {theirs}"


def agree(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether all numbers are finite and equal up to `TOLERANCE`."""
    return len(one) == len(other) and all(
        math.isfinite(a) and math.isclose(a, b, rel_tol=TOLERANCE) for a, b in zip(one, other)
    )


def save(folder: str, workload: str) -> str:
    """Write the arrays of a workload into a folder and return the file's name."""
    file = str(Path(folder, f"{workload}.npz"))
    np.savez(file, **arrays(workload, SPECS[workload]))  # type: ignore[arg-type]
    return file


def check_room(folder: str, nbytes: int) -> None:
    """Refuse to fill the disk of a temporary folder.

    Raises
    ------
    ArgumentError
        If it has less than `nbytes` and some more.
    """
    free = shutil.disk_usage(folder).free
    if free < nbytes + SPARE:
        raise ArgumentError(
            f"The comparison writes {nbytes:,} bytes into a temporary folder, and the disk of {folder!r} has {free:,}: "
            "make room, or name another folder in TMPDIR."
        )


def begin(row: Row, worker: WorkerProcess, file: str) -> list[float]:
    """Import, build and run the first steps; no losses where one of these is not possible."""
    requests: list[tuple[str, dict]] = [
        ("versions", {}),
        ("open", {"workload": row.workload, "arrays": file}),
        ("losses", {"steps": GATE_STEPS}),
    ]
    for do, fields in requests:
        answer = worker.ask(do, **fields)
        row.skipped = answer.get("skipped")
        if row.skipped is not None:
            return []
        row.versions = answer.get("versions", row.versions)
    row.loss_first = answer["losses"][0]
    return answer["losses"]


def alternating(names: Sequence[Name], rounds: int) -> Iterator[tuple[int, Name]]:
    """Turns of all: round and name, every second round backwards."""
    for turn in range(rounds):
        for name in names[:: 1 if turn % 2 == 0 else -1]:
            yield turn, name


def take_turns(
    plan: Plan, workload: str, rows: Mapping[str, Row], live: Mapping[str, WorkerProcess], tell: Callable
) -> None:
    """Time the workers that are alive in alternating turns, each as often, and write what they took into their rows."""
    times: dict[str, list[float]] = {name: [] for name in live}
    for turn, name in alternating(list(live), plan.rounds):
        if rows[name].skipped is not None:
            continue
        tell(f"{workload}: round {turn + 1} of {plan.rounds}, {name}")
        time.sleep(PAUSE)
        answer = live[name].ask("run", steps=plan.steps or STEPS[workload], seconds=BUDGET)
        rows[name].skipped = answer.get("skipped")
        if rows[name].skipped is None:
            times[name].append(answer["ms"])
            rows[name].loss_last = answer["loss"]
    for name, turns in times.items():
        if rows[name].skipped is None:
            rows[name].set_times(turns)
            rows[name].nbytes = live[name].ask("work").get("work", {}).get("bytes")


def _measure_memory(plan: Plan, row: Row, folder: str, file: str) -> None:
    """In a process of its own, whose first step is that of `micro` or, where there is none, of `moons`."""
    for base in ("micro", "moons"):
        base_file = save(folder, base)
        with WorkerProcess(row.contender, plan.threads, plan.pythons.get(row.contender)) as worker:
            answer = worker.ask(
                "memory",
                workload=row.workload,
                arrays=file,
                base=base,
                base_arrays=base_file,
                steps=MEMORY_STEPS,
            )
        row.peak_mb = answer.get("peak_mb")
        if "skipped" not in answer:
            return
