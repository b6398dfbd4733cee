"""A process that continues one sequence with a cache, and says how long it takes.

Imports the worker and the specs; a library is imported when asked for.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from . import worker
from .memory import forget_peak, peak, resident, trim
from .specs import DECODERS, Decoder, Decoding, Transformer
from .worker import Library, read

__all__ = ["DecodingWorker", "main"]

PREFILLS = 3
"""How often a turn reads the longer prompt, after once that is not timed."""


class DecodingWorker(Library):
    """A contender's decoder of one sequence."""

    modules = DECODERS

    def __init__(self, contender: str, threads: int):
        super().__init__(contender, threads)
        self._decoder: Decoder | None = None
        self._ids: list[int] = []

    def open(self, spec: dict[str, Any], arrays: str) -> dict:
        """Make the decoder of a `Decoding`, whose fields `spec` has, from its file of arrays."""
        self._decoder = None  # lets go of the one before
        self.spec = Decoding(**{**spec, "model": Transformer(**spec["model"])})
        values = read(arrays)
        self._ids = values.pop("x")[0].tolist()
        del values["y"]
        self._decoder = self._module().decoder(self.spec.model, values, self.threads)
        return {}

    def greedy(self) -> dict:
        """The ids that follow the prompt, and the logit of each."""
        found, _ = self._continued()
        return {"ids": [place for place, _ in found], "logits": [logit for _, logit in found]}

    def run(self) -> dict:
        """Milliseconds of an id: the median of all steps, and that of the longer prompt."""
        assert self._decoder is not None
        _, steps = self._continued()
        prompts = []
        for _ in range(1 + PREFILLS):
            began = time.perf_counter()
            self._decoder.prefill(self._ids[: self.spec.prefill])
            prompts.append(time.perf_counter() - began)
        return {
            "ms": statistics.median(steps) * 1e3,
            "prefill_ms": statistics.median(prompts[1:]) * 1e3 / self.spec.prefill,
        }

    def launches(self) -> dict:
        """Kernels and products of a step, where the contender knows them."""
        assert self._decoder is not None
        return {"launches": self._decoder.launches() if self._decoder.launches is not None else None}

    def memory(self, spec: dict[str, Any], arrays: str, base: dict[str, Any], base_arrays: str) -> dict:
        """The most memory while a model decodes, itself included, over that after a small one, without its making."""
        self.open(base, base_arrays)
        self.greedy()
        before = resident()
        self.open(spec, arrays)
        trim()
        forget_peak()
        self.greedy()
        after = peak()
        return {"peak_mb": None if before is None or after is None else max(0, after - before) / 1e6}

    def _continued(self) -> tuple[list[tuple[int, float]], list[float]]:
        """What follows the prompt and each id after it, and the seconds of each step."""
        assert self._decoder is not None
        step, clock = self._decoder.step, time.perf_counter
        found, seconds = [self._decoder.prefill(self._ids[: self.spec.prompt])], []
        for _ in range(self.spec.ids):
            began = clock()
            found.append(step(found[-1][0]))
            seconds.append(clock() - began)
        return found, seconds


def main() -> None:
    """Answer what comes on the standard input."""
    worker.main(DecodingWorker)
