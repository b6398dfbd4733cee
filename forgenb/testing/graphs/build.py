"""Draw a random graph, one op after another: `build`, and the `Builder` that recipes draw with.

Every choice is a whole number below another one, from a generator of NumPy or from Hypothesis alike, so that one code
draws both. Values are computed by the references of the op table as the graph grows: a step whose operands are near a
kink, or whose result is not finite, is taken back and another one drawn.

Imports the graph, recipes, margins and domains. No op is named here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from ...ops import TABLE
from ..samples import several
from .domains import DOMAINS, sample
from .graph import Entry, Graph, Leaf, Step, by_reference
from .margins import clear
from .recipes import RECIPES

T = TypeVar("T")
Pick = Callable[[int], int]
"""Draws a whole number from 0 to one less than its argument."""

SHAPES: tuple[tuple[int, ...], ...] = ((3,), (4,), (2, 3), (3, 4), (3, 3), (1, 4), (2, 3, 4), (2, 1, 3), ())
LARGEST, MOST_AXES, BOUND = 64, 4, 1e3
ATTEMPTS = 20


class Rejected(Exception):
    """A step that is not taken: nothing is wrong, another one is drawn."""


class Builder:
    """A graph in the making.

    Attributes
    ----------
    pick : callable
        See `Pick`.
    entries : list of Leaf or Step
    values : list of ndarray
        By number.
    tracked : list of bool
        Whether a gradient flows back from the value of that number.
    steps : int
        How many of the entries are steps.
    recordable : bool
        See `build`.
    """

    def __init__(self, pick: Pick, seed: int, most: int, recordable: bool = False):
        self.pick = pick
        self.seed = seed
        self.most = most
        self.recordable = recordable
        self.entries: list[Entry] = []
        self.values: list[np.ndarray] = []
        self.tracked: list[bool] = []
        self.steps = 0

    def one_of(self, choices: Sequence[T]) -> T:
        """One of the choices; Hypothesis shrinks towards the first."""
        return choices[self.pick(len(choices))]

    def coin(self) -> bool:
        """True half of the time."""
        return self.pick(2) == 1

    def settings(self, **choices: Sequence) -> dict[str, Any]:
        """Some of the keywords, each with one of its choices; others keep their default."""
        return {name: self.one_of(found) for name, found in choices.items() if self.coin()}

    def leaf(self, shape: tuple[int, ...], domain: str = "mild", tracked: bool = True) -> int:
        """A new leaf, or a constant."""
        rng = np.random.default_rng((self.seed, len(self.values)))
        return self._given(sample(domain, shape, rng), tracked)

    def whole(self, array) -> int:
        """A new constant of ids or truth values."""
        return self._given(np.asarray(array), False)

    def ids(self, shape: tuple[int, ...], below: int) -> int:
        """New whole numbers from 0 to `below` - 1."""
        drawn = [self.pick(below) for _ in range(int(np.prod(shape)))]
        return self.whole(np.array(drawn, np.int64).reshape(shape))

    def places(self, shape: tuple[int, ...], size: int) -> int:
        """New places on an axis of a size, counted from either end."""
        found = self.ids(shape, size)
        if not self.recordable and self.coin():
            self.values[found] -= size
        return found

    def _given(self, array: np.ndarray, tracked: bool) -> int:
        number = len(self.values)
        self.entries.append(Leaf(number, array, tracked))
        self.values.append(array)
        self.tracked.append(tracked)
        return number

    def shape(self, number: int) -> tuple[int, ...]:
        """The shape of a value."""
        return self.values[number].shape

    def having(self, fits: Callable[[np.ndarray], bool], kind: str = "f") -> list[int]:
        """Numbers of the values of a kind of dtype that fit."""
        return [n for n, v in enumerate(self.values) if v.dtype.kind == kind and fits(v)]

    def recent(self, numbers: Sequence[int]) -> int:
        """One of them, later ones more often."""
        return numbers[-1 - min(self.pick(len(numbers)), self.pick(len(numbers)))]

    def real(self, domain: str = "tame", fits: Callable[[np.ndarray], bool] = lambda v: True, shapes=SHAPES) -> int:
        """A value of floats that fits, in a domain; a new leaf of one of the shapes where there is none."""
        found = self.having(fits)
        if not found or self.pick(8) == 7:
            return self.leaf(self.one_of([s for s in shapes if fits(np.empty(s))]), domain)
        return self.inside(self.recent(found), domain)

    def shaped(self, shape: tuple[int, ...], domain: str = "tame") -> int:
        """A value of this shape: one that is there, one of its size in another shape, or a new leaf."""
        found = self.having(lambda v: v.shape == shape)
        if found and self.pick(4):
            return self.inside(self.recent(found), domain)
        size = int(np.prod(shape))
        found = self.having(lambda v: v.size == size and v.shape != shape)
        if found and self.coin():
            return self.inside(self.apply("reshape", self.recent(found), shape=shape), domain)
        return self.leaf(shape, domain)

    def inside(self, number: int, domain: str) -> int:
        """The value, or what repairs make of it."""
        for _ in range(3):
            if DOMAINS[domain].holds(self.values[number]):
                return number
            number = DOMAINS[domain].repair(self, number)
        raise Rejected(domain)

    def axis(self, number: int) -> int:
        """One axis of a value, counted from either end."""
        axes = len(self.shape(number))
        if not axes:
            raise Rejected("no axis")
        return self.pick(2 * axes) - axes

    def axes(self, number: int) -> int | tuple[int, ...] | None:
        """Axes to reduce: none named, one, or several in any order."""
        if not self.values[number].ndim or not self.pick(3):
            return None
        if self.coin():
            return self.axis(number)
        left = list(range(self.values[number].ndim))
        chosen = [left.pop(self.pick(len(left))) for _ in range(1 + self.pick(len(left)))]
        return tuple(a - self.values[number].ndim if self.coin() else a for a in chosen)

    def apply(self, op: str, *operands, **keywords) -> int:
        """Add a step; the number of its first result."""
        return self.results(op, *operands, **keywords)[0]

    def results(self, op: str, *operands, **keywords) -> tuple[int, ...]:
        """Add a step; the numbers of all its results."""
        arrays = [self.values[o] if type(o) is int else o for o in operands]
        if self.steps >= self.most or not clear(op, [a for a in arrays if a is not None], keywords):
            raise Rejected(op)
        first = len(self.values)
        found = [np.asarray(r) for r in several(by_reference(Step(op, operands, keywords, ()), arrays))]
        if not all(map(self._usable, found)):
            raise Rejected(op)
        moving = any(
            type(o) is int and self.tracked[o] and p in TABLE[op].differentiable for p, o in enumerate(operands)
        )
        self.values += found
        self.tracked += [moving and v.dtype.kind == "f" for v in found]
        numbers = tuple(range(first, len(self.values)))
        self.entries.append(Step(op, operands, keywords, numbers))
        self.steps += 1
        return numbers

    def _usable(self, v: np.ndarray) -> bool:
        right = 0 < v.size <= LARGEST and v.ndim <= MOST_AXES and v.dtype.name in ("float64", "int64", "bool")
        return right and (v.dtype.kind != "f" or bool(np.all(np.abs(v) <= BOUND)))

    def attempt(self, name: str) -> None:
        """Draw one op; where it is rejected, all that was drawn for it is taken back."""
        before = len(self.entries), len(self.values), self.steps
        try:
            RECIPES[name](self, name)
        except Rejected:
            del self.entries[before[0] :], self.values[before[1] :], self.tracked[before[1] :]
            self.steps = before[2]

    def graph(self) -> Graph:
        """What was drawn, but for leaves that nothing reads; it watches results that nothing reads, and some others."""
        read = {n for e in self.entries if isinstance(e, Step) for n in e.reads}
        moving = [n for n, tracked in enumerate(self.tracked) if tracked]
        made = {n for e in self.entries if isinstance(e, Step) for n in e.results}
        watched = [n for n in moving if n in read | made and (n not in read or not self.pick(3))]
        watched = watched or moving[-1:]
        entries = tuple(e for e in self.entries if isinstance(e, Step) or e.number in read or e.number in watched)
        return Graph(entries, tuple(watched), self.values, self.tracked, self.seed)


def build(
    pick: Pick, seed: int, least: int, most: int, names: Iterable[str] | None = None, recordable: bool = False
) -> Graph:
    """A random graph.

    Parameters
    ----------
    pick : callable
        The source of all choices, see `Pick`.
    seed : int
        Of the numbers in leaves and cotangents.
    least, most : int
        Bounds of the number of ops, which is drawn too.
    names : iterable of str, optional
        Ops to draw from, by default all that have a recipe; repairs of domains may bring in others.
    recordable : bool
        Whether a routine must take the graph: no id is negative, or computed by another op.

    Returns
    -------
    Graph
        Of fewer than `least` ops only if draw after draw was rejected.
    """
    wanted = least + pick(most - least + 1)
    b = Builder(pick, seed, wanted, recordable)
    drawn = sorted(RECIPES if names is None else names)
    b.leaf(b.one_of(SHAPES))
    for _ in range(ATTEMPTS * wanted):
        if b.steps >= wanted:
            break
        b.attempt(b.one_of(drawn))
    return b.graph()
