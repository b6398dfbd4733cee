"""What is known of the results on a tape: those that are still held, and what a journal has noted of the others.

Results are referred to weakly, so a tape keeps nothing alive by it. Imports glimpses, the journal and nodes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import CodeType

from ..picture.glimpse import FREED, NONE, Glimpse, glimpse
from ..tape import Node, Parent
from ..tensor import Tensor
from .journal import Journal, Leaving, Step, rule_of

__all__ = ["Known"]


class Known:
    """The results of a tape's entries, by the numbers of entries; `keep` says whether there is a journal."""

    def __init__(self, keep: bool):
        self.journal = Journal() if keep else None
        self._nodes: list[Node] = []
        self._results: list[list[tuple[weakref.ref, int]]] = []
        self._swept: set[int] = set()

    def add(self, node: Node, outputs: Sequence[Tensor]) -> None:
        """Take in the next entry; the tensor of a leaf is known by its node."""
        leaf = None if node.tensor is None else node.tensor()
        outputs = outputs if leaf is None else (leaf,)
        if self.journal is not None:
            self.journal.computed(len(self._nodes), node, outputs)
        self._nodes.append(node)
        self._results.append([(weakref.ref(tensor), tensor.memory.version) for tensor in outputs])

    def used(self, entry: int) -> None:
        """An entry is about to be read: its results may have been written in place."""
        if self.journal is not None:
            self.journal.used(entry, [made() for made, _ in self._results[entry]])

    def swept(self, entry: int) -> None:
        """A sweep called the closure of an entry."""
        self._swept.add(entry)

    def carried(self, entry: int, arriving: Sequence, results: Sequence, entry_of: Callable) -> None:
        """Note the gradients that arrived at an entry and those that its closure returned."""
        if self.journal is None:
            return
        leaving = [_leaving(parent, grad, entry_of) for parent, grad in zip(self._nodes[entry].parents, results)]
        self.journal.carried(entry, [None if grad is None else grad[0] for grad in arriving], leaving)

    def values(self, entry: int) -> tuple[Glimpse, ...]:
        """The results of an entry as they are now or were noted, or that they are freed."""
        return tuple(self._value(entry, index) for index in range(len(self._nodes[entry].layouts)))

    def grads(self, entry: int) -> tuple[Glimpse, ...]:
        """The gradients of an entry's results as they are kept or were noted, or why there are none."""
        return tuple(self._grad(entry, index) for index in range(len(self._nodes[entry].layouts)))

    def steps(self) -> list[Step]:
        """What happened, as far as it was noted; without a journal, that each entry was computed."""
        for entry in range(len(self._nodes)):
            self.used(entry)
        if self.journal is not None:
            return self.journal.steps
        kinds = ("leaf" if node.leaf else "forward" for node in self._nodes)
        return [Step(kind, entry, self.values(entry)) for entry, kind in enumerate(kinds)]

    def rules(self) -> dict[int, tuple[CodeType, ...]]:
        """The code of each entry's closure, where that is not freed."""
        if self.journal is not None:
            return self.journal.rules
        return {entry: rule_of(node.backward) for entry, node in enumerate(self._nodes)}

    def _value(self, entry: int, index: int) -> Glimpse:
        for made, version in self._results[entry][index : index + 1]:
            tensor = made()
            if tensor is not None:
                return replace(glimpse(tensor), changed=tensor.memory.version != version)
        if self.journal is not None:
            return self.journal.values[entry].seen[index]
        output = self._nodes[entry].output
        return glimpse(output) if output is not None and index == 0 else FREED

    def _grad(self, entry: int, index: int) -> Glimpse:
        node = self._nodes[entry]
        if index in node.grads:
            return glimpse(node.grads[index])
        if self.journal is not None and entry in self.journal.grads and not node.leaf:
            return self.journal.grads[entry].seen[index]
        return FREED if entry in self._swept or node.consumed else NONE


def _leaving(parent: Parent, grad: Tensor | None, entry_of: Callable) -> Leaving:
    entry, index = (None, 0) if parent is None else (entry_of(parent[0].number), parent[1])
    return Leaving(entry, index, NONE if grad is None else glimpse(grad))
