"""Mistakes that scale the whole gradient: zero, the sign, a mean in place of a sum, another constant."""

from __future__ import annotations

import numpy as np

from ..evidence import Evidence
from .library import singles
from .mistake import SIMPLE, Found, Mistake, constant_ratio, written


def _zero(e: Evidence) -> Found:
    if e.rule.any() or not e.linear:
        return None
    return {"what": "None" if e.nothing else "zero", "label": e.label}


def _sign(e: Evidence) -> Found:
    return {} if e.agrees(-e.true) else None


def _ratio(e: Evidence) -> float | None:
    """The constant between the rule and the truth, if there is one and it is not told from one number alone."""
    c = constant_ratio(e.rule, e.true)
    if c is None or c == 0 or not e.linear or not e.agrees(c * e.true):
        return None
    return c


def _counts(e: Evidence) -> set[int]:
    """What a mean may divide by: lengths of axes, sizes, and how many entries a sum takes."""
    if e.elementwise:
        return set()
    sizes = {e.x.size, e.y.size, *e.x.shape, *e.y.shape}
    for less, more in ((e.x.size, e.y.size), (e.y.size, e.x.size)):
        if less and more % less == 0:
            sizes.add(more // less)
    others = {n for number in e.others for n in e.subject.values[number].shape}
    return {n for n in sizes | others if n > 1}


def _mean(e: Evidence) -> Found:
    c = _ratio(e)
    found = [n for n in _counts(e) if c is not None and abs(c * n - 1) <= e.close]
    return {"n": found[0]} if found else None


def _mean_of_contributions(e: Evidence) -> Found:
    """Each entry has the mean of its contributions, which need not be equally many."""
    counts = (np.abs(e.true) > e.close).sum(0)
    return {"n": "how many they are"} if (counts > 1).any() and e.agrees(e.true / np.maximum(counts, 1)) else None


def _sum(e: Evidence) -> Found:
    c = _ratio(e)
    found = [n for n in _counts(e) if c is not None and abs(c / n - 1) <= e.close]
    return {"n": found[0]} if found else None


def _factor(e: Evidence) -> Found:
    c = _ratio(e)
    if c is None:
        return None
    name = written(c, e.close)
    if name is None:
        hint = _single_value(e, c)
        return None if hint is None else {"what": f"{c:.6g}", "hint": hint}
    missing = written(1 / c, e.close)
    if missing is None or abs(c) > 1:
        return {"what": name, "hint": f"a factor {name} is too much"}
    twice = ", or only one of the two contributions of a value that is used twice arrives" if missing == "2" else ""
    return {"what": name, "hint": f"a factor {missing} is missing{twice}"}


def _single_value(e: Evidence, c: float) -> str | None:
    """A constant that is a function of an input or output of one entry, or else just a number for several entries."""
    for sense, number in (("missing", 1 / c), ("too much", c)):
        what = singles(e, ()).named(np.array([number]), e.close, most=SIMPLE)
        if what is not None:
            return f"a factor {what} is {sense}"
    return f"a factor {c:.9g} is too much" if np.count_nonzero(e.true) > 2 else None


ZERO = Mistake("zero", "the rule returns {what} for {label}.", _zero)
SIGN = Mistake("sign", "the sign is wrong; every number is the right one's negative.", _sign)
MEAN = Mistake("mean-for-sum", "the rule takes a mean where it must sum; every number is divided by {n}.", _mean)
MEAN_OF_CONTRIBUTIONS = Mistake(
    "mean-for-sum",
    "contributions to one entry are averaged, not summed; each is divided by {n}.",
    _mean_of_contributions,
)
SUM = Mistake("sum-for-mean", "the rule sums where it must take a mean; a division by {n} is missing.", _sum)
FACTOR = Mistake("factor", "every number is {what} times the right one; {hint}.", _factor)
