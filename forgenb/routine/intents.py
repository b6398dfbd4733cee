"""What a step returns is stored, whatever else was asked of it.

Imports planned memory and tensors; other decisions are kept by `fuse` and `plan`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..backend.planned import PlannedMemory
from ..errors import MemoryModeError
from ..tensor import Tensor


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
