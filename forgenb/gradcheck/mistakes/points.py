"""Mistakes that take a right derivative at a wrong point: values of another call, the output for the input."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from ..evidence import Evidence
from ..subject import EARLIER, LATER
from .library import FUNCTIONS, MANY, bases
from .mistake import Found, Mistake, constant_ratio
from .values import ratios


def _stale(e: Evidence) -> Found:
    """The function was called nearby before and after; a rule that keeps values in one place has those."""
    for which, when in ((EARLIER, "an earlier"), (LATER, "a later")):
        if e.agrees(e.jacobian_or_nan(e.subject.nearby(which))):
            return {"when": when}
    return None


def _kept_in_one_place(e: Evidence) -> Found:
    """The gradient of one call changes with the latest one, and not by itself."""
    found = []
    for values in (e.subject.values, e.subject.values, e.subject.nearby(LATER)):
        e.subject.evaluate(values)
        found.append(e.pulled(e.w)[e.place])
    same = np.array_equal(found[0], found[1])
    return {"when": "the latest"} if same and not e.near(found[0], found[2]) else None


def _output_for_input(e: Evidence) -> Found:
    for number in (e.number, *e.others):
        value = e.subject.values[number]
        if value.shape == e.y.shape and e.agrees(e.at(number, e.y)):
            return {"label": e.subject.labels[number]}
    return None


def _other_input(e: Evidence) -> Found:
    """One input's values stand where another's are needed."""
    for number in e.subject.floats:
        for other in e.subject.floats:
            value, wrong = e.subject.values[number], e.subject.values[other]
            if number != other and value.shape == wrong.shape and e.agrees(e.at(number, wrong)):
                return {"label": e.subject.labels[number], "other": e.subject.labels[other]}
    return None


OF_OUTPUT: tuple[Callable, ...] = (
    lambda s: s,
    lambda s: s * (1 - s),
    lambda s: 1 - s * s,
    lambda s: 1 + s * s,
    lambda s: s * s,
    lambda s: 1 / s,
    lambda s: s**3,
    lambda s: 1 / (s * s),
    lambda s: s + 1,
    lambda s: -np.expm1(-s),
    lambda s: np.exp(-s),
)
"""Derivatives of elementary functions, written in the function's value: of exp, sigmoid, tanh, tan, 1/x, sqrt, ..."""


def _input_for_output(e: Evidence) -> Found:
    rows = e.slopes()
    if rows is None or not e.elementwise or e.x.size < 3:
        return None
    true, rule, _ = rows
    with np.errstate(all="ignore"):
        for slope in OF_OUTPUT:
            right, wrong = slope(e.y.ravel()), slope(e.x.ravel())
            c = constant_ratio(true, right)
            if c is not None and e.near(c * right, true) and e.near(c * wrong, rule):
                return {"label": e.label}
    return None


def _function_of_another(e: Evidence) -> Found:
    """The rule has a function of one value where the same function of another one belongs."""
    for shape, ratio in ratios(e):
        used = ratio != 0
        if len(np.unique(np.round(ratio[used], 9))) < MANY:
            continue
        given = [(label, value.ravel()[used]) for label, value in bases(e, shape)]
        for (wrong, a), (right, b) in itertools.permutations(given, 2):
            for function in FUNCTIONS.values():
                with np.errstate(all="ignore"):
                    quotient = function(a) / function(b)
                if e.near(quotient, ratio[used]):
                    return {"label": right, "other": wrong}
    return None


def _negated(e: Evidence) -> Found:
    return {"label": e.label} if e.agrees(e.at(e.number, -e.x)) else None


STALE = "the rule uses values of {when} call: they must be saved for each call by itself."
OTHER_VALUES = (
    Mistake("stale", STALE, _stale),
    Mistake("stale", STALE, _kept_in_one_place),
    Mistake("wrong-operand", "the rule uses {other} where it needs {label}.", _other_input),
)
MISTAKES = (
    Mistake("output-for-input", "the rule uses the output where it needs {label}.", _output_for_input),
    Mistake("input-for-output", "the rule uses {label} where it needs the output.", _input_for_output),
    Mistake("negated-input", "the rule uses the negative of {label}.", _negated),
)
OF_FUNCTIONS = Mistake(
    "wrong-operand", "the rule has {other} in a function where {label} belongs.", _function_of_another
)
