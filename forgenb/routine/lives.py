"""When the values of a program are alive, which of them may follow one another in one place, and the bytes in use.

A value is alive from the statement that first touches it to the last that does. Imports statements and planned memory;
it orders and places nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..backend.planned import PlannedMemory
from ..backend.sizes import aligned
from ..errors import MemoryModeError
from .statements import Launch, Product

ALIGN = 64

Statement = Launch | Product
Lives = dict[int, tuple[int, int, PlannedMemory]]
"""First and last statement of each planned memory, by its id."""


def plannable(memory) -> bool:
    """Whether planning gives this memory its place."""
    return isinstance(memory, PlannedMemory) and memory.mode == "undecided"


def shareable(memory) -> bool:
    """Whether other values may lie in its place before and after its life."""
    return plannable(memory) and not memory.keep


def rounded(nbytes: int) -> int:
    """The bytes that a block of `nbytes` takes."""
    return aligned(nbytes, ALIGN)


def lifetimes(statements: Sequence[Statement]) -> Lives:
    """First and last statement of each planned memory, by its id.

    Raises
    ------
    MemoryModeError
        If a value is read before any statement writes it, unless it holds nothing.
    """
    lives: Lives = {}
    for position, statement in enumerate(statements):
        for memory in statement.reads:
            known = lives.get(id(memory))
            if known is not None:
                lives[id(memory)] = (known[0], position, memory)
            elif plannable(memory) and memory.nbytes:
                raise MemoryModeError(f"statement {position} ({statement.name}) reads a value that nothing has written")
        for memory in statement.writes:
            known = lives.get(id(memory))
            if known is not None or plannable(memory):
                lives[id(memory)] = (position if known is None else known[0], position, memory)
    return lives


def successions(statements: Sequence[Statement], lives: Lives) -> list[tuple[int, PlannedMemory, PlannedMemory]]:
    """Position, dying value and new value of pointwise statements that may write over what they read for the last time.

    Both must have the same bytes, dtype and strides, so that each element is read before its place is written.
    """
    found = []
    for position, statement in enumerate(statements):
        if isinstance(statement, Launch) and statement.kernel.form == "map":
            begun = [m for m in statement.writes if shareable(m) and lives[id(m)][0] == position]
            ended = [m for m in statement.reads if shareable(m) and lives[id(m)][1] == position] if begun else []
            if ended:
                found += [(position, old, new) for old, new in _pairs(statement, begun, ended)]
    return found


def _pairs(statement: Launch, begun: list, ended: list) -> Iterator[tuple[PlannedMemory, PlannedMemory]]:
    layouts = _layouts(statement)
    for new in begun:
        for old in ended:
            same = len(layouts[id(new)]) == 1 and layouts[id(old)] == layouts[id(new)]
            if same and old is not new and rounded(old.nbytes) == rounded(new.nbytes):
                ended = [m for m in ended if m is not old]
                yield old, new
                break


def _layouts(statement: Launch) -> dict[int, set[tuple]]:
    """The ways in which a map sees each memory: dtype, offset and strides."""
    found: dict[int, set[tuple]] = {}
    for stored, (place, strides) in zip(statement.storage, statement.of_map().operands, strict=True):
        found.setdefault(id(place.memory), set()).add((stored, place.offset, *strides))
    return found


def usage(statements: Sequence[Statement], lives: Lives | None = None) -> list[int]:
    """Bytes of scratch that are in use while each statement runs."""
    lives = lifetimes(statements) if lives is None else lives
    change = [0] * (len(statements) + 1)
    for first, last, memory in lives.values():
        if not memory.keep:
            change[first] += rounded(memory.nbytes)
            change[last + 1] -= rounded(memory.nbytes)
    found, now = [], 0
    for step in change[:-1]:
        now += step
        found.append(now)
    for position, _, memory in successions(statements, lives):
        found[position] -= rounded(memory.nbytes)
    return found
