"""What a routine needs from elsewhere: symbols that it declares, and values that other routines store.

Imports the recorder and planned memory; it plans and runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..backend.planned import PlannedMemory
from ..errors import ArgumentError, MemoryModeError
from .recorder import Recorder
from .symbol import Symbol

__all__ = ["declared", "from_others"]


def declared(recorder: Recorder, symbols: Iterable[Symbol] | None, name: str) -> tuple[Symbol, ...]:
    """The symbols of a routine, in order.

    Raises
    ------
    ArgumentError
        If one that it uses is not among those that are given, or these are no sequence.
    """
    used = recorder.used_symbols()
    if symbols is None:
        return used
    if not isinstance(symbols, Iterable):
        raise ArgumentError(f"routine {name!r} takes its bindings as a sequence of symbols, and got {symbols!r}")
    found = tuple(symbols)
    missing = [s.name for s in used if not any(s is other for other in found)]
    if missing:
        raise ArgumentError(f"routine {name!r} uses the symbols {', '.join(missing)}: declare them in bindings")
    return found


def from_others(recorder: Recorder, name: str) -> list[PlannedMemory]:
    """Values that a routine reads before it writes them and that others produce.

    Raises
    ------
    MemoryModeError
        If nobody keeps one, or another routine computes what this one would compute.
    """
    written: set[int] = set()
    found: dict[int, PlannedMemory] = {}
    for statement in recorder.statements:
        for memory in statement.reads:
            if not isinstance(memory, PlannedMemory) or id(memory) in written or memory.mode == "constant":
                continue
            if memory.nbytes == 0:  # no statement writes what holds nothing
                continue
            if memory.mode == "undecided":
                raise MemoryModeError(
                    f"routine {name!r}: statement {statement.name} reads a value that nothing has written. Make the "
                    "routine that produces it first, or join the programs with fnb.train.sequence"
                )
            if memory.mode != "stored":
                raise MemoryModeError(f"routine {name!r}: {statement.name} reads what is not kept: {memory.reason}")
            found[id(memory)] = memory
        for memory in statement.writes:
            if isinstance(memory, PlannedMemory) and memory.mode != "undecided" and id(memory) not in found:
                raise MemoryModeError(
                    f"routine {name!r} would compute with {statement.name} what another routine computes already: join "
                    "the programs with fnb.train.sequence before to_routine, or capture the step again"
                )
        written.update(map(id, statement.writes))
    return list(found.values())
