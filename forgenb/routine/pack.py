"""Put blocks that are alive for a while into one arena, so that those alive together do not overlap.

Imports nothing: blocks are numbers.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from typing import NamedTuple


class Block(NamedTuple):
    """`size` bytes from statement `first` to statement `last`."""

    size: int
    first: int
    last: int


ORDERS: tuple[Callable[[Block], tuple], ...] = (
    lambda b: (-b.size, b.first),
    lambda b: (-b.size * (b.last - b.first + 1), b.first),
    lambda b: (b.first - b.last, -b.size, b.first),
    lambda b: (b.first, -b.size),
    lambda b: (-b.last, -b.size),
)
"""What is placed first; which order wastes least differs from program to program."""


def pack(blocks: list[Block]) -> tuple[list[int], int]:
    """The place of each block and the bytes of the arena: the smallest of a few attempts."""
    least = bound(blocks)
    best: tuple[list[int], int] = ([], 0)
    for number, order in enumerate(ORDERS):
        found = _attempt(blocks, sorted(range(len(blocks)), key=lambda i: order(blocks[i])))
        if number == 0 or found[1] < best[1]:
            best = found
        if best[1] == least:
            break
    return best


def bound(blocks: list[Block]) -> int:
    """The most bytes that are alive at once, which no arena can be smaller than."""
    change: dict[int, int] = {}
    for size, first, last in blocks:
        change[first] = change.get(first, 0) + size
        change[last + 1] = change.get(last + 1, 0) - size
    most = now = 0
    for position in sorted(change):
        now += change[position]
        most = max(most, now)
    return most


def _attempt(blocks: list[Block], order: list[int]) -> tuple[list[int], int]:
    """Each block in turn at the lowest place that is free during its life."""
    placed: list[tuple[int, int, int, int]] = []
    starts, total = [0] * len(blocks), 0
    for number in order:
        size, first, last = blocks[number]
        start = 0
        for low, high, begin, end in placed:
            if begin <= last and first <= end:
                if start + size <= low:
                    break
                start = max(start, high)
        insort(placed, (start, start + size, first, last))
        starts[number] = start
        total = max(total, start + size)
    return starts, total
