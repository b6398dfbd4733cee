"""Host numbers that change from run to run: learning rates, counters, seeds, symbols.

Eager code calls the function at once; while a step is recorded it is kept, with the arithmetic on it, and called
before each run. Imports the seam and `run_map`, and must not know about programs or routines.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from ..backend import get_backend, seam
from ..dtypes import DEFAULT
from ..errors import ArgumentError, IndexRangeError, MemoryModeError
from ..kernel import map_kernel
from ..ops.apply import run_map
from ..tensor import Tensor, from_array


@map_kernel("x -> out; value")
def number_kernel(x, value):
    """A host number as an element; x gives the dtype."""
    return value


def late(compute: Callable[[], float], now: object = None):
    """``compute()`` now, or, while a step is recorded, a number that is computed before each run.

    Where the present value `now` depends on symbols, the routine gets their cells.
    """
    if seam.RECORDER.get() is None:
        return value_of(compute())
    return Late(lambda: real(value_of(compute())), getattr(now, "symbols", ()))


def frozen(what: str, read: Callable[[], object]):
    """``read()``; while a step is recorded, the routine is bound to what it was and notices when it changes.

    Parameters
    ----------
    what : str
        For the message, such as ``"model.training"``.
    read : callable
        Cheap: it is called before each run.
    """
    value = read()
    recorder = seam.RECORDER.get()
    if recorder is not None:
        recorder.frozen.append((what, read, value))
    return value


def exact(value):
    """A plain value as a key that tells apart what ``==`` does not, though an op may: 1, 1.0 and True, 0.0 and -0.0.

    NaN is the same key every time. The numbers in a tuple count, too.
    """
    if isinstance(value, tuple):
        return type(value), *map(exact, value)
    return type(value), repr(value) if isinstance(value, (float, complex, np.inexact)) else value


def on_each_run(act: Callable[[], None]) -> None:
    """Do something now, or, while a step is recorded, before each run: counters advance there."""
    recorder = seam.RECORDER.get()
    if recorder is None:
        act()
    else:
        recorder.before.append((act, len(recorder.statements)))


def after_each_run(read: Callable[[], float], result):
    """What `read` gives now; while a step is recorded, `result`, which is stored, and `read` is done after each run."""
    recorder = seam.RECORDER.get()
    if recorder is None:
        return read()
    result.memory.keep = True
    recorder.after.append(read)
    return result


def _refused(what: str) -> Callable:
    def method(self: Late, *_: object):
        raise MemoryModeError(
            f"the step that is being recorded {what} {self.name}, a number that changes from run to run: the result "
            "would be frozen. Compute with it (arithmetic, where), pass it through map(function), or decide outside "
            "the step"
        )

    return method


_compared = _refused("compares")


class Late:
    """A number that is known before each run; arithmetic with it gives another such number.

    Parameters
    ----------
    compute : callable
        Gives the number; called once before each run.
    symbols : tuple
        The static symbols that it depends on, where that is known.
    """

    __slots__ = ("compute", "symbols")
    name = "a late number"

    def __init__(self, compute: Callable[[], float], symbols: tuple = ()):
        self.compute, self.symbols = compute, symbols

    def map(self, function: Callable[[float], float]) -> Late:
        """``function`` of the number, called on the host before each run: a schedule, for example."""
        return Late(lambda: real(function(self.compute())), self.symbols)

    def as_position(self, shape: tuple[int, ...], axis: int) -> Late:
        """The number as an index along an axis; the offset of a view becomes late, and nothing is copied.

        Raises
        ------
        MemoryModeError
            If no step is being recorded.
        """
        recorder = seam.RECORDER.get()
        if recorder is None:
            raise MemoryModeError(
                f"a tensor of shape {shape} was indexed by {self.name} outside of a recording, where it has no value: "
                "do it inside fnb.capture() or a compiled step, or index with a number"
            )
        extent = shape[axis]
        recorder.note(self)
        recorder.guards.append(lambda: self._check(extent, axis, shape))
        return self

    def _check(self, extent: int, axis: int, shape: tuple[int, ...]) -> None:
        value = self.compute()
        if not isinstance(value, (int, np.integer)):
            raise ArgumentError(f"axis {axis} of shape {shape} is indexed by {self.name}: {value!r} is not whole")
        if not 0 <= value < extent:
            raise IndexRangeError(f"{self.name} is {value}, but axis {axis} of shape {shape} needs 0 .. {extent - 1}")

    def as_operand(self, like: Tensor | None) -> Tensor:
        """The number as a tensor without dimensions, written anew in each run.

        Raises
        ------
        MemoryModeError
            If no step is being recorded.
        """
        if seam.RECORDER.get() is None:
            raise MemoryModeError(f"{self.name} was used outside of a recorded step, where it has no value")
        dtype = like.dtype if like is not None and like.dtype.kind == "f" else DEFAULT
        backend = like.backend if like is not None else get_backend(None)
        return run_map(number_kernel, (from_array(np.zeros((), dtype), backend),), (self,))

    def __neg__(self) -> Late:
        return Late(lambda: -self.compute(), self.symbols)

    def __repr__(self) -> str:
        return f"<{self.name}>"

    __hash__ = object.__hash__
    __bool__ = _refused("branches on")
    __int__ = __float__ = __index__ = _refused("reads")
    __lt__ = __le__ = __gt__ = __ge__ = _compared

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Late) or seam.RECORDER.get() is None:
            return self is other  # planning compares places, whose offsets may be late
        return bool(_compared(self, other))


def real(number):
    """The number itself.

    Raises
    ------
    ArgumentError
        If it is none, such as the None of a schedule that forgot to return.
    """
    if not hasattr(number, "__float__"):
        raise ArgumentError(
            f"a number that is computed before each run of a routine was {number!r} of type {type(number).__name__}: "
            "the function that gives it must return a real number"
        )
    return number


def value_of(number):
    """The number itself, or what a late one is now."""
    return number.compute() if isinstance(number, Late) else number


def _binary(function: Callable, swapped: bool) -> Callable:
    def method(self: Late, other) -> Late:
        if not isinstance(other, (Late, int, float, np.number)):
            return NotImplemented
        symbols = tuple(dict.fromkeys((*self.symbols, *getattr(other, "symbols", ()))))
        if swapped:
            return Late(lambda: function(value_of(other), self.compute()), symbols)
        return Late(lambda: function(self.compute(), value_of(other)), symbols)

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(Late, f"__{_name}__", _binary(getattr(operator, _name), False))
    setattr(Late, f"__r{_name}__", _binary(getattr(operator, _name), True))
