"""How much memory the recorded step takes op by op, found while it is recorded.

A recorded step runs the same Python as an eager one: it allocates in the same order, and lets go of its tensors at the
same places. Only the recording itself keeps every block. So a block would be free in eager code as soon as nothing but
the recording refers to it, which its reference count tells.

Imports statements and the standard library.
"""

from __future__ import annotations

import sys
from collections import Counter

from .statements import Launch, Place, Product

__all__ = ["EagerMemory"]


class EagerMemory:
    """The most bytes that were alive at once among the blocks that a step has allocated so far.

    Attributes
    ----------
    peak : int
        In bytes, each block as large as it was asked for.
    """

    def __init__(self):
        self.peak = self._now = 0
        self._live: list = []
        self._kept: Counter[int] = Counter()
        self._live.append(_Probe())
        self._own = self._references(0)  # those of the list and of the count itself
        self._live.clear()

    def allocated(self, memory, others: int) -> None:
        """A new block; `others` is how many references the recording holds to each block besides its statements."""
        self._sweep(others)
        self._live.append(memory)
        self._now += memory.nbytes
        self.peak = max(self.peak, self._now)

    def stated(self, statement: Launch | Product) -> None:
        """The recording has a further statement, which refers to its operands."""
        self._kept.update(map(id, held(statement)))

    def kept(self, memory) -> None:
        """The recording refers to a block once more."""
        self._kept[id(memory)] += 1

    def _sweep(self, others: int) -> None:
        dead = [
            number
            for number in range(len(self._live))
            if self._references(number) <= self._own + others + self._kept[id(self._live[number])]
        ]
        for number in reversed(dead):
            self._now -= self._live.pop(number).nbytes

    def _references(self, number: int) -> int:
        return sys.getrefcount(self._live[number])


class _Probe:
    """Something that nothing else refers to."""


def held(statement: Launch | Product) -> list:
    """Every reference to a block in a statement."""
    numbers = statement.values if isinstance(statement, Launch) else statement.places
    places = [number.memory for number in numbers if isinstance(number, Place)]
    return [*places, *statement.reads, *statement.writes]
