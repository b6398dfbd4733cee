"""Inline values: a pointwise statement is computed inside the one pointwise statement that uses it.

The value in between has no storage then: it goes from one to the other in a register, with the same bits. Reductions
and row kernels are never put into another statement; `stages` runs them share by share behind what they read instead.
No statement is computed twice, so fusing saves memory traffic and never adds work.

Imports statements, footprints of loops and `compose`; it runs before values get their places.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ..backend.planned import INLINED, PlannedMemory
from ..errors import MemoryModeError
from ..kernel import PANEL, MapArguments
from .compose import composed
from .statements import Launch, Place, Product

MOST_OPERANDS = 12
"""Of a fused kernel: more would not stay in registers."""


def fused(statements: list[Launch | Product]) -> list[Launch | Product]:
    """The statements with values inlined wherever that is possible.

    Raises
    ------
    MemoryModeError
        If a value that is to be inlined cannot be, with the reason.
    """
    found: list[Launch | Product | None] = list(statements)
    wanted = {id(m): m for s in statements for m in s.writes if "inline" in getattr(m, "decisions", ())}
    writers, readers = _users(statements)
    for at, statement in enumerate(statements):
        waiting = list(statement.reads)
        while waiting:
            memory = waiting.pop(0)
            if obstacle(memory, writers.get(id(memory), []), readers.get(id(memory), []), found) is not None:
                continue
            maker = writers[id(memory)][0]
            both = found[maker], found[at]
            assert isinstance(both[0], Launch)
            assert isinstance(both[1], Launch)
            joined = _joined(both[0], both[1], memory)
            waiting += both[0].reads
            found[at], found[maker] = joined, None
            for read in joined.reads:
                readers[id(read)] = list(dict.fromkeys(at if r == maker else r for r in readers[id(read)]))
            memory.place(None, None, "inline", INLINED)
            wanted.pop(id(memory), None)
    for memory in wanted.values():
        reason = obstacle(memory, writers[id(memory)], readers.get(id(memory), []), found)
        raise MemoryModeError(f"inline() at {memory.decisions['inline']} cannot be done: {reason}")
    return [statement for statement in found if statement is not None]


def _users(statements: Sequence[Launch | Product]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Positions of the statements that write, and that read, each memory."""
    writers: dict[int, list[int]] = {}
    readers: dict[int, list[int]] = {}
    for at, statement in enumerate(statements):
        for memory in {id(m): m for m in statement.writes}.values():
            writers.setdefault(id(memory), []).append(at)
        for memory in {id(m): m for m in statement.reads}.values():
            readers.setdefault(id(memory), []).append(at)
    return writers, readers


def obstacle(memory, made: list[int], used: list[int], statements: list) -> str | None:
    """Why a value cannot be inlined; None where it can."""
    if not isinstance(memory, PlannedMemory) or memory.mode != "undecided":
        return "it is not a value of this step"
    if memory.keep:
        return "the value is stored, since something outside reads it"
    if "materialize" in memory.decisions:
        return f"materialize() at {memory.decisions['materialize']} gives it storage"
    if len(made) != 1 or len(used) != 1:
        return f"the value is written by {len(made)} statements and read by {len(used)}, and each must be one"
    maker, user = statements[made[0]], statements[used[0]]
    for statement, what in ((maker, "made"), (user, "used")):
        if not isinstance(statement, Launch) or statement.kernel.form != "map":
            return f"it is {what} by {statement.name}, which is not pointwise"
    if maker.extent != user.extent or _joint(maker, user) is None:
        return f"{user.name} uses its elements more than once, or in another order"
    return _mismatch(memory, maker, user) or _hazard(maker, user, made[0], used[0], statements)


def _mismatch(memory: PlannedMemory, maker: Launch, user: Launch) -> str | None:
    """What of the two kernels does not fit together."""
    slots = [n for n, place in enumerate(_places(user)) if place.memory is memory]
    if len(slots) != 1 or user.kernel.operands[slots[0]].writes or len(maker.kernel.results) != 1:
        return f"{maker.name} or {user.name} have it as more than one operand"
    operand = user.kernel.operands[slots[0]]
    written = next(n for n, o in enumerate(maker.kernel.operands) if o.writes)
    kinds = {maker.kernel.operands[written].kind, operand.kind}
    stored = {maker.storage[written], user.storage[slots[0]]}
    own = {"real": maker.real, "bool": "bool"}.get(operand.kind)
    if maker.real != user.real or len(kinds) != 1 or stored != {own}:
        return f"{maker.name} and {user.name} work in different dtypes"
    inner, outer = _sides(maker, user)
    if inner[written].steps != outer[slots[0]].steps:
        return f"{user.name} uses its elements more than once, or in another order"
    if maker.kernel.operands[written].reads or _places(user)[slots[0]].offset != 0:
        return f"{user.name} reads a part of it, or {maker.name} updates it in place"
    if len(maker.kernel.operands) + len(user.kernel.operands) - 2 > MOST_OPERANDS:
        return f"{maker.name} and {user.name} together have more than {MOST_OPERANDS} operands"
    return None


