"""Where each intermediate value of a program lives: scratch in one arena, or stored.

A value is alive from the statement that first writes it to the last that touches it. Scratch values whose lives do not
overlap share bytes; stored values, which can be read after a run, have their own.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..backend.planned import NOT_RUN, SCRATCH, PlannedMemory
from ..errors import MemoryModeError
from .statements import Launch, Product

ALIGN = 64
ROOMY = 1 << 22
"""Bytes of scratch up to which no value takes another's place: statements then wait for what they read, no more."""


@dataclass
class Plan:
    """Bytes of scratch and of stored values, and how many bytes they would take without sharing."""

    scratch: int
    stored: int
    unshared: int


def lifetimes(statements: list[Launch | Product]) -> dict[int, tuple[int, int, PlannedMemory]]:
    """First and last statement of each planned memory, by its id.

    Raises
    ------
    MemoryModeError
        If a value is read before any statement writes it.
    """
    lives: dict[int, tuple[int, int, PlannedMemory]] = {}
    for position, statement in enumerate(statements):
        for memory in statement.reads:
            if _plannable(memory) and id(memory) not in lives:
                raise MemoryModeError(f"statement {position} ({statement.name}) reads a value that nothing has written")
        for memory in (*statement.reads, *statement.writes):
            if _plannable(memory):
                first = lives[id(memory)][0] if id(memory) in lives else position
                lives[id(memory)] = (first, position, memory)
    return lives


def _plannable(memory) -> bool:
    return isinstance(memory, PlannedMemory) and memory.mode == "undecided"


def place(statements: list[Launch | Product], backend, name: str) -> tuple[Plan, object]:
    """Give every planned memory of a program its address; returns the plan and the arena."""
    lives = lifetimes(statements)
    kept = [memory for _, _, memory in lives.values() if memory.keep]
    scratch = [life for life in lives.values() if not life[2].keep]
    roomy = sum(_rounded(memory.nbytes) for _, _, memory in scratch) <= ROOMY
    offsets, size = _side_by_side(scratch) if roomy else _pack(scratch)
    stored_at, stored = {}, size
    for memory in kept:
        stored_at[id(memory)] = stored
        stored += _rounded(memory.nbytes)
    arena = backend.allocate(max(stored, ALIGN))
    for memory in kept:
        memory.place(arena.address + stored_at[id(memory)], arena, "stored", NOT_RUN.format(name=name))
    for _, _, memory in lives.values():
        if not memory.keep:
            memory.place(arena.address + offsets[id(memory)], arena, "scratch", SCRATCH.format(name=name))
    unshared = sum(_rounded(memory.nbytes) for _, _, memory in lives.values())
    return Plan(size, stored - size, unshared), arena


def _rounded(nbytes: int) -> int:
    return max(ALIGN, -(-nbytes // ALIGN) * ALIGN)


def _side_by_side(lives: list[tuple[int, int, PlannedMemory]]) -> tuple[dict[int, int], int]:
    """Offsets of blocks that share nothing."""
    offsets, total = {}, 0
    for _, _, memory in lives:
        offsets[id(memory)] = total
        total += _rounded(memory.nbytes)
    return offsets, total


def _pack(lives: list[tuple[int, int, PlannedMemory]]) -> tuple[dict[int, int], int]:
    """Offsets of blocks, largest first, each at the lowest place that is free during its life."""
    placed: list[tuple[int, int, int, int]] = []
    offsets: dict[int, int] = {}
    total = 0
    for first, last, memory in sorted(lives, key=lambda life: (-life[2].nbytes, life[0])):
        size = _rounded(memory.nbytes)
        start = 0
        for low, high, begin, end in sorted(p for p in placed):
            if begin <= last and first <= end:
                if start + size <= low:
                    break
                start = max(start, high)
        placed.append((start, start + size, first, last))
        offsets[id(memory)] = start
        total = max(total, start + size)
    return offsets, total
