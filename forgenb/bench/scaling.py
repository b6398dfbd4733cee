"""How a step gets faster over streams and processes, and what it costs: measured, for `projection` to reckon with.

Imports `measure`, `process`, `projection` and the specs; it prints nothing.
"""

from __future__ import annotations

import importlib.util
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from forgenb.errors import ArgumentError

from .contenders.specs import SPECS, STEPS, Transformer
from .measure import BUDGET, Plan, Row, alternating, begin, check_losses, save, take_turns
from .process import WorkerProcess
from .projection import Cost, Link, fit_line

__all__ = ["SCALABLE", "ShareTimes", "SumTimes", "compare_scaling", "launcher", "scalable", "variants"]

SCALABLE = tuple(name for name, spec in SPECS.items() if isinstance(spec, Transformer) and spec.training)
"""The workloads whose step can be shared out."""
MOST = 4
"""Streams or processes that are tried at most."""
SHARES = (1, 2, 4, 8, 12)
MESSAGES = tuple(4**power for power in range(1, 12))
"""Bytes of the sums that are timed: 4 to 4 MiB."""
SUMS = 50
"""Timed sums in a turn."""
FASTEST = 1e-9
"""Milliseconds that a byte takes at least, so that noise does not make a link without end."""


@dataclass(frozen=True)
class ShareTimes:
    """Milliseconds of a step on so many samples, on one core, and the cost of a step that they give.

    `miss` is the largest relative error of that cost.
    """

    cost: Cost
    samples: tuple[int, ...]
    ms: tuple[float, ...]
    miss: float

    def as_json(self) -> dict:
        """The fields that a script reads."""
        return {**asdict(self.cost), "contender": "share", "samples": self.samples, "ms": self.ms, "miss": self.miss}


@dataclass(frozen=True)
class SumTimes:
    """Microseconds of a sum of so many bytes over two processes of this machine, and the link that they give."""

    link: Link | None = None
    nbytes: tuple[int, ...] = ()
    us: tuple[float, ...] = ()
    miss: float = 0.0
    skipped: str | None = None

    def as_json(self) -> dict:
        """The fields that a script reads."""
        about = {"workload": "allreduce", "contender": "processes", "threads": 2}
        if self.link is None:
            return {**about, "skipped": self.skipped}
        return {**about, **asdict(self.link), "nbytes": self.nbytes, "us": self.us, "miss": self.miss}


def scalable(names: Sequence[str]) -> list[str]:
    """Those workloads of `names` that are in `SCALABLE`.

    Raises
    ------
    ArgumentError
        If there is none.
    """
    found = [name for name in names if name in SCALABLE]
    if not found:
        raise ArgumentError(
            f"steps are shared out for {', '.join(SCALABLE)}, and got {', '.join(names)}: name one of these"
        )
    return found


def launcher() -> tuple[str, str | None]:
    """The ``mpiexec`` beside this interpreter, or the one that is found; or why there is none."""
    if importlib.util.find_spec("mpi4py") is None:
        return "", "mpi4py is not installed: pip install 'forgenb[mpi]'"
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    return (found, None) if found else ("", "there is no mpiexec: pip install mpich")


def variants(threads: int) -> list[tuple[str, int]]:
    """(how, how many) of all ways to share a step out: threads within it, streams, processes."""
    counts = sorted({count for count in (1, 2, MOST, threads) if count <= min(threads, MOST)})
    several = [("threads", threads)] if threads > 1 else []
    return [*several, *(("streams", count) for count in counts), *(("processes", count) for count in counts)]


def compare_scaling(
    plan: Plan, tell: Callable[[str], None] = lambda text: None
) -> Iterator[SumTimes | Row | ShareTimes]:
    """Time sums over processes, then each workload in all ways and by the size of a share.

    Parameters
    ----------
    plan : Plan
        Its contenders are those of `variants`, whatever it says.
    tell : callable
        Is told what is being done.
    """
    tell("sums over two processes")
    yield _sums(plan)
    for workload in plan.workloads:
        with tempfile.TemporaryDirectory() as folder:
            file = save(folder, workload)
            yield from _rows(plan, workload, file, tell)
            tell(f"{workload}: shares of the batch")
            yield _shares(plan, workload, file)


