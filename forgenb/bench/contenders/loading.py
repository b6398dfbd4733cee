"""A process that loads a model from a folder, and says how long it takes.

Imports the worker and the specs; a library is imported when asked for.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np

from . import worker
from .memory import forget_peak, peak, resident
from .specs import LOADERS
from .worker import Library

__all__ = ["LoadingWorker", "bits", "main"]


class LoadingWorker(Library):
    """A contender's way to load."""

    modules = LOADERS

    def bits(self, folder: str) -> dict:
        """A number that all bits of the model's parameters are in."""
        module = self._module()
        return {"bits": bits(module.numbers(module.load(self.contender, folder)))}

    def run(self, folder: str, anew: bool) -> dict:
        """Milliseconds of loading, into memory that is new to the process, or such as the model before has had."""
        module = self._module()
        if anew:
            module.forget()
        began = time.perf_counter()
        model = module.load(self.contender, folder)
        seconds = time.perf_counter() - began
        del model
        return {"ms": seconds * 1e3}

    def memory(self, folder: str, base: str) -> dict:
        """The most memory while a model is loaded, itself included, over that after a small one."""
        module = self._module()
        module.load(self.contender, base)
        module.forget()
        before = resident()
        forget_peak()
        module.load(self.contender, folder)
        after = peak()
        return {"peak_mb": None if before is None or after is None else max(0, after - before) / 1e6}


def bits(arrays: Iterable[np.ndarray]) -> int:
    """The sum of the 32-bit patterns of all numbers: the same in any order, and in any orientation of a matrix."""
    return sum(int(np.sum(array.view(np.uint32), dtype=np.uint64)) for array in arrays) % (1 << 64)


def main() -> None:
    """Answer what comes on the standard input."""
    worker.main(LoadingWorker)
