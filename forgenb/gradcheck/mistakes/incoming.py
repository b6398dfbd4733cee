"""Mistakes with the incoming gradient: it is left out, or something else is multiplied in its place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..evidence import Evidence
from .mistake import Found, Mistake, constant_ratio, written


def _ignored(e: Evidence) -> Found:
    """A rule without the incoming gradient gives for every one what the right rule gives for ones."""
    if not e.near(e.true.T @ np.ones(e.w.size), e.drawn):
        return None
    return {"label": e.label}


INSTEAD: dict[str, Callable] = {
    "its square": np.square,
    "its absolute value": np.abs,
    "its sign": np.sign,
    "its cube": lambda w: w**3,
    "1 divided by it": lambda w: 1 / w,
}


def _something_else(e: Evidence) -> Found:
    for what, change in INSTEAD.items():
        if e.near(e.true.T @ change(e.w), e.drawn):
            return {"what": what}
    return None


def _ignored_in_one_term(e: Evidence) -> Found:
    """Without an incoming gradient something arrives: a known number times what lacks for ones."""
    constant = e.at_zero
    slopes = e.rule - constant
    if e.x.size < 2 or not constant.any() or not e.near(slopes.T @ e.w + constant, e.drawn):
        return None
    lacking = (e.true - slopes).sum(0)
    c = constant_ratio(constant, lacking)
    return {} if c and written(c, 1e-4) is not None and e.near(c * lacking, constant) else None


def _stepped(e: Evidence) -> Found:
    """Another input, on which the derivative depends linearly, has already moved along its own gradient."""
    right = e.true.T @ e.w
    for number in e.others:
        value = e.subject.values[number]
        gradient = (e.trues[e.subject.floats.index(number)].T @ e.w).reshape(value.shape)
        change = e.at(number, value - gradient).T @ e.w - right
        c = constant_ratio(e.drawn - right, change)
        if e.x.size > 1 and c and written(c, 1e-4) is not None and e.near(right + c * change, e.drawn):
            return {"label": e.subject.labels[number], "c": written(c, 1e-4)}
    return None


def _merged_values(e: Evidence) -> Found:
    """The terms of each entry are one number before dout comes in, which is then summed by itself."""
    used = np.abs(e.true) > e.close
    counts = np.maximum(used.sum(0), 1)
    for what, total in (("summed", e.true.sum(0)), ("averaged", e.true.sum(0) / counts)):
        if (counts > 1).any() and e.agrees(used * total):
            return {"what": what}
    return None


def _merged(e: Evidence) -> Found:
    """One number stands for the whole incoming gradient."""
    ones = np.ones((e.w.size, e.w.size))
    for what, mix in (("summed", ones), ("averaged", ones / e.w.size)):
        if e.w.size > 1 and e.agrees(mix @ e.true):
            return {"what": what}
    return None


NOT_LINEAR = (
    Mistake(
        "ignores-incoming",
        "the rule leaves out the incoming gradient dout, by which each term is multiplied.",
        _ignored,
    ),
    Mistake(
        "changed-incoming",
        "the rule multiplies by {what} where the incoming gradient dout itself is needed.",
        _something_else,
    ),
    Mistake(
        "ignores-incoming",
        "one term of the rule leaves out the incoming gradient dout, or its sum.",
        _ignored_in_one_term,
    ),
    Mistake(
        "stale",
        "the rule uses {label} after a step of {c} times its own gradient: the values of forward are needed.",
        _stepped,
    ),
)
"""Of rules that are not linear in the incoming gradient, as every right one is."""
MERGED = Mistake("merged-incoming", "the incoming gradient is {what} to one number before it is used.", _merged)
MERGED_VALUES = Mistake(
    "merged-incoming",
    "terms and incoming gradient are {what} before they are multiplied; their products must be.",
    _merged_values,
)
