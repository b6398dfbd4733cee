"""What users ask of intermediate values (`retain`, `materialize`, `inline`), checked before planning.

Imports statements and planned memory; planning itself is `plan`.
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


def check_inline(statements: list[Launch | Product]) -> None:
    """A value can be inlined where one pointwise statement makes it and one pointwise statement uses it.

    Raises
    ------
    MemoryModeError
        If a value that is to be inlined cannot be, with the reason.
    """
    wanted = {id(m): m for s in statements for m in s.writes if "inline" in getattr(m, "decisions", ())}
    for memory in wanted.values():
        writers = [s for s in statements if any(m is memory for m in s.writes)]
        readers = [s for s in statements if any(m is memory for m in s.reads)]
        reason = _obstacle(memory, writers, readers)
        if reason:
            raise MemoryModeError(f"inline() at {memory.decisions['inline']} cannot be done: {reason}")


def _obstacle(memory: PlannedMemory, writers: list, readers: list) -> str:
    if memory.keep:
        return "the value is stored, since something outside reads it"
    if len(writers) != 1 or len(readers) != 1:
        return f"the value is written by {len(writers)} statements and read by {len(readers)}, and each must be one"
    for statement, what in ((writers[0], "made"), (readers[0], "used")):
        if not isinstance(statement, Launch) or statement.kernel.form != "map":
            return f"it is {what} by {statement.name}, which is not pointwise"
    if writers[0].extent != readers[0].extent:
        return f"{readers[0].name} uses each element more than once"
    return ""
