"""Mistakes with the axes of a sum: it runs over other axes than it must.

Imports NumPy, the evidence and the library; where a single index is wrong is `places`.
"""

from __future__ import annotations

import itertools

import numpy as np

from ..evidence import Evidence
from .library import FUNCTIONS
from .mistake import Found, Mistake
from .values import ratios

MOST_AXES = 4
POWERS = (1.0, -1.0, 0.5, -0.5)


def _summed(e: Evidence) -> Found:
    """Each output entry contributes the right number, to the input entry with the index of other axes."""
    must = np.abs(e.true) > e.close
    if not 1 < e.y.ndim <= MOST_AXES or e.x.size < 2 or (must.sum(1) > 1).any():
        return None
    index = np.indices(e.y.shape)
    for count in range(1, e.y.ndim):
        for kept in itertools.combinations(range(e.y.ndim), count):
            lengths = [e.y.shape[axis] for axis in kept]
            if np.prod(lengths) != e.x.size:
                continue
            place = np.ravel_multi_index([index[axis] for axis in kept], lengths).ravel()
            guess = np.zeros_like(e.true)
            guess[np.arange(e.w.size), place] = e.true.sum(1)
            if e.agrees(guess):
                return {"what": f"over the axes {tuple(a for a in range(e.y.ndim) if a not in kept)} of the output"}
    return None


def _divided(e: Evidence) -> Found:
    """Rule and truth differ as two totals of one function of the input do, over different axes."""
    for shape, ratio in ratios(e):
        if shape != e.x.shape or e.x.ndim < 2 or not ratio.all():
            continue
        for form, function in FUNCTIONS.items():
            with np.errstate(all="ignore"):
                value = function(e.x)
                totals = [value.sum(axis, keepdims=True) for axis in range(e.x.ndim)]
                for a, b in itertools.permutations(range(e.x.ndim), 2):
                    if any(e.near((totals[a] / totals[b]) ** power, ratio.reshape(shape)) for power in POWERS):
                        return {"what": f"over axis {a} or {b} of {form.format(e.label)}, where it must be the other"}
    return None


def _line(shape: tuple[int, ...], axis: int) -> np.ndarray:
    """Whether two entries have the same index along each other axis."""
    index = np.delete(np.indices(shape).reshape(len(shape), -1), axis, 0)
    return (index[:, :, None] == index[:, None, :]).all(0)


def _inside(e: Evidence) -> Found:
    """The own part of each entry is right, and the others that it has a part of lie along another axis."""
    if e.x.ndim < 2 or e.x.shape != e.y.shape or e.elementwise or not e.near(np.diag(e.true), np.diag(e.rule)):
        return None
    if e.near(np.diag(np.diag(e.rule)), e.rule):
        return None
    for must, does in itertools.permutations(range(e.x.ndim), 2):
        if e.near(e.true * _line(e.x.shape, must), e.true) and e.near(e.rule * _line(e.x.shape, does), e.rule):
            return {"what": f"inside the rule over axis {does}, not over axis {must}"}
    return None


SENTENCE = "a sum runs over the wrong axes: {what}."
PLACED = Mistake("wrong-axis", SENTENCE, _summed)
MISTAKES = (Mistake("wrong-axis", SENTENCE, _inside), Mistake("wrong-axis", SENTENCE, _divided))