def _worker(how: str, count: int) -> WorkerProcess:
    if how == "threads":
        return WorkerProcess("forgenb-routine", count)
    if how == "streams":
        return WorkerProcess(how, count, module="scaled")
    return WorkerProcess(how, 1, module="scaled", launcher=[launcher()[0], "-n", str(count)])


def _rows(plan: Plan, workload: str, file: str, tell: Callable[[str], None]) -> Iterator[Row]:
    rows = {f"{how} {count}": Row(workload, how, count) for how, count in variants(plan.threads)}
    workers, losses = {}, {}
    with ExitStack() as stack:
        for name, row in rows.items():
            tell(f"{workload}: {name} begin")
            row.skipped = launcher()[1] if row.contender == "processes" else None
            if row.skipped is None:
                workers[name] = stack.enter_context(_worker(row.contender, row.threads))
                losses[name] = begin(row, workers[name], file)
        check_losses(rows, {name: found for name, found in losses.items() if found})
        live = {name: worker for name, worker in workers.items() if rows[name].skipped is None}
        take_turns(plan, workload, rows, live, tell)
    yield from rows.values()


def _shares(plan: Plan, workload: str, file: str) -> ShareTimes:
    batch = SPECS[workload].batch  # type: ignore[union-attr]
    samples = tuple(n for n in SHARES if n <= batch)
    with _worker("streams", 1) as worker:
        _asked(worker, "open", workload=workload, arrays=file)
        messages = _asked(worker, "gradients")["messages"]
        ms = _turns(worker, plan.rounds, "share", "samples", samples, plan.steps or STEPS[workload])
    fixed, sample, miss = fit_line(samples, ms)
    found = Cost(workload, batch, _short(fixed), _short(sample), sum(messages), len(messages), messages[-1])
    return ShareTimes(found, samples, ms, miss)


def _sums(plan: Plan) -> SumTimes:
    missing = launcher()[1] or (None if plan.threads > 1 else "there is one core only")
    if missing is not None:
        return SumTimes(skipped=missing)
    try:
        with _worker("processes", 2) as worker:
            ms = _turns(worker, plan.rounds, "message", "nbytes", MESSAGES, plan.steps or SUMS)
    except ArgumentError as error:
        return SumTimes(skipped=str(error))
    latency, byte, miss = fit_line(MESSAGES, ms)
    # over two nodes a sum has two latencies, and each byte is sent once
    link = Link("shared memory", _short(latency / 2 * 1e3), _short(1e-6 / max(byte, FASTEST)))
    return SumTimes(link, MESSAGES, tuple(time * 1e3 for time in ms), miss)


def _turns(
    worker: WorkerProcess, rounds: int, do: str, field: str, values: Sequence[int], steps: int
) -> tuple[float, ...]:
    """Milliseconds of a step at each of the values, which take turns."""
    times: dict[int, list[float]] = {value: [] for value in values}
    for _, value in alternating(values, rounds):
        _asked(worker, do, **{field: value})
        times[value].append(_asked(worker, "run", steps=steps, seconds=BUDGET)["ms"])
    return tuple(statistics.median(turns) for turns in times.values())


def _asked(worker: WorkerProcess, do: str, **fields: object) -> dict:
    """The answer of a worker that has to give one."""
    answer = worker.ask(do, **fields)
    if "skipped" in answer:
        raise ArgumentError(f"the cost of a step cannot be measured: {answer['skipped']}")
    return answer


def _short(number: float) -> float:
    """Three digits, as many as a page shows."""
    return float(f"{number:.3g}")
