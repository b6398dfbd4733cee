"""Mistakes with the incoming gradient: it is left out, or something else is multiplied in its place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..evidence import Evidence
from .mistake import Found, Mistake


def _ignored(e: Evidence) -> Found:
    """A rule without the incoming gradient gives for every one what the right rule gives for ones."""
    if e.linear or not e.near(e.true.T @ np.ones(e.w.size), e.drawn):
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
    if e.linear:
        return None
    for what, change in INSTEAD.items():
        if e.near(e.true.T @ change(e.w), e.drawn):
            return {"what": what}
    return None


def _merged(e: Evidence) -> Found:
    """One number stands for the whole incoming gradient."""
    ones = np.ones((e.w.size, e.w.size))
    for what, mix in (("summed", ones), ("averaged", ones / e.w.size)):
        if e.w.size > 1 and e.agrees(mix @ e.true):
            return {"what": what}
    return None


MISTAKES = (
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
    Mistake("merged-incoming", "the incoming gradient is {what} to one number before it is used.", _merged),
)
