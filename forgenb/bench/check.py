"""Whether all ways to run a workload give the same bits: op by op and as a routine, with one thread and with several.

Imports `process`, `data` and the specs; nothing is timed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from .contenders.specs import OWN
from .measure import save
from .process import WorkerProcess

__all__ = ["Check", "check"]


@dataclass(frozen=True)
class Check:
    """One way to run a workload, and whether each of its losses has the bits of the first way.

    Attributes
    ----------
    workload, contender : str
    threads, steps : int
    loss_first, loss_last : float or None
    equal : bool or None
        None for one that was skipped.
    skipped : str or None
        Why it gave no losses.
    """

    workload: str
    contender: str
    threads: int
    steps: int
    loss_first: float | None = None
    loss_last: float | None = None
    equal: bool | None = None
    skipped: str | None = None

    def as_json(self) -> dict:
        """The fields that a script reads."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def check(
    workload: str, threads: Sequence[int], steps: int, python: str | None = None, tell: Callable = lambda text: None
) -> Iterator[Check]:
    """Run a workload op by op and as a routine, each with every number of threads, from the same values.

    Parameters
    ----------
    workload : str
        One of `SPECS`.
    threads : sequence of int
    steps : int
    python : str, optional
        The interpreter of the environment that has forgenb.
    tell : callable
        Is told what is being done.
    """
    first: list[float] | None = None
    with tempfile.TemporaryDirectory() as folder:
        try:
            file, missing = save(folder, workload), None
        except ImportError as error:
            file, missing = "", str(error)
        for contender in OWN:
            for number in threads:
                tell(f"{workload}: {contender}, {number} threads, {steps} steps")
                found: dict = {"skipped": missing}
                if missing is None:
                    found = _losses(workload, contender, number, steps, file, python)
                losses = found.get("losses")
                if losses is None:
                    yield Check(workload, contender, number, steps, skipped=found["skipped"])
                    continue
                first = losses if first is None else first
                yield Check(workload, contender, number, steps, losses[0], losses[steps - 1], losses == first)


def _losses(workload: str, contender: str, threads: int, steps: int, file: str, python: str | None) -> dict:
    with WorkerProcess(contender, threads, python) as worker:
        opened = worker.ask("open", workload=workload, arrays=file)
        return opened if "skipped" in opened else worker.ask("losses", steps=steps)
