"""Mistakes that mix up the arguments: operands swapped, or the derivative by another argument."""

from __future__ import annotations

import numpy as np

from ..evidence import Evidence
from .mistake import Found, Mistake


def _matches(e: Evidence, number: int) -> bool:
    return e.subject.values[number].shape == e.x.shape and e.agrees(e.trues[e.subject.floats.index(number)])


def _swapped(e: Evidence) -> Found:
    """Each of two gradients is the other's."""
    for number in e.others:
        other = e.subject.floats.index(number)
        if _matches(e, number) and e.near(e.true, e.rules[other]):
            return {"label": e.label, "other": e.subject.labels[number]}
    return _crossed(e)


def _crossed(e: Evidence) -> Found:
    """A matrix product taken the other way round is the transpose of the product of the transposes."""
    if not (e.x.ndim >= 2 and e.x.shape == e.y.shape and len(e.others)):
        return None
    for number in e.others:
        value = e.subject.values[number]
        if value.ndim < 2 or value.shape[-1] != value.shape[-2]:
            continue
        turned = e.at(number, np.swapaxes(value, -1, -2))
        square = turned.reshape(e.y.shape + e.x.shape)
        middle = e.y.ndim
        if e.y.shape[-1] != e.y.shape[-2] or e.x.shape[-1] != e.x.shape[-2]:
            continue
        guess = np.swapaxes(np.swapaxes(square, middle - 2, middle - 1), -1, -2)
        if e.agrees(guess.reshape(e.true.shape)):
            return {"label": e.label, "other": e.subject.labels[number]}
    return None


def _wrong(e: Evidence) -> Found:
    for number in e.others:
        if _matches(e, number):
            return {"label": e.label, "other": e.subject.labels[number]}
    return None


def _exchanged(e: Evidence) -> Found:
    """The right derivative, with the values of two inputs exchanged."""
    for number in e.others:
        values = list(e.subject.values)
        if values[number].shape == e.x.shape:
            values[number], values[e.number] = values[e.number], values[number]
            if e.agrees(e.jacobian_or_nan(values)):
                return {"label": e.label, "other": e.subject.labels[number]}
    return None


SWAPPED = Mistake(
    "operands-swapped", "the operands are swapped: {label} and {other} have each other's place.", _swapped
)
EXCHANGED = Mistake("operands-swapped", "the operands {label} and {other} are swapped in the rule.", _exchanged)
WRONG = Mistake("wrong-argument", "{label} got the derivative by {other}.", _wrong)
