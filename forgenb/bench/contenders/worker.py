"""A process that runs one contender, and does what it is asked over its standard input and output.

Each request and each answer is a line of JSON. Imports its own package and NumPy; a library is imported when asked for.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from .memory import forget_peak, peak, resident
from .specs import CONTENDERS, SPECS, Step, Unsupported

__all__ = ["Library", "Worker", "answer", "main", "read", "serve"]


class Library:
    """A contender's library: what any process can be asked for.

    Each public method is a request, its arguments are the request's fields.
    """

    modules: Mapping[str, str] = CONTENDERS
    """The module of each contender."""

    def __init__(self, contender: str, threads: int):
        self.contender, self.threads = contender, threads

    def versions(self) -> dict:
        """Versions of Python and the contender's packages; imports them."""
        found = {"python": platform.python_version()}
        for name in self._module().PACKAGES:
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                found[name] = importlib.metadata.version(name)
        return {"versions": found}

    def load(self) -> dict:
        """Import the contender's packages."""
        self._module()
        return {}

    def _module(self):
        return importlib.import_module(f".{self.modules[self.contender]}", __package__)


class Worker(Library):
    """A process that runs steps of a workload."""

    def __init__(self, contender: str, threads: int):
        super().__init__(contender, threads)
        self.step: Step | None = None
        self.loss: float | None = None

    def open(self, workload: str, arrays: str) -> dict:
        """Make a workload's step from its file of arrays."""
        self.step = None  # lets go of the one before
        self.step = self._module().build(self.contender, SPECS[workload], read(arrays), self.threads)
        return {}

    def losses(self, steps: int) -> dict:
        """Losses of the next steps, and a number that depends on the last gradients."""
        assert self.step is not None
        found = [_number(self.step.run()) for _ in range(steps)]
        if self.step.gradient is not None:
            found.append(self.step.gradient())
        return {"losses": found}

    def work(self) -> dict:
        """Bytes and FLOP of a step, where its contender knows them."""
        assert self.step is not None
        return {"work": self.step.work() if self.step.work is not None else {}}

    def run(self, steps: int, seconds: float) -> dict:
        """Time steps one by one, after one that is not timed; no further step begins after `seconds`."""
        assert self.step is not None
        run, clock = self.step.run, time.perf_counter
        run()
        times: list[float] = []
        end = clock() + seconds
        while len(times) < steps:
            began = clock()
            loss = run()
            now = clock()
            times.append(now - began)
            if now > end:
                break
        return {"ms": statistics.median(times) * 1e3, "loss": _number(loss), "steps": len(times)}

    def memory(self, workload: str, arrays: str, base: str, base_arrays: str, steps: int) -> dict:
        """The most memory that some steps of a workload take, over that after a step of a small one."""
        self.open(base, base_arrays)
        self.losses(1)
        before = resident()
        forget_peak()
        self.open(workload, arrays)
        self.losses(steps)
        after = peak()
        return {"peak_mb": None if before is None or after is None else max(0, after - before) / 1e6}

    def limits(self) -> dict:
        """What this machine reaches at most, through forgenb."""
        from .limits import limits

        return limits()


def read(path: str) -> dict[str, np.ndarray]:
    """All arrays of a file, by name."""
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def answer(worker: object, request: dict) -> dict:
    """What a request gives, or why it gives nothing, under ``skipped``."""
    do = request.pop("do")
    try:
        return getattr(worker, do)(**request)
    except Unsupported as reason:
        return {"skipped": str(reason)}
    except ImportError as error:
        return {"skipped": f"cannot be imported: {error}"}
    except Exception as error:
        return {"skipped": f"failed in {do}: {type(error).__name__}: {' '.join(str(error).split())[:300]}"}


def use_cores(number: int) -> None:
    """Keep this process to some of its cores, for libraries that take as many threads as there are."""
    if hasattr(os, "sched_setaffinity"):
        mine = sorted(os.sched_getaffinity(0))
        if number < len(mine):
            os.sched_setaffinity(0, mine[:number])


def serve(worker: object, lines: Iterable[str]) -> None:
    """Answer requests until there are no more; whatever else prints goes to the error output."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in lines:
        print(json.dumps(answer(worker, json.loads(line))), file=channel, flush=True)


def main(kind: Callable[[str, int], object] = Worker) -> None:
    """Answer what comes on the standard input; `kind` is the class of the worker."""
    contender, threads = sys.argv[-2], int(sys.argv[-1])
    use_cores(threads)
    serve(kind(contender, threads), sys.stdin)


def _number(loss) -> float:
    return float(loss.item())
