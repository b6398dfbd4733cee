"""Static symbols: whole numbers that are chosen before each run, such as the number of the batch.

One routine then serves every batch and step. Each routine has cells of its own, in the order of declaration.
Imports late numbers; a symbol belongs to no routine.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Mapping
from contextvars import ContextVar

from ..errors import ArgumentError, BindingError, IndexRangeError, MemoryModeError, ShapeError
from .late import Late

CELLS: ContextVar[Mapping[Symbol, int] | None] = ContextVar("forgenb_cells", default=None)
"""The values of the run in progress: a snapshot, taken when it was asked for."""

_ORDER = itertools.count()


class Symbol(Late):
    """A number that a routine reads from its cell. Make one with `forgenb.symbol`.

    Attributes
    ----------
    name : str
    range : int or None
        Values are from 0 up to it; None leaves them free.
    """

    __slots__ = ("name", "order", "range")

    def __init__(self, name: str, range: int | None = None):
        self.name, self.range, self.order = name, range, next(_ORDER)
        super().__init__(self._now, (self,))

    def _now(self) -> int:
        cells = CELLS.get()
        if cells is None:
            raise MemoryModeError(
                f"symbol {self.name!r} has a value only while a routine runs: compute with it inside a recorded step, "
                "and choose its value with routine.run or routine.bindings"
            )
        if self not in cells:
            raise BindingError(f"symbol {self.name!r} is used by a routine that does not declare it in its bindings")
        return cells[self]

    def as_position(self, shape: tuple[int, ...], axis: int) -> Late:
        """See `Late.as_position`.

        Raises
        ------
        ShapeError
            If the range goes beyond the axis.
        """
        if self.range is not None and self.range > shape[axis]:
            raise ShapeError(
                f"symbol {self.name!r} with range {self.range} cannot index axis {axis} of shape {shape}, which has "
                f"{shape[axis]} entries"
            )
        return super().as_position(shape, axis)

    def __repr__(self) -> str:
        return f"symbol({self.name!r}{f', range={self.range}' if self.range is not None else ''})"


def symbol(name: str, range: int | None = None) -> Symbol:
    """Make a static symbol: a whole number that is chosen before each run of a routine.

    In a recorded step, ``data[s]`` is a slice without a copy, and arithmetic with `s` gives a host number that is
    worked out before each run (``lr * (2 * steps - s) / steps``).

    Parameters
    ----------
    name : str
        A Python name, by which ``routine.run(name=3)`` finds it.
    range : int, optional
        Values must lie in ``0 .. range - 1``, which is checked before each launch.

    Raises
    ------
    ArgumentError
        If the name is none, or the range is not a whole number above 0.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ArgumentError(f"a symbol needs a Python name, got {name!r}")
    whole = isinstance(range, int) and not isinstance(range, bool)
    if range is not None and not (whole and range > 0):
        raise ArgumentError(f"symbol {name!r} got range={range!r}: give a whole number above 0, or None")
    return Symbol(name, range)


class Bindings:
    """The cells of one routine, in the order of declaration, first is outermost; each starts at 0.

    ``routine.bindings[s] = 3`` sets one; a symbol's name does as well as the symbol.

    Raises
    ------
    ArgumentError
        If two symbols have one name, there is something else, or a value is not a whole number.
    BindingError
        For a symbol that the routine does not have (also a KeyError).
    """

    def __init__(self, symbols: tuple[Symbol, ...], routine: str):
        self._routine = routine
        for s in symbols:
            if not isinstance(s, Symbol):
                raise ArgumentError(f"bindings of {routine!r} hold symbols, and got {s!r}: make one with fnb.symbol")
        self._cells: dict[Symbol, int] = dict.fromkeys(symbols, 0)
        self._named: dict[str, Symbol] = {}
        for s in symbols:
            if s.name in self._named:
                raise ArgumentError(f"routine {routine!r} got two symbols of the name {s.name!r}: each needs its own")
            self._named[s.name] = s

    def _find(self, key: Symbol | str) -> Symbol:
        found = self._named.get(key) if isinstance(key, str) else key
        if isinstance(found, Symbol) and found in self._cells:
            return found
        label = repr(getattr(key, "name", key))
        declared = ", ".join(self._named) or "none"
        raise BindingError(f"routine {self._routine!r} has no symbol {label}; it declares: {declared}")

    def __getitem__(self, key: Symbol | str) -> int:
        return self._cells[self._find(key)]

    def __setitem__(self, key: Symbol | str, value: int) -> None:
        self._cells[self._find(key)] = _whole(self._find(key), value)

    def __iter__(self) -> Iterator[Symbol]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)

    def __contains__(self, key: object) -> bool:
        return key in self._named if isinstance(key, str) else any(s is key for s in self._cells)

    def __repr__(self) -> str:
        return f"bindings({', '.join(f'{s.name}={v}' for s, v in self._cells.items())})"

    def snapshot(self, indices: Mapping[str, int]) -> dict[Symbol, int]:
        """The values of one run: the cells, with `indices` in their place; checked.

        Raises
        ------
        IndexRangeError
            If a symbol with a range lies outside it.
        """
        found = dict(self._cells)
        for name, value in indices.items():
            found[self._find(name)] = _whole(self._find(name), value)
        for s, value in found.items():
            if s.range is not None and not 0 <= value < s.range:
                raise IndexRangeError(
                    f"routine {self._routine!r} got {s.name} = {value}: its range is 0 .. {s.range - 1}"
                )
        return found


def _whole(s: Symbol, value) -> int:
    try:
        return operator.index(value)
    except TypeError:
        found = type(value).__name__
        raise ArgumentError(f"symbol {s.name!r} takes whole numbers, got {value!r} of type {found}") from None
