"""Mistakes in a local derivative: it is left out, or a function of the values is too much, missing, or a wrong one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..evidence import Evidence
from .library import MANY, pairs, reciprocals, singles
from .mistake import Found, Mistake, constant_ratio

ENOUGH = 2
"""Different numbers in a ratio, below which a function times a known constant may agree by chance."""


def _different(row: np.ndarray) -> int:
    return len(np.unique(np.round(row, 9)))


def _chain(e: Evidence) -> Found:
    """The rule has 1 wherever there is a derivative, and hands the incoming gradient on."""
    there = (np.abs(e.true) > e.close * np.abs(e.true).max(initial=0.0)).astype(float)
    everywhere = np.eye(e.x.size) if e.elementwise else there
    if e.true.size == 1 or not (e.agrees(there) or e.agrees(everywhere)):
        return None
    return None if _is_another_input(e) else {}


def _is_another_input(e: Evidence) -> bool:
    """Whether the derivative is another input's values, which is a factor that has a name."""
    for shape, axis in ((e.x.shape, 0), (e.y.shape, 1)):
        found = np.abs(e.true).max(axis)
        for number in e.others:
            value = e.subject.values[number]
            try:
                row = np.abs(np.broadcast_to(value, shape)).ravel()
            except ValueError:
                continue
            c = constant_ratio(found, row)
            if c is not None and e.near(c * row, found):
                return True
    return False


def _value(e: Evidence) -> Found:
    """The function's value in the place of its derivative."""
    rows = e.slopes()
    if rows is None or e.w.size < ENOUGH or rows.shape != e.y.shape:
        return None
    return {} if e.near(e.y.ravel(), rows.rule) else None


def ratios(e: Evidence):
    """(shape, ratio of rule and truth) by entries of the input, and by entries of the output, where that says all."""
    big = np.abs(e.true) > e.close * np.abs(e.true).max(initial=0.0)
    with np.errstate(all="ignore"):
        ratio = np.where(big, e.rule / e.true, 0.0)
    for axis, shape in ((0, e.x.shape), (1, e.y.shape)):
        best = np.abs(e.true).argmax(axis)
        row = np.take_along_axis(ratio, np.expand_dims(best, axis), axis)
        if row.size and e.agrees(e.true * row):
            yield shape, row.ravel()


def _factor_among(e: Evidence, family: Callable, free: int = 0) -> Found:
    for shape, ratio in ratios(e):
        used = ratio != 0
        if _different(ratio[used]) < ENOUGH:
            continue
        tried = family(e, shape)
        for sense, kept in (("missing", 1 / ratio[used]), ("too much", ratio[used])):
            what = tried.named(kept, e.close, used, free=free)
            if what is not None:
                return {"what": what, "sense": sense}
    return None


def _factor_of_values(e: Evidence) -> Found:
    return _factor_among(e, singles)


def _factor_of_two_values(e: Evidence) -> Found:
    return _factor_among(e, pairs)


def _total(e: Evidence) -> Found:
    """The ratio differs from row to row and is the same within one, as a total over that axis is."""
    if e.elementwise or not any(_same_along_an_axis(e, ratio.reshape(shape)) for shape, ratio in ratios(e)):
        return None
    return _factor_of_values(e) or {"what": "that is the same along an axis, as a norm or total is,", "sense": UNSURE}


def _same_along_an_axis(e: Evidence, rows: np.ndarray) -> bool:
    for axis, length in enumerate(rows.shape):
        first = np.take(rows, [0], axis)
        alike = length > 1 and e.near(np.broadcast_to(first, rows.shape), rows)
        if alike and first.all() and _different(first) > 1:
            return True
    return False


def _function_among(e: Evidence, family: Callable) -> Found:
    rows = e.slopes()
    if rows is None or _different(rows.rule) < ENOUGH:
        return None
    what = family(e, rows.shape).named(rows.rule, e.close)
    return None if what is None else {"what": what}


def _another_simple_function(e: Evidence) -> Found:
    """A plain function of a value, where the derivative is a plain one too, so that it is no term of it."""
    rows = e.slopes()
    plain = rows is not None and reciprocals(e, rows.shape).named(rows.true, e.close) is not None
    return _function_among(e, reciprocals) if plain else None


def _wrong_function(e: Evidence) -> Found:
    return _function_among(e, pairs)


def _any_factor(e: Evidence) -> Found:
    return _factor_among(e, singles, MANY)


UNSURE = "missing or too much"
FACTOR = "a factor {what} is {sense}."
SIMPLE = (
    Mistake("chain", "the function's own derivative is left out: the rule has 1 in its place.", _chain),
    Mistake("factor-of-values", FACTOR, _factor_of_values),
    Mistake("value-for-derivative", "the rule multiplies by the function's value, not by its derivative.", _value),
)
TOTAL = Mistake("factor-of-values", FACTOR, _total)
OTHER = "the rule multiplies by {what}, which is not the function's derivative."
WRONG = Mistake("wrong-function", OTHER, _another_simple_function)
OTHERS = (
    Mistake("factor-of-values", FACTOR, _factor_of_two_values),
    Mistake("factor-of-values", FACTOR, _any_factor),
    Mistake("wrong-function", OTHER, _wrong_function),
)
