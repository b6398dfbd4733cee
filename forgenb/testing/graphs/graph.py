"""A random graph as data: leaves and steps in the order they are made, and which values the loss looks at.

Imports NumPy and the op table's references; it knows neither tensors nor PyTorch, which `evaluate` is handed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ...ops import TABLE
from ..samples import several

Value = TypeVar("Value")


@dataclass(frozen=True)
class Leaf:
    """Value `number`, given from outside; floats may be tracked, ids and masks never are."""

    number: int
    array: np.ndarray
    tracked: bool

    @property
    def made(self) -> tuple[int, ...]:
        """The numbers of what it gives."""
        return (self.number,)

    @property
    def reads(self) -> list[int]:
        """Nothing."""
        return []

    def __str__(self) -> str:
        kind = "leaf" if self.tracked else "constant"
        shown = "" if self.array.dtype.kind == "f" else f" {self.array.tolist()}"
        return f"v{self.number} = {kind} {self.array.shape} {self.array.dtype.name}{shown}"


@dataclass(frozen=True)
class Step:
    """One call of an op of the table: ``results = op(*operands, **keywords)``.

    An operand that is an int names a value, a float is itself, and None stands for an operand that is left out.
    """

    op: str
    operands: tuple[int | float | None, ...]
    keywords: dict[str, Any]
    results: tuple[int, ...]

    @property
    def made(self) -> tuple[int, ...]:
        """The numbers of what it gives."""
        return self.results

    @property
    def reads(self) -> list[int]:
        """Numbers of the values that it needs."""
        return [o for o in self.operands if type(o) is int]

    def __str__(self) -> str:
        given = [f"v{o}" if type(o) is int else repr(o) for o in self.operands]
        given += [f"{name}={value!r}" for name, value in self.keywords.items()]
        return f"{', '.join(f'v{r}' for r in self.results)} = {self.op}({', '.join(given)})"


Entry = Leaf | Step


@dataclass(frozen=True, repr=False)
class Graph:
    """What `build` makes.

    Attributes
    ----------
    entries : tuple of Leaf or Step
        Each after those that it needs.
    watched : tuple of int
        The loss is the sum over these values of their product with a random cotangent.
    values : list of ndarray
        Each value by its number, from the references of the op table.
    moving : list of bool
        By number, whether a gradient flows back from the value.
    seed : int
        Of leaves and cotangents.
    """

    entries: tuple[Entry, ...]
    watched: tuple[int, ...]
    values: list[np.ndarray]
    moving: list[bool]
    seed: int

    @property
    def steps(self) -> list[Step]:
        """The entries that are calls."""
        return [e for e in self.entries if isinstance(e, Step)]

    @property
    def leaves(self) -> list[Leaf]:
        """The entries that are given from outside."""
        return [e for e in self.entries if isinstance(e, Leaf)]

    @property
    def tracked(self) -> list[Leaf]:
        """The leaves that get a gradient."""
        return [leaf for leaf in self.leaves if leaf.tracked]

    def cotangent(self, number: int) -> np.ndarray:
        """The weights of one watched value in the loss: of either sign, and none near 0."""
        rng = np.random.default_rng((self.seed, number, 1))
        shape = self.values[number].shape
        return np.asarray(rng.uniform(0.5, 1.0, shape) * rng.choice((-1.0, 1.0), shape))

    def reordered(self, entries: Iterable[Entry]) -> Graph:
        """The same graph made in another order."""
        return Graph(tuple(entries), self.watched, self.values, self.moving, self.seed)

    def until(self, count: int) -> Graph:
        """What the results of the entry before number `count` need, with these results watched."""
        needed = set(self.entries[count - 1].made)
        watched = tuple(n for n in sorted(needed) if self.moving[n])
        kept: list[Entry] = []
        for entry in reversed(self.entries[:count]):
            if not needed.isdisjoint(entry.made):
                needed.update(entry.reads)
                kept.append(entry)
        return Graph(tuple(reversed(kept)), watched, self.values, self.moving, self.seed)

    def __repr__(self) -> str:
        watched = " ".join(f"v{number}" for number in self.watched)
        return "\n".join([f"graph with numbers from seed {self.seed}:", *map(str, self.entries), f"loss of {watched}"])

    def _repr_pretty_(self, printer, cycle: bool) -> None:
        """What Hypothesis and notebooks show, which would print the fields of a dataclass otherwise."""
        printer.text(repr(self))


def evaluate(graph: Graph, leaf: Callable[[Leaf], Value], call: Callable[[Step, list], Any]) -> dict[int, Value]:
    """Every value by its number, given how a leaf is made and how an op is called."""
    found: dict[int, Value] = {}
    for entry in graph.entries:
        if isinstance(entry, Leaf):
            found[entry.number] = leaf(entry)
            continue
        operands = [found[o] if type(o) is int else o for o in entry.operands]
        for number, value in zip(entry.results, several(call(entry, operands)), strict=True):
            found[number] = value
    return found


def by_reference(step: Step, operands: list) -> Any:
    """A call of the op's NumPy reference."""
    arguments = operands
    while arguments and arguments[-1] is None:
        arguments = arguments[:-1]
    with np.errstate(all="ignore"):
        return TABLE[step.op].reference(*arguments, **step.keywords)
