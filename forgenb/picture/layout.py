"""Places for the boxes of a graph and paths for its arrows: rows from the top, each box below what it reads.

A box without inputs stands just above the first that reads it. An arrow over several rows goes through a place of its
own in each, so that it crosses no box; where these are too many, the longest arrows go straight. Rows are ordered by
the mean place of their neighbours, as in Sugiyama, Tagawa and Toda, *Methods for visual understanding of hierarchical
system structures* (1981); then boxes move as near to it as their order allows.

Imports nothing of forgenb; it knows sizes and who reads whom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

__all__ = ["Arrow", "Layout", "Size", "arrows", "layered"]

ACROSS, DOWN, MARGIN = 24, 36, 12
"""Pixels between two boxes of a row, between two rows, and around the picture."""
ROUNDS = 8
BENDS = 10_000
"""The most places of arrows between rows: they cost time, and a leaf that n steps read would ask for n²/2 of them."""

Size = tuple[float, float]
Point = tuple[float, float]
Arrow = tuple[int, int]
"""From which box to which, by their places in the list."""


@dataclass(frozen=True)
class Layout:
    """The size of a picture, the middle of each box, and for each arrow the control points of its cubic curves.

    A path has 3k + 1 points, for k curves one after another.
    """

    size: Size
    middles: list[Point]
    paths: list[list[Point]]


def arrows(inputs: Sequence[Sequence[int | None]]) -> list[Arrow]:
    """Each pair of a box and one that reads it, once."""
    return [(i, n) for n, read in enumerate(inputs) for i in dict.fromkeys(read) if i is not None]


def layered(sizes: Sequence[Size], links: Sequence[Arrow]) -> Layout:
    """The layout of boxes of the given sizes; a box stands later in the list than those that it reads."""
    places = _Places(sizes, links)
    for turn in range(ROUNDS):
        places.order(down=turn % 2 == 0)
    for turn in range(ROUNDS):
        places.move(down=turn % 2 == 0)
    return places.layout()


def _ranks(count: int, links: Sequence[Arrow]) -> list[int]:
    """The row of each box."""
    ranks, read = [0] * count, [False] * count
    users: list[list[int]] = [[] for _ in range(count)]
    for tail, head in links:
        ranks[head] = max(ranks[head], ranks[tail] + 1)
        read[head] = True
        users[tail].append(head)
    for n in range(count):
        if not read[n] and users[n]:
            ranks[n] = min(ranks[user] for user in users[n]) - 1
    return ranks


def _direct(links: Sequence[Arrow], ranks: Sequence[int]) -> set[int]:
    """The arrows, by their places in the list, that go without bends: the longest, where all together have too many."""
    lengths = [ranks[head] - ranks[tail] - 1 for tail, head in links]
    order = sorted(range(len(links)), key=lengths.__getitem__)
    totals = accumulate(lengths[n] for n in order)
    return {n for n, total in zip(order, totals) if total > BENDS and lengths[n]}


class _Places:
    """Rows of boxes and of the bends of long arrows, in order, with the horizontal middle of each."""

    def __init__(self, sizes: Sequence[Size], links: Sequence[Arrow]):
        self.sizes = sizes
        ranks = _ranks(len(sizes), links)
        self.rows: list[list[int]] = [[] for _ in range(max(ranks, default=-1) + 1)]
        self.widths = [width for width, _ in sizes]
        self.above: list[list[int]] = [[] for _ in sizes]
        self.below: list[list[int]] = [[] for _ in sizes]
        for n, rank in enumerate(ranks):
            self.rows[rank].append(n)
        direct = _direct(links, ranks)
        self.chains = [self._chain(tail, head, ranks, n in direct) for n, (tail, head) in enumerate(links)]
        self.heights = [max((sizes[n][1] for n in row if n < len(sizes)), default=0) for row in self.rows]
        self.x = [0.0] * len(self.widths)
        self.at = [0] * len(self.widths)
        self._number()

    def _chain(self, tail: int, head: int, ranks: list[int], direct: bool) -> list[int]:
        """The boxes and bends that an arrow goes through."""
        chain = [tail]
        for rank in () if direct else range(ranks[tail] + 1, ranks[head]):
            bend = len(self.widths)
            self.widths.append(0)
            self.above.append([])
            self.below.append([])
            self.rows[rank].append(bend)
            chain.append(bend)
        chain.append(head)
        for upper, lower in pairwise(chain):
            self.above[lower].append(upper)
            self.below[upper].append(lower)
        return chain

    def _number(self) -> None:
        for row in self.rows:
            for place, n in enumerate(row):
                self.at[n] = place

    def order(self, down: bool) -> None:
        """Sort each row by the mean place of the neighbours above, or below."""
        near = self.above if down else self.below
        for row in self.rows if down else reversed(self.rows):
            row.sort(key=lambda n: sum(self.at[m] for m in near[n]) / len(near[n]) if near[n] else self.at[n])
            for place, n in enumerate(row):
                self.at[n] = place

    def _offsets(self, row: list[int]) -> list[float]:
        """The middle of each of a row when they stand as close as they may."""
        found, end = [], 0.0
        for n in row:
            found.append(end + self.widths[n] / 2)
            end += self.widths[n] + ACROSS
        return found

    def move(self, down: bool) -> None:
        """Bring each row as near as its order allows to the means of its neighbours above, or below."""
        near = self.above if down else self.below
        for row in self.rows if down else reversed(self.rows):
            wanted = [sum(self.x[m] for m in near[n]) / len(near[n]) if near[n] else self.x[n] for n in row]
            offsets = self._offsets(row)
            for n, offset, place in zip(row, offsets, rising([w - o for w, o in zip(wanted, offsets)])):
                self.x[n] = offset + place

    def layout(self) -> Layout:
        """The finished picture, with its left edge at 0."""
        left = min((self.x[n] - self.widths[n] / 2 for n in range(len(self.x))), default=0.0) - MARGIN
        right = max((self.x[n] + self.widths[n] / 2 for n in range(len(self.x))), default=0.0) + MARGIN
        tops, top = [], float(MARGIN)
        for height in self.heights:
            tops.append(top)
            top += height + DOWN
        row_of = {n: rank for rank, row in enumerate(self.rows) for n in row}
        x = [round(value - left, 1) for value in self.x]

        def through(n: int) -> list[Point]:
            """From the top of a bend, or from the bottom of a box, straight down to the end of its row."""
            rank = row_of[n]
            begin = tops[rank] + (self.sizes[n][1] if n < len(self.sizes) else 0)
            return [(x[n], begin), (x[n], tops[rank] + self.heights[rank])]

        middles = []
        for n, (_, height) in enumerate(self.sizes):
            middles.append((x[n], tops[row_of[n]] + height / 2))
        paths = [_path([*map(through, chain[:-1])], (x[chain[-1]], tops[row_of[chain[-1]]])) for chain in self.chains]
        bottom = top - DOWN + MARGIN if self.heights else 2 * MARGIN
        return Layout((round(right - left, 1), bottom), middles, paths)


def rising(wanted: Sequence[float]) -> list[float]:
    """The numbers nearest to `wanted`, in the least squares, that do not fall: neighbours that do are averaged."""
    blocks: list[tuple[float, int]] = []
    for value in wanted:
        total, count = value, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            before, more = blocks.pop()
            total, count = total + before, count + more
        blocks.append((total, count))
    return [total / count for total, count in blocks for _ in range(count)]


def _path(falls: list[list[Point]], end: Point) -> list[Point]:
    """Straight lines down through rows, joined to each other and to the end by curves that are upright at both ends."""
    points = [falls[0][0]]
    for (top, bottom), below in pairwise([*falls, [end, end]]):
        if bottom != top:
            points += [top, bottom, bottom]
        middle = (bottom[1] + below[0][1]) / 2
        points += [(bottom[0], middle), (below[0][0], middle), below[0]]
    return points
