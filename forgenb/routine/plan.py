"""Where each intermediate value of a program lives: scratch in one arena, or stored.

Scratch values whose lives do not overlap share bytes; stored values, which can be read after a run, have their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..backend.planned import NOT_RUN, SCRATCH, PlannedMemory
from .arena import Arena
from .lives import ALIGN, Lives, Statement, lifetimes, plannable, rounded, successions
from .pack import Block, pack
from .rematerialize import rematerialized
from .schedule import scheduled

if TYPE_CHECKING:
    from .recorder import Recorder

ROOMY = 1 << 22
"""Bytes of scratch up to which no value takes another's place: statements then wait for what they read, no more."""


@dataclass
class Plan:
    """Bytes of scratch and of stored values."""

    scratch: int
    stored: int


def unshared(statements: list[Statement]) -> int:
    """Bytes of all intermediate values where none shares its place."""
    return sum(rounded(memory.nbytes) for _, _, memory in lifetimes(statements).values())


def arrange(recorder: Recorder) -> None:
    """Compute the same values in another order, or some of them twice, where that takes less scratch at the peak."""
    if _roomy(lifetimes(recorder.statements)):
        return
    statements = scheduled(rematerialized(scheduled(recorder.statements)))
    known = set(map(id, recorder.memories))
    written = {id(m): m for s in statements for m in s.writes if plannable(m) and id(m) not in known}
    recorder.memories += written.values()
    recorder.statements = statements


def place(
    statements: list[Statement], memories: Iterable[PlannedMemory], backend, name: str, arenas: Iterable[Arena] = ()
) -> tuple[Plan, object]:
    """Give every planned memory of a program its address; returns the plan and the block that holds them.

    So do those of `memories` that no statement writes since they hold nothing. What belongs to one of `arenas` lies
    there.
    """
    beside = sum(arena.place(name) for arena in arenas)
    lives = lifetimes(statements)
    places, scratch = _scratch(statements, lives)
    size = scratch
    for key, (_, _, memory) in lives.items():
        if memory.keep:
            places[key] = size
            size += rounded(memory.nbytes)
    arena = backend.allocate(max(size, ALIGN))
    empty = {id(m): (0, 0, m) for m in memories if plannable(m) and m.nbytes == 0 and id(m) not in lives}
    for key, (_, _, memory) in (lives | empty).items():
        mode, reason = ("stored", NOT_RUN) if memory.keep else ("scratch", SCRATCH)
        memory.place(arena.address + places.get(key, 0), arena, mode, reason.format(name=name))
    return Plan(scratch, size - scratch + beside), arena


def _roomy(lives: Lives) -> bool:
    return sum(rounded(memory.nbytes) for _, _, memory in lives.values() if not memory.keep) <= ROOMY


def _scratch(statements: list[Statement], lives: Lives) -> tuple[dict[int, int], int]:
    """The place of each scratch value by its id, and the bytes of all; values in succession have one place."""
    heads: dict[int, int] = {}
    roomy = _roomy(lives)
    ends = {key: len(statements) if roomy else last for key, (_, last, _) in lives.items()}
    for _, old, new in () if roomy else successions(statements, lives):
        heads[id(new)] = head = heads.get(id(old), id(old))
        ends[head] = lives[id(new)][1]
    first = {key: begin for key, (begin, _, memory) in lives.items() if not memory.keep and key not in heads}
    blocks = [Block(rounded(lives[key][2].nbytes), begin, ends[key]) for key, begin in first.items()]
    starts, size = pack(blocks)
    places = dict(zip(first, starts, strict=True))
    return places | {key: places[head] for key, head in heads.items()}, size
