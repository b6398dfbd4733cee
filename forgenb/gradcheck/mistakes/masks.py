"""Mistakes with a branch: its mask is inverted, or left out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..evidence import Evidence
from .library import singles
from .mistake import Found, Mistake


def _two_values(e: Evidence) -> tuple[np.ndarray, np.ndarray, float, float] | None:
    """Both slopes, entry by entry, and the two values that the true one has."""
    rows = e.ratio_rows()
    if rows is None:
        return None
    true, rule = rows
    low, high = float(true.min()), float(true.max())
    is_low, is_high = np.isclose(true, low, atol=e.close * 10), np.isclose(true, high, atol=e.close * 10)
    if not (is_low | is_high).all() or (is_low & is_high).any():
        return None
    return true, rule, low, high


def _inverted(e: Evidence) -> Found:
    """Where the right slope has one of two values the rule has the other; or it takes all that a choice leaves."""
    rows = _two_values(e)
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
        ones = e.near(chosen.astype(float), e.true) and e.near(taken.astype(float), e.rule)
        more = not e.elementwise and (chosen.sum(1) == 1).all() and (taken | ~chosen).all()
        return {"value": "1"} if ones and more else None
    true, rule, low, high = rows
    for value in (high, low):
        if abs(value) > e.close and e.near(np.full_like(true, value), rule):
            return {"value": f"{value:.6g}"}
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


def _branches_changed(e: Evidence) -> Found:
    """Each branch has a known derivative, and the rule has that of the other one."""
    rows = e.ratio_rows()
    if rows is None:
        return None
    true, rule = rows
    known = singles(e, e.x.shape).rows
    nothing = (np.zeros_like(true), np.abs(true) <= e.close)
    branches = [*_branch(true, known), *([nothing] if nothing[1].any() else [])]
    slopes: dict[bytes, list[np.ndarray]] = {}
    for slope, here in branches:
        slopes.setdefault(here.tobytes(), []).append(slope)
    for one, here in branches:
        for other in slopes.get((~here).tobytes(), ()):
            if e.near(np.where(here, other, one), rule):
                return {}
    return None


INVERTED = "the branch's mask is inverted: entries have the slope of the branch not taken."
MISTAKES = (
    Mistake("mask-inverted", INVERTED, _inverted),
    Mistake(
        "mask-missing", "the branch's mask is left out: every entry has the slope {value} of one branch.", _missing
    ),
)
OF_FUNCTIONS = Mistake("mask-inverted", INVERTED, _branches_changed)