def _hazard(maker: Launch, user: Launch, made: int, used: int, statements: list) -> str | None:
    """What else would see another value if the maker ran where the user does."""
    for between in statements[made + 1 : used]:
        if between is not None and any(w is r for w in between.writes for r in maker.reads):
            return f"{between.name} overwrites what {maker.name} reads before {user.name} runs"
    inner, outer = _sides(maker, user)
    for target in (side for o, side in zip(user.kernel.operands, outer, strict=True) if o.writes):
        for source in (side for o, side in zip(maker.kernel.operands, inner, strict=True) if o.reads):
            if source.place.memory is target.place.memory and source != target:
                return f"{user.name} overwrites what {maker.name} reads"
    return None


class _Side(NamedTuple):
    """An operand in the loop that two launches share."""

    place: Place
    steps: tuple[int, ...]
    stored: str
    kind: str


def _joined(maker: Launch, user: Launch, memory: PlannedMemory) -> Launch:
    """One launch that does the work of two."""
    slot = next(n for n, place in enumerate(_places(user)) if place.memory is memory)
    inner, outer = _sides(maker, user)
    same: list[int | None] = []
    for operand, side in zip(maker.kernel.operands, inner, strict=True):
        equal = (n for n, other in enumerate(outer) if n != slot and operand.reads and other == side)
        same.append(next(equal, None))
    kernel, order = composed(maker.kernel, user.kernel, slot, tuple(same))
    sides = [(inner, outer)[which][number] for which, number in order]
    shapes = tuple((maker, user)[which].shapes[number] for which, number in order)
    dims = _joint(maker, user)
    assert dims is not None
    first, second = user.of_map(), maker.of_map()
    whole = all(block.limit == block.dims[-1] for block in (first, second))
    places = tuple((side.place, side.steps) for side in sides)
    block = MapArguments((*first.scalars, *second.scalars), dims[-1] if whole else PANEL, dims, places)
    pairs = list(zip(kernel.operands, sides, strict=True))
    reads = tuple(side.place.memory for o, side in pairs if o.reads)
    writes = tuple(side.place.memory for o, side in pairs if o.writes)
    storage = tuple(side.stored for side in sides)
    return Launch(
        kernel, user.real, storage, user.extent, user.chunk, block.values(), shapes, user.scope, reads, writes
    )


def _places(launch: Launch) -> list[Place]:
    return [place for place, _ in launch.of_map().operands]


def _joint(maker: Launch, user: Launch) -> tuple[int, ...] | None:
    """The coarsest dims that both loops can be written in; None where their borders do not nest."""
    borders = {1}
    for launch in (maker, user):
        size = 1
        for extent in reversed(launch.of_map().dims):
            size *= extent
            borders.add(size)
    sizes = sorted(borders)
    if any(large % small for small, large in pairwise(sizes)):
        return None
    return tuple(large // small for small, large in pairwise(sizes))[::-1] or (1,)


def _sides(maker: Launch, user: Launch) -> tuple[list[_Side], list[_Side]]:
    """The operands of both in their joint dims."""
    dims = _joint(maker, user)
    assert dims is not None
    found = []
    for launch in (maker, user):
        own = launch.of_map()
        rows = zip(launch.kernel.operands, launch.storage, own.operands, strict=True)
        found.append(
            [_Side(place, _split(own.dims, steps, dims), stored, o.kind) for o, stored, (place, steps) in rows]
        )
    return found[0], found[1]


def _split(own: tuple[int, ...], steps: tuple[int, ...], dims: tuple[int, ...]) -> tuple[int, ...]:
    """Strides over finer dims that nest in a loop's own."""
    found: list[int] = []
    finer = list(reversed(dims))
    for extent, step in zip(reversed(own), reversed(steps), strict=True):
        size = 1
        while size < extent:
            found.append(step * size)
            size *= finer[len(found) - 1]
    return tuple(reversed(found)) or (steps[-1],)
