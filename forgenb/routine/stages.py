"""Stages of a linked program: what runs side by side, and where everything waits.

A statement goes into the first stage that the bytes which it touches allow. Where each share of it touches only what
the same share of earlier statements of a stage does, it follows them share by share without waiting: a batch runs
through many statements while it is in cache. Other statements are tasks of their own, one stage after those that they
depend on. Every statement runs over the same elements as alone, so bits do not depend on stages.

Imports footprints; how a stage is run is the backend's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .footprint import Footprint, Touch

MOST_SHARES = 16
NEARLY, ODD = 0.97, 0.9


@dataclass(frozen=True)
class Task:
    """Statements that one thread runs one after the other: (number, share, shares) of each."""

    calls: tuple[tuple[int, int, int], ...]
    cost: float


@dataclass(frozen=True)
class Stage:
    """Tasks that do not depend on each other; every one of an earlier stage has ended.

    The first `homes` are the shares of a batch, in order; the others follow, the dearest first. `fetching` is the cost
    of those statements that mostly wait for memory which nobody has just written.
    """

    tasks: tuple[Task, ...]
    homes: int = 1
    fetching: float = 0.0

    @property
    def cost(self) -> float:
        """Of all tasks."""
        return sum(task.cost for task in self.tasks)


@dataclass(frozen=True)
class Work:
    """What a statement costs, in nanoseconds or so, and into how many pieces its extent may be cut.

    `fetching` says that most of it is waiting for memory that no statement has just written.
    """

    cost: float
    pieces: int
    fetching: bool = False


def stages(footprints: list[Footprint], work: list[Work], grain: float) -> list[Stage]:
    """Arrange statements into stages.

    Parameters
    ----------
    footprints : list of Footprint
        Of the statements, in order.
    work : list of Work
        Of each.
    grain : float
        Cost below which a task is not cut any further.
    """
    shares, split = splitting(footprints, work, grain)
    levels = _levels(footprints, split, shares)
    found: list[list[int]] = [[] for _ in range(max(levels, default=-1) + 1)]
    for number, level in enumerate(levels):
        found[level].append(number)
    return [_stage(numbers, split, shares, work, grain) for numbers in found]


def splitting(footprints: list[Footprint], work: list[Work], grain: float) -> tuple[int, list[bool]]:
    """How many shares there are, and which statements are cut into them."""
    shares = choose_shares(footprints, work, grain)
    return shares, [shares > 1 and f.grains % shares == 0 for f in footprints]


def choose_shares(footprints: list[Footprint], work: list[Work], grain: float) -> int:
    """Into how many shares statements are cut: as many as pay, of those that let nearly the most of the work be cut.

    Powers of two are favoured a little: threads come in such numbers, and so do the sizes of blocks.
    """
    mean = sum(w.cost for w in work) / max(1, len(work))
    scores = {}
    for shares in range(2, MOST_SHARES + 1):
        if shares > 2 and mean < shares * grain:
            break
        cut = sum(w.cost for f, w in zip(footprints, work, strict=True) if f.grains % shares == 0)
        scores[shares] = cut if shares & (shares - 1) == 0 else ODD * cut
    return max(shares for shares, score in scores.items() if score >= NEARLY * max(scores.values()))


def _levels(footprints: list[Footprint], split: list[bool], shares: int) -> list[int]:
    """The stage of each statement."""
    owners: list[int] = []
    touches: list[Touch] = []
    levels: list[int] = []
    bounds = np.zeros((sum(len(f.touches) for f in footprints), 3), np.int64)
    for number, print_ in enumerate(footprints):
        count, level = len(touches), 0
        for touch in print_.touches:
            low, high = touch.whole
            known = bounds[:count]
            meets = (known[:, 0] < high) & (low < known[:, 1])
            if not touch.writes:
                meets &= known[:, 2] != 0
            for other in np.flatnonzero(meets):
                before = owners[other]
                apart = split[number] and split[before] and not _across(touches[other], touch, shares)
                level = max(level, levels[before] + (0 if apart else 1))
        for touch in print_.touches:
            bounds[len(touches)] = *touch.whole, touch.writes
            touches.append(touch)
            owners.append(number)
        levels.append(level)
    return levels


def _across(one: Touch, other: Touch, shares: int) -> bool:
    """Whether a share of one touches bytes that another share of the other does."""
    first = [one.share(i, shares) for i in range(shares)]
    second = [other.share(i, shares) for i in range(shares)]
    return any(
        low < end and begin < high
        for i, (low, high) in enumerate(first)
        for j, (begin, end) in enumerate(second)
        if i != j
    )


def _stage(numbers: list[int], split: list[bool], shares: int, work: list[Work], grain: float) -> Stage:
    """Shares of the split statements, and the others on their own: cut where they are dear, put together where not."""
    together = [n for n in numbers if split[n]]
    tasks = []
    if together:
        cost = sum(work[n].cost for n in together) / shares
        tasks = [Task(tuple((n, share, shares) for n in together), cost) for share in range(shares)]
    small: list[int] = []
    for number in numbers:
        parts = max(1, min(int(work[number].cost / grain), work[number].pieces, MOST_SHARES))
        if split[number]:
            continue
        if parts > 1:
            tasks += [Task(((number, i, parts),), work[number].cost / parts) for i in range(parts)]
            continue
        small.append(number)
        if sum(work[n].cost for n in small) >= grain:
            tasks.append(_plain(small, work))
            small = []
    if small:
        tasks.append(_plain(small, work))
    homes = shares if together else 1
    fetching = sum(work[n].cost for n in numbers if work[n].fetching)
    first = tasks[:shares] if together else []
    return Stage((*first, *sorted(tasks[len(first) :], key=lambda task: -task.cost)), homes, fetching)


def _plain(numbers: list[int], work: list[Work]) -> Task:
    return Task(tuple((n, 0, 1) for n in numbers), sum(work[n].cost for n in numbers))
