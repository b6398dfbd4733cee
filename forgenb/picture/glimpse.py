"""A glimpse of an array: few numbers, the range, and how many are not finite, or words why there is nothing to see.

Reading one launches nothing and records nothing, and what is kept of it is small whatever the array's size.
Imports tensors and how they are shown; what an array means is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..interop.display import edges, unreadable
from ..tensor import Tensor

__all__ = ["FREED", "NONE", "Glimpse", "absent", "glimpse"]

WHOLE = 64
"""Elements of the largest array that is kept whole."""
ENDS = {1: 5, 2: 3, 3: 2}
"""How many entries of each end of an axis are kept of a larger one, by number of axes; beyond three axes one."""
LONGEST = 30
"""Letters of the longest list of numbers in a box; of more numbers the range is shown."""
MILLION = 1_000_000
WIDTH = 60
"""Letters of a line of the numbers in full."""


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What is kept of an array.

    Attributes
    ----------
    missing : str
        Why there are no numbers, such as ``"freed"``; empty where there are.
    shape, dtype
        Of the whole array.
    numbers : array or None
        The elements, or with `cut` those at the ends of each axis and one behind them.
    low, high : float or None
        The smallest and the largest finite element.
    odd : int
        How many elements are infinite or NaN.
    changed : bool
        Whether they were written in place after the op that made them.
    """

    missing: str
    shape: tuple[int, ...] = ()
    dtype: str = ""
    numbers: np.ndarray | None = None
    cut: bool = False
    low: float | int | None = None
    high: float | int | None = None
    odd: int = 0
    changed: bool = False

    def line(self, what: str) -> str:
        """One line of a box: a value is said by its numbers alone, a gradient and what is missing by name."""
        named = what != "value" or self.numbers is None
        text = f"{what}: {self.short}" if named else self.short
        return f"{text} (changed since)" if self.changed else text

    @property
    def short(self) -> str:
        """One line for a box: the numbers where they are few, else their range."""
        if self.numbers is None:
            return self.missing
        if not self.cut:
            text = _listed(self.numbers)
            if len(text) <= LONGEST:
                return text
        return self.range

    @property
    def range(self) -> str:
        """From where to where the finite elements go, and how many there are of the others."""
        if self.low is None:
            return f"{self.odd} not finite" if self.odd else "no elements"
        low, high = _number(self.low), _number(self.high)
        span = f"all {low}" if self.low == self.high else f"{low} to {high}"
        return f"{span}, {self.odd} not finite" if self.odd else span

    @property
    def long(self) -> str:
        """The numbers in columns, with dots where some are left out."""
        if self.numbers is None:
            return self.missing
        width = max((len(_number(value, 6)) for value in self.numbers.flat), default=0)
        return np.array2string(
            self.numbers,
            max_line_width=WIDTH,
            separator=", ",
            threshold=0 if self.cut else WHOLE,
            edgeitems=_ends(self.numbers.ndim),
            formatter={"all": lambda value: _number(value, 6).rjust(width)},
        )


def absent(words: str) -> Glimpse:
    """A glimpse of nothing, and why."""
    return Glimpse(words)


NONE = absent("none")
"""There is no such gradient: nothing asked for it, or no sweep came by."""
FREED = absent("freed")
"""There was one, and nothing holds it any more."""


def glimpse(t: Tensor) -> Glimpse:
    """Look at a tensor as it is now."""
    reason = unreadable(t)
    if reason:
        return Glimpse(reason, t.shape, t.dtype.name)
    array = t.numpy()
    low, high, odd = _range(array)
    cut = t.size > WHOLE
    numbers = edges(t.detach(), _ends(t.ndim)) if cut else array.copy()
    return Glimpse("", t.shape, t.dtype.name, numbers, cut, low, high, odd)


def _ends(ndim: int) -> int:
    return ENDS.get(ndim, 1)


def _range(array: np.ndarray) -> tuple:
    finite = array
    if array.dtype.kind == "f":
        seen = np.isfinite(array)
        if not seen.all():
            finite = array[seen]
    odd = array.size - finite.size
    return (finite.min().item(), finite.max().item(), odd) if finite.size else (None, None, odd)


def _listed(array: np.ndarray) -> str:
    if array.ndim == 0:
        return _number(array.item())
    return f"[{', '.join(map(_listed, array))}]"


def _number(value, digits: int = 4) -> str:
    """So many digits of a float, and all of a whole one that has few."""
    if not isinstance(value, (float, np.floating)):
        return str(value)
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < MILLION else format(number, f".{digits}g")
