"""Host numbers that change from run to run: learning rates, counters, seeds, symbols.

Eager code calls the function at once; while a step is recorded it is kept, with the arithmetic on it, and called
before each run. Imports the seam only, and must not know about programs or routines.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from ..backend import seam
from ..errors import MemoryModeError


def late(compute: Callable[[], float]):
    """``compute()`` now, or, while a step is recorded, a number that is computed before each run."""
    return compute() if seam.RECORDER.get() is None else Late(compute)


def on_each_run(act: Callable[[], None]) -> None:
    """Do something now, or, while a step is recorded, before each run: counters advance there."""
    recorder = seam.RECORDER.get()
    if recorder is None:
        act()
    else:
        recorder.before.append(act)


def after_each_run(read: Callable[[], float], result):
    """What `read` gives now; while a step is recorded, `result`, which is stored, and `read` is done after each run."""
    recorder = seam.RECORDER.get()
    if recorder is None:
        return read()
    result.memory.keep = True
    recorder.after.append(read)
    return result


class Late:
    """A number that is known before each run; arithmetic with it gives another such number."""

    __slots__ = ("compute",)

    def __init__(self, compute: Callable[[], float]):
        self.compute = compute

    def __bool__(self) -> bool:
        raise MemoryModeError(
            "the step that is being recorded branches on a number that changes from run to run: the branch would be "
            "frozen, so compute with it (where, arithmetic) or decide outside the step"
        )

    def __neg__(self) -> Late:
        return Late(lambda: -self.compute())

    def __repr__(self) -> str:
        return f"late({self.compute()})"


def value_of(number):
    """The number itself, or what a late one is now."""
    return number.compute() if isinstance(number, Late) else number


def _binary(function: Callable, swapped: bool) -> Callable:
    def method(self: Late, other) -> Late:
        if swapped:
            return type(self)(lambda: function(value_of(other), self.compute()))
        return type(self)(lambda: function(self.compute(), value_of(other)))

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(Late, f"__{_name}__", _binary(getattr(operator, _name), False))
    setattr(Late, f"__r{_name}__", _binary(getattr(operator, _name), True))
