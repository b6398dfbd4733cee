"""What happens on a tape, in order: values as they are computed, and gradients as they arrive and leave.

Glimpses are taken at once, since values are freed and gradients are added to in place; each is small. Imports
pictures' glimpses and nodes; a tape without a journal must not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType

from ..picture.glimpse import NONE, Glimpse, glimpse
from ..tape import Node
from ..tensor import Tensor

__all__ = ["Journal", "Leaving", "Step", "rule_of"]


@dataclass(frozen=True)
class Leaving:
    """A gradient that a closure returned: for which entry (None for what is not on the tape) and which result of it."""

    entry: int | None
    index: int
    grad: Glimpse


@dataclass(frozen=True)
class Step:
    """One thing that happened.

    Attributes
    ----------
    kind : str
        ``"leaf"`` (first used), ``"forward"``, ``"changed"`` (written in place), ``"backward"`` or ``"arrived"`` (a
        gradient at the end of its way).
    entry : int
        The number on the tape.
    seen : tuple of Glimpse
        The values of its results, or the gradients that arrived for them.
    leaving : tuple of Leaving
        What its closure returned, one for each input.
    """

    kind: str
    entry: int
    seen: tuple[Glimpse, ...]
    leaving: tuple[Leaving, ...] = ()


class Journal:
    """The steps so far, the last that showed an entry's values and its gradients, and the code of its closure."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.values: dict[int, Step] = {}
        self.grads: dict[int, Step] = {}
        self.rules: dict[int, tuple[CodeType, ...]] = {}
        self._versions: dict[int, list[int | None]] = {}

    def computed(self, entry: int, node: Node, outputs: Sequence[Tensor]) -> None:
        """An op was recorded, or a leaf was used for the first time."""
        self._note(Step("leaf" if node.leaf else "forward", entry, tuple(map(glimpse, outputs))), self.values)
        self.rules[entry] = rule_of(node.backward)

    def used(self, entry: int, results: Sequence[Tensor | None]) -> None:
        """An entry is about to be read: note its values if one was written in place; None is a result that is gone."""
        versions = [None if t is None else t.memory.version for t in results]
        before = self._versions.setdefault(entry, versions)
        if any(now is not None and now != then for now, then in zip(versions, before, strict=True)):
            known = self.values[entry].seen
            seen = tuple(known[k] if t is None else glimpse(t) for k, t in enumerate(results))
            self._note(Step("changed", entry, seen), self.values)
        self._versions[entry] = versions

    def carried(self, entry: int, arriving: Sequence, leaving: Sequence[Leaving]) -> None:
        """A sweep came by; `arriving` has a gradient, or None, for each result."""
        seen = tuple(NONE if grad is None else glimpse(grad) for grad in arriving)
        self._note(Step("backward" if leaving else "arrived", entry, seen, tuple(leaving)), self.grads)

    def _note(self, step: Step, latest: dict[int, Step]) -> None:
        self.steps.append(step)
        latest[step.entry] = step


def rule_of(backward: Callable | None) -> tuple[CodeType, ...]:
    """The code of a closure, and of functions from outside forgenb that it calls, such as a custom op's rule."""
    if not isinstance(backward, FunctionType):
        return ()
    cells = [cell.cell_contents for cell in backward.__closure__ or ()]
    others = [f for f in cells if isinstance(f, FunctionType) and not (f.__module__ or "").startswith("forgenb.")]
    return tuple(function.__code__ for function in (*others, backward))
