"""The order of a program's statements: another one where it needs less scratch.

An update of a parameter moves behind the statement that completes its gradient, so that gradients are scratch that is
used again; what frees more than it takes comes early, what takes more than it frees comes late. Order is kept wherever
two statements touch one memory and one of them writes it, so every value has the same bits.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from .lives import Statement, rounded, shareable, usage


def scheduled(statements: list[Statement]) -> list[Statement]:
    """Statements in an order that frees early and takes late, or as they are where that raises the peak of scratch."""
    late = _rearranged(statements, backwards=True)
    order = _rearranged(late, backwards=False)
    return min(order, statements, key=lambda found: max(usage(found), default=0))


def predecessors(statements: Sequence[Statement]) -> list[set[int]]:
    """For each statement the earlier ones that must come before it, transitive ones left out where that is easy."""
    writer: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    found = []
    for position, statement in enumerate(statements):
        before = {writer[id(memory)] for memory in statement.reads if id(memory) in writer}
        for memory in statement.writes:
            before.update(readers.pop(id(memory), ()))
            if id(memory) in writer:
                before.add(writer[id(memory)])
            writer[id(memory)] = position
        for memory in statement.reads:
            readers.setdefault(id(memory), []).append(position)
        before.discard(position)
        found.append(before)
    return found


def _rearranged(statements: list[Statement], backwards: bool) -> list[Statement]:
    """Statements that shrink what is alive as early as they can; `backwards`, those that let it grow as late."""
    needs = predecessors(statements)
    sizes = [{id(m): rounded(m.nbytes) for m in (*s.reads, *s.writes) if shareable(m)} for s in statements]
    if not backwards:
        return [statements[i] for i in _shrinking_first(needs, sizes)]
    last = len(statements) - 1
    mirrored: list[set[int]] = [set() for _ in statements]
    for position, before in enumerate(needs):
        for earlier in before:
            mirrored[last - earlier].add(last - position)
    return [statements[last - i] for i in reversed(_shrinking_first(mirrored, sizes[::-1]))]


def _shrinking_first(needs: list[set[int]], sizes: list[dict[int, int]]) -> list[int]:
    """Numbers in an order that keeps `needs`: the lowest that can come, but first any that shrinks what is alive.

    A memory lives from the first to the last of the numbers that have it in their `sizes`.
    """
    users: dict[int, list[int]] = {}
    for number, touched in enumerate(sizes):
        for memory in touched:
            users.setdefault(memory, []).append(number)
    left = {memory: len(numbers) for memory, numbers in users.items()}
    begun: set[int] = set()
    followers: list[list[int]] = [[] for _ in needs]
    for number, before in enumerate(needs):
        for earlier in before:
            followers[earlier].append(number)
    missing = [len(before) for before in needs]
    usual = [number for number, count in enumerate(missing) if count == 0]
    shrinking: list[int] = []
    done: list[int] = []
    placed = [False] * len(needs)

    def offer(number: int) -> None:
        touched = sizes[number].items()
        grown = sum(size * ((memory not in begun) - (left[memory] == 1)) for memory, size in touched)
        if grown < 0:
            heapq.heappush(shrinking, number)

    while usual or shrinking:
        number = heapq.heappop(shrinking or usual)
        if placed[number]:
            continue
        placed[number] = True
        done.append(number)
        for memory in sizes[number]:
            begun.add(memory)
            left[memory] -= 1
        for follower in followers[number]:
            missing[follower] -= 1
            if missing[follower] == 0:
                heapq.heappush(usual, follower)
                offer(follower)
        for memory in sizes[number]:
            for other in users[memory]:
                if missing[other] == 0 and not placed[other]:
                    offer(other)
    return done
