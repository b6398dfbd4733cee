"""Values that a routine stores side by side, so that one statement, copy or message takes them all.

Imports planned memory and layouts; what the values mean is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend.planned import NOT_RUN, PlannedMemory
from ..layout import layout_of
from ..tensor import Tensor
from .lives import rounded


class Arena:
    """A block that holds the values of some tensors of one dtype, in their order, with zeros in the gaps.

    Parameters
    ----------
    parts : sequence of Tensor
        Recorded and not planned yet; each fills a memory of its own.

    Attributes
    ----------
    parts : tuple of Tensor
    begins : tuple of int
        Where each part begins, in elements.
    whole : Tensor
        ``(n,)``: all of the block as one tensor, which can be read after a run of the routine that was made of it.
    """

    def __init__(self, parts: Sequence[Tensor]):
        self.parts = tuple(parts)
        first = self.parts[0]
        sizes = [rounded(part.memory.nbytes) for part in self.parts]
        starts = np.cumsum([0, *sizes]).tolist()
        self.begins = tuple(start // first.dtype.itemsize for start in starts[:-1])
        self.memory = PlannedMemory(starts[-1])
        layout = layout_of((starts[-1] // first.dtype.itemsize,), None, first.dtype, first.backend)
        self.whole = Tensor(self.memory, 0, layout)

    def holds(self) -> set[int]:
        """The ids of the memories of its parts."""
        return {id(part.memory) for part in self.parts}

    def place(self, name: str) -> int:
        """Give all parts their place in a block that holds zeros; returns its bytes. `name` is the routine's."""
        backend: Any = self.whole.backend
        block = backend.allocate(self.memory.nbytes)
        backend.upload(block, np.zeros(self.whole.shape, self.whole.dtype))
        reason = NOT_RUN.format(name=name)
        self.memory.place(block.address, block, "stored", reason)
        for part, begin in zip(self.parts, self.begins, strict=True):
            part.memory.place(block.address + begin * part.dtype.itemsize, block, "stored", reason)
        return self.memory.nbytes

    def alike(self, other: Arena) -> bool:
        """Whether the same values lie in the same places of both."""
        mine, theirs = ([(p.shape, p.strides, p.dtype) for p in arena.parts] for arena in (self, other))
        return mine == theirs and self.begins == other.begins and self.whole.backend is other.whole.backend


def fills_its_memory(t: Tensor) -> bool:
    """Whether a recorded tensor is all that its memory holds, and planning may still choose the place."""
    memory = t.memory
    return (
        isinstance(memory, PlannedMemory) and memory.mode == "undecided" and memory.nbytes == t.size * t.dtype.itemsize
    )
