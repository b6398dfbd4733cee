"""A training step shared out over streams or processes, in a worker that can be asked for its parts, too.

Imports forgenb; requests reach all processes by way of the first, which alone answers.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from forgenb.backend import Stream
from forgenb.train import ShardedStep
from forgenb.train.distributed import BUCKET, DistributedStep, World, buckets, world
from forgenb.train.workers.share import PartialUpdate

from . import with_forgenb
from .specs import SPECS, Step
from .worker import Worker, answer, read, serve

__all__ = ["ScaledWorker", "main", "requests"]

NAP = 0.001
"""Seconds between two looks for a request: a process that waits in MPI would take a core from those that are timed."""


class ScaledWorker(Worker):
    """A worker whose step is shared out over `count` streams, or over the processes of a world."""

    def __init__(self, contender: str, count: int, world: World | None = None):
        super().__init__(contender, count)
        self.world = world
        self._model: Any = None
        self._whole: Any = None
        self._batch: tuple[np.ndarray, ...] = ()

    def _module(self) -> Any:
        return with_forgenb

    def open(self, workload: str, arrays: str) -> dict:
        """Make a workload's step from its file of arrays."""
        values = read(arrays)
        self._model, optimizer = with_forgenb.gpt(SPECS[workload], values)  # type: ignore[arg-type]
        self._batch = values["x"], values["y"]
        if self.world is None:
            streams = [Stream() for _ in range(self.threads)]
            self._whole = ShardedStep(self._model, optimizer, None, streams)
        else:
            self._whole = DistributedStep(self._model, optimizer, None, self.world, len(values["x"]))
            self._batch = values["x"][self._whole.part], values["y"][self._whole.part]
        self.step = Step(self._on(self._batch))
        return {}

    def _on(self, batch: tuple[np.ndarray, ...]) -> Callable[[], Any]:
        return lambda: np.asarray(self._whole(*batch)[0])[()] if self.world else self._whole(*batch)[0]

    def share(self, samples: int) -> dict:
        """Let the step take the first samples of the batch only."""
        self.step = Step(self._on(tuple(array[:samples] for array in self._batch)))
        return {}

    def gradients(self) -> dict:
        """Bytes of each message of gradients, in the order in which they go."""
        arenas = PartialUpdate(self._model, self._batch, 0, len(self._batch[0])).update.arenas
        parts = [(arena.whole.dtype.itemsize, *part[2:]) for arena in arenas for part in buckets(arena, BUCKET)]
        return {"messages": [size * (end - begin) for size, begin, end in parts]}

    def message(self, nbytes: int) -> dict:
        """Let the step be a sum of so many bytes over all processes."""
        assert self.world is not None
        begin, array = self.world.begin_sum, np.zeros(nbytes // 4, np.float32)

        def run() -> Any:
            begin(array).Wait()
            return array[0]

        self.step = Step(run)
        return {}

    def run(self, steps: int, seconds: float) -> dict:
        """As of any worker; but all processes make the same number of steps, however long they take."""
        return super().run(steps, seconds if self.world is None else math.inf)


def requests(everybody: World) -> Iterator[str]:
    """The lines that the first process reads, in every process."""
    while True:
        line = sys.stdin.readline() if everybody.first else ""
        gate = everybody.comm.Ibarrier()
        while not gate.Test():
            time.sleep(NAP)
        line = everybody.text(line)
        if not line:
            return
        yield line


def main() -> None:
    """Answer what comes on the standard input; ``processes`` have been started by an ``mpiexec``."""
    contender, count = sys.argv[-2], int(sys.argv[-1])
    if contender != "processes":
        serve(ScaledWorker(contender, count), sys.stdin)
        return
    everybody = world()
    worker = ScaledWorker(contender, count, everybody)
    if everybody.first:
        serve(worker, requests(everybody))
        return
    for line in requests(everybody):
        answer(worker, json.loads(line))
