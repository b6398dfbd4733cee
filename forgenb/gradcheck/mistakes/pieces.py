"""Mistakes that put pieces of an axis in wrong places: halves exchanged, by turns, one piece of several, one late.

Imports NumPy, the evidence and the shifts of `places`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..evidence import Evidence
from .mistake import Found, Mistake
from .places import OFF, TURNED, displacements


def _along(e: Evidence) -> Iterator[tuple[str, int, np.ndarray, int, int]]:
    """(which gradient, side of the Jacobian, places, axis, its length) for every axis of input and output."""
    for which, side, shape in (("gradient", 1, e.x.shape), ("incoming gradient", 0, e.y.shape)):
        places = np.arange(int(np.prod(shape))).reshape(shape)
        for axis, length in enumerate(shape):
            yield which, side, places, axis, length


def _halves(e: Evidence) -> Found:
    for which, side, places, axis, length in _along(e):
        source = np.roll(places, length // 2, axis).ravel()
        if length > 1 and length % 2 == 0 and e.agrees(np.take(e.true, source, axis=side)):
            return {"axis": axis, "which": which}
    return None


def _by_turns(e: Evidence) -> Found:
    """A reshape of one axis to two, with the two in the other order."""
    for which, side, places, axis, length in _along(e):
        for parts in (n for n in range(2, length) if length % n == 0):
            turns = np.arange(length).reshape(parts, -1).T.ravel()
            if e.agrees(np.take(e.true, np.take(places, turns, axis).ravel(), axis=side)):
                return {"what": f"axis {axis} of the {which} is split, and the parts are in the other order"}
    return None


def _one_of_a_loop(e: Evidence) -> Found:
    """Every entry has contributions from several indexes along an axis of the output, and those of one arrive."""
    used = np.abs(e.true) > e.close
    for axis, length in enumerate(e.y.shape):
        rows = [np.take(np.arange(e.w.size).reshape(e.y.shape), index, axis).ravel() for index in range(length)]
        counts = np.sum([used[row].any(0) for row in rows], axis=0)
        if not (counts[used.any(0)] > 1).all() or not used.any():
            continue
        for which, row in (("first", rows[0]), ("last", rows[-1])):
            kept = np.zeros((e.w.size, 1))
            kept[row] = 1
            if e.agrees(e.true * kept):
                return {"length": length, "axis": axis, "which": which}
    return None


def _operand_shifted(e: Evidence) -> Found:
    for number in e.others:
        value = e.subject.values[number]
        for what, source, inside in displacements(value.shape):
            if e.agrees(e.at(number, (value.ravel()[source] * inside).reshape(value.shape))):
                return {"what": f"{e.subject.labels[number]} is shifted {what}"}
    return None


LOOP = Mistake(
    "overwritten",
    "`=` stands where `+=` is needed: of the {length} contributions along axis {axis} of the output the {which} "
    "alone arrives.",
    _one_of_a_loop,
)
MISTAKES = (
    Mistake("operands-swapped", "the halves along axis {axis} of the {which} have each other's place.", _halves),
    Mistake("transpose", TURNED, _by_turns),
)
SHIFTED = Mistake("off-by-one", OFF, _operand_shifted)
