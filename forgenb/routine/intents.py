"""What a step returns is stored, whatever else was asked of it; and so is everything, where somebody wants to look.

Imports planned memory, statements and tensors; other decisions are kept by `fuse` and `plan`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..backend.planned import PlannedMemory
from ..errors import MemoryModeError
from ..tensor import Tensor
from .statements import Launch, Product


def check_outputs(outputs: Iterable[Tensor], name: str) -> None:
    """Results of a step are stored.

    Raises
    ------
    MemoryModeError
        If one was to be inlined.
    """
    for output in outputs:
        if isinstance(output.memory, PlannedMemory):
            place = output.memory.decisions.get("inline")
            if place is not None:
                raise MemoryModeError(
                    f"inline() at {place} conflicts with the return from step {name!r}: a result is stored, so drop "
                    "one of the two"
                )
            output.memory.keep = True


def retain_undecided(statements: Iterable[Launch | Product], where: str) -> None:
    """Store every value that statements compute, except constants and what was to be inlined.

    Raises
    ------
    MemoryModeError
        If a routine that was made of them has not kept one.
    """
    for memory in {id(m): m for s in statements for m in s.writes}.values():
        if isinstance(memory, PlannedMemory) and memory.mode != "constant" and "inline" not in memory.decisions:
            memory.decide("retain", where)
