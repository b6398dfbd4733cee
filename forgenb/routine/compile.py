"""The everyday door: a function of arrays becomes a routine, once per shapes and dtypes of its arguments."""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

import numpy as np

from ..creation import tensor
from ..errors import ArgumentError, MemoryModeError, TapeError
from ..ops.apply import copied
from ..tape import is_recording
from ..tensor import Tensor
from .late import Late, exact, frozen
from .recorder import recording, refuse_nested
from .routine import Routine
from .symbol import Symbol


class Compiled:
    """A step that is recorded at its first call for each set of shapes and dtypes, and replayed afterwards.

    Call it like the function it wraps; keywords give static symbols. Arrays and tensors are inputs: each call copies
    their values in, so one that is tracked is refused. Anything else (numbers, strings, flags) belongs to the
    recording, and another value records anew. So does a plain value of a global or closed-over name of the step, or a
    module's mode, that has changed.

    Attributes
    ----------
    routines : dict
        Every recording, (routine, inputs, outputs), by the signature of its arguments.
    routine : Routine or None
        The one that the last call ran.
    """

    def __init__(self, step: Callable, name: str, bindings: Iterable[Symbol] | None = None):
        self.step, self.name = step, name
        self.bindings = None if bindings is None else tuple(bindings)
        self.routines: dict[tuple, Recording] = {}
        self._variants: dict[tuple, list[Recording]] = {}
        self.routine: Routine | None = None
        self._outside = outside_values(step)

    def __call__(self, *arguments, **indices: int):
        """The step's results for these arguments, from a run of its routine."""
        refuse_nested("step", self.name)
        key = (is_recording(), *map(_signature, arguments))
        try:
            found = self._variants.setdefault(key, [])
        except TypeError:
            kinds = ", ".join(type(a).__name__ for a in arguments)
            raise ArgumentError(
                f"step {self.name!r} got arguments of types {kinds}: give arrays, tensors, and plain values that can "
                "be compared, such as numbers, strings and tuples of them"
            ) from None
        for chosen in found:
            if not chosen[0].frozen or chosen[0].changed() is None:
                break
        else:
            self._refuse_endless(found)
            chosen = self.routines[(*key, len(found))] = self._record(arguments)
            found.append(chosen)
        routine, inputs, outputs = chosen
        self.routine = routine
        values = [a for a in arguments if isinstance(a, (Tensor, np.ndarray))]
        routine.run_on(zip(inputs, values, strict=True), indices)
        return outputs

    def _refuse_endless(self, found: list[Recording]) -> None:
        if len(found) >= MOST_VARIANTS:
            raise MemoryModeError(
                f"step {self.name!r} was recorded {len(found)} times for the same arguments, since what it depends on "
                f"keeps changing ({found[-1][0].changed()}): make it an argument, a tensor or a symbol"
            )

    def _record(self, arguments: tuple) -> Recording:
        inputs = [tensor(a) for a in arguments if isinstance(a, (Tensor, np.ndarray))]
        left = iter(inputs)
        passed = [next(left) if isinstance(a, (Tensor, np.ndarray)) else a for a in arguments]
        with recording() as recorder:
            recorder.inputs = inputs
            for what, read in self._outside:
                frozen(what, read)
            outputs = self.step(*passed)
            results = [_result(t, inputs) for t in _tensors(outputs)]
        recorder.settle_gradients(self.name)
        changed = recorder.changed()
        if changed is not None:
            raise MemoryModeError(
                f"step {self.name!r} changes what it depends on: {changed}. That happens once, when it is recorded, "
                "and not in each run: do it outside the step"
            )
        routine = Routine(recorder, results, self.name, self.bindings)
        return routine, inputs, _alike(outputs, results)


Recording = tuple[Routine, list[Tensor], object]
MOST_VARIANTS = 16
PLAIN = (bool, int, float, complex, str, bytes, type(None))


def outside_values(step: Callable) -> list[tuple[str, Callable[[], object]]]:
    """Global and closed-over names of a function that hold plain values, each with a function that reads it."""
    function: Any = getattr(step, "__func__", step)
    code = getattr(function, "__code__", None)
    if code is None:
        return []
    found: list[tuple[str, Callable[[], object]]] = []
    space = function.__globals__
    for name in sorted(_names(code)):
        if name in space and _plain(space[name]):
            found.append((f"global {name}", functools.partial(space.get, name)))
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            plain = _plain(cell.cell_contents)
        except ValueError:  # not assigned yet
            continue
        if plain:
            found.append((f"closed-over {name}", functools.partial(getattr, cell, "cell_contents")))
    return found


def _plain(value) -> bool:
    return isinstance(value, PLAIN) or (isinstance(value, tuple) and all(map(_plain, value)))


def _names(code: CodeType) -> set[str]:
    """Names that a function reads or writes as globals, inner functions included."""
    found = {i.argval for i in dis.get_instructions(code) if i.opname.endswith("_GLOBAL")}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names(constant)
    return found


def _signature(argument) -> tuple:
    if isinstance(argument, Tensor):
        if argument.node is not None and is_recording():
            raise TapeError(
                f"a compiled step got a tracked tensor of shape {argument.shape} as an argument, and its gradient "
                "would be lost, since arguments are copied in: pass argument.detach(), or let the step use it as a "
                "name from outside"
            )
        return argument.shape, argument.dtype, argument.backend.name
    if isinstance(argument, np.ndarray):
        return argument.shape, argument.dtype
    return exact(argument)


def _tensors(outputs) -> list[Tensor]:
    found = [outputs] if isinstance(outputs, Tensor) else list(outputs) if isinstance(outputs, tuple | list) else []
    if not found or not all(isinstance(t, Tensor) for t in found):
        raise MemoryModeError("a compiled step must return a tensor or a tuple of tensors: its readable results")
    return found


def _result(t: Tensor, inputs: list[Tensor]) -> Tensor:
    """A result that can be read after a run, and passed to the next: a slice at a symbol or an input is copied."""
    if isinstance(t.offset, Late) or any(t.memory is i.memory for i in inputs):
        return copied(t)
    return t.detach()


def _alike(outputs, results: list[Tensor]):
    """The results in the form in which the step returned its own: a tensor, tuple, list or named tuple."""
    if isinstance(outputs, Tensor):
        return results[0]
    return getattr(type(outputs), "_make", type(outputs))(results)


def compile(step: Callable, name: str | None = None, bindings: Iterable[Symbol] | None = None) -> Compiled:
    """Make a routine of a step: recorded at the first call, planned, and replayed as one call afterwards.

    Parameters
    ----------
    step : callable
        Takes arrays, tensors and plain values; returns a tensor or a tuple of tensors. It may run forward, backward
        and an optimiser's step. Reading a value inside raises.
    name : str, optional
        For printing; by default the function's own.
    bindings : iterable of Symbol, optional
        Static symbols, outermost first; by default those that the step uses.

    Returns
    -------
    Compiled
        Call it like `step`. Its results are the same tensors in every call, with new values.
    """
    return Compiled(step, name or str(getattr(step, "__name__", "step")), bindings)
