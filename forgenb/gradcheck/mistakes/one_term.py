"""Mistakes in one of several terms: it is transposed, shifted, lost from a product rule, or has the wrong sign.

Imports NumPy, the evidence, the library and the terms that come through sums.
"""

from __future__ import annotations

import itertools

import numpy as np

from ..evidence import Evidence
from .library import pairs
from .mistake import Found, Mistake, constant_ratio, written
from .places import OFF, TURNED, displacements
from .terms import SIGN, TERM, TWICE, across

FEWEST = 3
"""Entries below which a function of one value agrees with another by chance."""
MOST_MINORS = 8


def _transposed(e: Evidence) -> Found:
    """What a term has too much is what it lacks, transposed: the whole changes its sign when it is turned."""
    off = e.rule - e.true
    for which, side, shape in (("gradient", 1, e.x.shape), ("incoming gradient", 0, e.y.shape)):
        if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < 2:
            continue
        turned = np.swapaxes(np.arange(int(np.prod(shape))).reshape(shape), -1, -2).ravel()
        if off.any() and e.near(np.take(off, turned, axis=side), -off):
            return {"what": f"of the {which}, in one of several terms"}
    return None


def _matrix_transposed(e: Evidence) -> Found:
    """The rule is wrong by a known number times (matrix - its transpose) @ input."""
    if e.w.size > 1 or e.x.size < FEWEST:
        return None
    off = (e.rule - e.true)[0]
    for number in e.others:
        matrix = e.subject.values[number]
        if matrix.ndim != 2 or not matrix.shape[0] == matrix.shape[1] == e.x.shape[0]:
            continue
        turned = ((matrix - matrix.T) @ e.x).ravel()
        c = constant_ratio(off, turned)
        if c and written(c, 1e-4) is not None and e.near(c * turned, off):
            return {"what": f"of {e.subject.labels[number]}, in one of several terms"}
    return None


def _shifted(e: Evidence) -> Found:
    """What is too much in some entries lacks in their neighbours."""
    rows = e.slopes()
    if rows is None or not rows.rule.any():
        return None
    off = rows.rule - rows.true
    for sense in (1, -1):
        here, there = np.maximum(sense * off, 0), np.maximum(-sense * off, 0)
        for what, source, inside in displacements(rows.shape):
            if here.any() and e.near(here[source] * inside, there):
                return {"what": f"one term is shifted {what}"}
    return None


def _product_rule(e: Evidence) -> Found:
    """Of a function that is the input times another, the derivative of one factor alone."""
    rows = e.slopes()
    if rows is None or not e.elementwise or e.x.size < FEWEST or not e.x.all():
        return None
    by_input = (e.y / e.x).ravel()
    for guess in (by_input, rows.true - by_input):
        if e.near(guess, rows.rule):
            lacking = pairs(e, rows.shape).named(rows.true - guess, e.close)
            return {"what": lacking or "that of the other factor of a product"}
    return None


def _one_product(block: np.ndarray) -> bool:
    """Whether a matrix is one product off its diagonal: each minor that leaves the diagonal out vanishes."""
    count = min(len(block), MOST_MINORS)
    four = np.array(list(itertools.permutations(range(count), 4)))
    i, j, k, m = four.T
    minors = block[i, j] * block[k, m] - block[i, m] * block[k, j]
    return bool(np.abs(minors).max() <= 1e-5 * np.abs(block).max() ** 2)


def _sign_through_a_sum(e: Evidence) -> Found:
    """Of two terms that come through sums one has the wrong sign: the mean of rule and truth has the other alone."""
    if across(e, 1) is None:
        return None
    touched = np.abs(e.true - e.rule) > e.close
    for row in np.unique(touched, axis=0):
        own = np.ix_(row, row)
        if row.sum() < 4 or _one_product(e.true[own]) or _one_product(e.rule[own]):
            return None
        if not _one_product((e.true[own] + e.rule[own]) / 2):
            return None
    return {"what": "one of those that come through a sum or mean over an axis"}


def _acts_along(e: Evidence, jacobian: np.ndarray, axis: int) -> bool:
    """Whether a Jacobian of matrices is a product with one matrix that is no multiple of 1, on one side of dout."""
    if e.x.ndim != 2 or e.y.ndim != 2 or e.x.shape[1 - axis] != e.y.shape[1 - axis]:
        return False
    split = np.moveaxis(jacobian.reshape(e.y.shape + e.x.shape), (axis, 2 + axis), (0, 1))
    matrix, kept = split[:, :, 0, 0], np.eye(e.x.shape[1 - axis])
    mixes = len(kept) > 1 and not e.near(np.eye(*matrix.shape) * matrix, matrix)
    return mixes and e.near(matrix[:, :, None, None] * kept, split)


def _one_side(e: Evidence) -> Found:
    """Of products with matrices to the left and to the right, one arrives."""
    lacking = e.true - e.rule
    for left, right in ((0, 1), (1, 0)):
        if _acts_along(e, e.rule, left) and _acts_along(e, lacking, right):
            return {"label": e.label}
    return None


SIDE = Mistake(TWICE.name, TWICE.sentence, _one_side)
TRANSPOSED = Mistake("transpose", TURNED, _transposed)
PRODUCT_RULE = Mistake("term-dropped", TERM, _product_rule)
MISTAKES = (
    Mistake("transpose", TURNED, _matrix_transposed),
    Mistake("off-by-one", OFF, _shifted),
    Mistake("sign", SIGN, _sign_through_a_sum),
)
