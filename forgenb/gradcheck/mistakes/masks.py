"""Mistakes with a branch: its mask is inverted, or left out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..evidence import Evidence, Slopes
from .library import singles
from .mistake import Found, Mistake
from .places import OFF, displacements


def _two_values(e: Evidence) -> tuple[np.ndarray, np.ndarray, float, float] | None:
    """Both slopes, entry by entry, and the two values that the true one has."""
    rows = e.slopes()
    if rows is None:
        return None
    true, rule, _ = rows
    low, high = float(true.min()), float(true.max())
    is_low, is_high = np.isclose(true, low, atol=e.close * 10), np.isclose(true, high, atol=e.close * 10)
    if not (is_low | is_high).all() or (is_low & is_high).any():
        return None
    return true, rule, low, high


def _inverted(e: Evidence) -> Found:
    """Where the right slope has one of two values the rule has the other; or it takes all that a choice leaves."""
    rows = _two_values(e) if e.elementwise or e.w.size == 1 else None
    if rows is not None:
        true, rule, low, high = rows
        return {} if abs(low + high) > e.close and e.near(low + high - true, rule) else None
    chosen, taken = np.abs(e.true) > e.close, np.abs(e.rule) > e.close
    among = chosen | taken
    choice = e.near(chosen.astype(float), e.true) and e.near(taken.astype(float), e.rule) and not e.elementwise
    apart = choice and not (chosen & taken).any() and taken.any()
    fair = apart and (among.sum(0) == 1).all() and (chosen.sum(1) == 1).all() and taken.sum() != chosen.sum()
    return {} if fair else None


def _missing(e: Evidence) -> Found:
    """Every entry has the slope of one branch; or all entries are taken where one of several is chosen."""
    rows = _two_values(e)
    if rows is None:
        chosen, taken = np.abs(e.true) > e.close, np.abs(e.rule) > e.close
        alike = 1 / np.maximum(taken.sum(1, keepdims=True), 1)
        among = e.near(chosen.astype(float), e.true) and (e.agrees(taken * 1.0) or e.agrees(taken * alike))
        more = not e.elementwise and (chosen.sum(1) == 1).all() and (taken | ~chosen).all()
        return {"value": f"{e.rule.max():.6g}"} if among and more else None
    true, rule, low, high = rows
    for value in (high, low):
        if abs(value) > e.close and e.near(np.full_like(true, value), rule):
            return {"value": f"{value:.6g}"}
    return None


def _shifted(e: Evidence) -> Found:
    """Both slopes are right, and each is the neighbour's."""
    rows = _two_values(e) if e.elementwise else None
    if rows is None:
        return None
    true, rule, _, _ = rows
    for what, source, inside in displacements(e.x.shape):
        if e.near(true[source] * inside, rule):
            return {"what": f"the mask is shifted {what}"}
    return None


def _another(e: Evidence) -> Found:
    """Both slopes are right, and some entries have the other one."""
    rows = _two_values(e) if e.elementwise else None
    if rows is None:
        return None
    true, rule, low, high = rows
    taken = np.abs(rule - high) < np.abs(rule - low)
    known = taken.any() and not taken.all() and e.near(np.where(taken, high, low), rule)
    return {"count": int((np.abs(rule - true) > e.close * 10).sum())} if known else None


def _of_incoming(e: Evidence) -> Found:
    """The branch is that of the sign of dout, so the rule is not linear."""
    rows = _two_values(e) if e.elementwise else None
    if rows is None:
        return None
    _, _, low, high = rows
    for positive, negative in ((low, high), (high, low)):
        if e.near(e.w * np.where(e.w > 0, positive, negative), e.drawn):
            return {"label": e.label}
    return None


def _branch(row: np.ndarray, known: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(a candidate times a constant, where the slopes are that) for each that holds in some places, not by chance."""
    for u in known:
        with np.errstate(all="ignore"):
            ratios = np.where(np.abs(u) > 1e-9, row / u, np.nan)
        found, counts = np.unique(np.round(ratios[np.isfinite(ratios) & (ratios != 0)], 6), return_counts=True)
        for c in found[counts > 1]:
            there = np.isclose(c * u, row, rtol=1e-5, atol=1e-9)
            if not there.all():
                yield c * u, there


def _branches(e: Evidence, rows: Slopes) -> list[tuple[np.ndarray, np.ndarray]]:
    """(a known slope for every entry, where the right slope is that one), for each branch; one may be 0."""
    nothing = np.zeros_like(rows.true), np.abs(rows.true) <= e.close
    return [*_branch(rows.true, singles(e, rows.shape).rows), *([nothing] if nothing[1].any() else [])]


def _branches_changed(e: Evidence) -> Found:
    """Each branch has a known derivative, and the rule has that of the other one."""
    rows = e.slopes()
    if rows is None:
        return None
    branches = _branches(e, rows)
    slopes: dict[bytes, list[np.ndarray]] = {}
    for slope, here in branches:
        slopes.setdefault(here.tobytes(), []).append(slope)
    for one, here in branches:
        for other in slopes.get((~here).tobytes(), ()):
            if e.near(np.where(here, other, one), rows.rule):
                return {}
    return None


def _one_branch(e: Evidence) -> Found:
    """The rule has one branch's derivative, which is a known one, in every entry."""
    rows = e.slopes()
    if rows is None:
        return None
    branches = _branches(e, rows)
    masks = {here.tobytes() for _, here in branches}
    for slope, here in branches:
        if slope[~here].any() and (~here).tobytes() in masks and e.near(slope, rows.rule):
            return {"value": "whichever it is in"}
    return None


INVERTED = "the branch's mask is inverted: entries have the slope of the branch not taken."
MISSING = "the branch's mask is left out: every entry has the slope of one branch, {value}."
MISTAKES = (
    Mistake("mask-inverted", INVERTED, _inverted),
    Mistake("mask-missing", MISSING, _missing),
)
SHIFTED = Mistake("off-by-one", OFF, _shifted)
ANOTHER = Mistake(
    "mask-wrong", "the mask is another one: {count} entries have the slope of the branch not taken.", _another
)
OF_INCOMING = Mistake(
    "wrong-operand", "the branch is chosen by the incoming gradient dout where it must be by {label}.", _of_incoming
)
OF_FUNCTIONS = (
    Mistake("mask-inverted", INVERTED, _branches_changed),
    Mistake("mask-missing", MISSING, _one_branch),
)
