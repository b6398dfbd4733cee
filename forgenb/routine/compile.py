"""The everyday door: a function of arrays becomes a routine, once per shapes and dtypes of its arguments."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..creation import tensor
from ..errors import MemoryModeError
from ..tensor import Tensor
from .recorder import recording
from .routine import Routine, load_input


class Compiled:
    """A step that is recorded at its first call for each set of shapes and dtypes, and replayed afterwards.

    Call it like the function it wraps. Arrays and tensors are inputs: each call copies their values in. Anything
    else (numbers, strings, flags) belongs to the recording, and another value records anew.
    """

    def __init__(self, step: Callable, name: str):
        self.step, self.name = step, name
        self.routines: dict[tuple, tuple[Routine, list[Tensor], object]] = {}

    def __call__(self, *arguments):
        """The step's results for these arguments, from a run of its routine."""
        key = tuple(map(_signature, arguments))
        if key not in self.routines:
            self.routines[key] = self._record(arguments)
        routine, inputs, outputs = self.routines[key]
        values = [a for a in arguments if isinstance(a, (Tensor, np.ndarray))]
        for target, value in zip(inputs, values, strict=True):
            load_input(target, value.numpy() if isinstance(value, Tensor) else value)
        routine.run()
        return outputs

    def _record(self, arguments: tuple) -> tuple[Routine, list[Tensor], object]:
        inputs = [tensor(a) for a in arguments if isinstance(a, (Tensor, np.ndarray))]
        left = iter(inputs)
        passed = [next(left) if isinstance(a, (Tensor, np.ndarray)) else a for a in arguments]
        with recording() as recorder:
            recorder.inputs = inputs
            outputs = self.step(*passed)
        results = [t.detach() for t in _tensors(outputs)]
        routine = Routine(recorder, results, self.name)
        return routine, inputs, results[0] if isinstance(outputs, Tensor) else type(outputs)(results)


def _signature(argument) -> tuple:
    if isinstance(argument, (Tensor, np.ndarray)):
        return argument.shape, argument.dtype.name
    return type(argument), argument


def _tensors(outputs) -> list[Tensor]:
    found = [outputs] if isinstance(outputs, Tensor) else list(outputs or ())
    if not found or not all(isinstance(t, Tensor) for t in found):
        raise MemoryModeError("a compiled step must return a tensor or a tuple of tensors: its readable results")
    return found


def compile(step: Callable, name: str | None = None) -> Compiled:
    """Make a routine of a step: recorded at the first call, planned, and replayed as one call afterwards.

    Parameters
    ----------
    step : callable
        Takes arrays, tensors and plain values; returns a tensor or a tuple of tensors. It may run forward, backward
        and an optimiser's step. Reading a value inside raises.
    name : str, optional
        For printing; by default the function's own.

    Returns
    -------
    Compiled
        Call it like `step`. Its results are the same tensors in every call, with new values.
    """
    return Compiled(step, name or str(getattr(step, "__name__", "step")))
