"""Mistakes in one term of a sum: a product, quotient or total derivative lacks it, or scales it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..evidence import Evidence
from .library import MANY, pairs, reciprocals, singles, totals
from .mistake import SMALL, Found, Mistake, constant_ratio, written

ENOUGH = 2
"""Different numbers that a known term, times a known constant, must explain."""
FREE = 3
"""Different derivatives, below which one number may lack everywhere by chance."""
BLOCK = 4
"""Entries of a matrix of one product, below which any matrix is one."""


def _square(e: Evidence) -> bool:
    return e.true.shape[0] == e.true.shape[1] and e.true.shape[0] > 1 and not e.elementwise


def _own_only(e: Evidence) -> Found:
    """Each output's derivative by the input of its own place, and none by the others."""
    return {"what": "those by the other entries"} if _square(e) and e.agrees(np.diag(np.diag(e.true))) else None


def _blocks(touched: np.ndarray) -> int:
    """How many sums there are: each entry belongs to one, or else there is one over all."""
    rows = np.unique(touched, axis=0)
    return len(rows) if (rows.sum(0) <= 1).all() else 1


def across(e: Evidence, products: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Off the diagonal, the slopes of truth and rule, where what the rule lacks is few products over all it touches."""
    if not _square(e):
        return None
    lacking = e.true - e.rule
    touched = np.abs(lacking) > e.close * np.abs(lacking).max()
    rank = np.linalg.matrix_rank(lacking, tol=10 * e.close * np.abs(lacking).max())
    full = touched.any(0).all() and touched.any(1).all()
    blocks = _blocks(touched)
    if not full or rank > products * blocks or 2 * rank >= len(lacking) + (rank == 1) or touched.sum() < BLOCK:
        return None
    off = ~np.eye(len(lacking), dtype=bool)
    return e.true[off], e.rule[off]


def _scaled(e: Evidence) -> Found:
    """The part that comes through a sum over an axis is a constant times what it must be."""
    rows = across(e, 2)
    if rows is None:
        return None
    c = constant_ratio(rows[1], rows[0])
    if c is None or c == 0 or not e.near(c * rows[0], rows[1]):
        return None
    return {"c": c, "n": [n for n in {e.x.size, *e.x.shape} if n > 1]}


def _inner_count(e: Evidence, power: int) -> Found:
    """How many entries a sum inside the rule takes, where its term is that often too small or too large."""
    found = _scaled(e)
    counts = [n for n in found["n"] if abs(found["c"] * float(n) ** power - 1) <= e.close] if found else []
    return {"n": counts[0]} if counts else None


def _inner_sign(e: Evidence) -> Found:
    found = _scaled(e)
    minus = found is not None and abs(found["c"] + 1) <= e.close
    return {"what": "the one that comes through a sum or mean over an axis"} if minus else None


def _inner_factor(e: Evidence) -> Found:
    found = _scaled(e)
    name = written(found["c"], e.close) if found else None
    return None if name is None else {"c": name}


def _through_a_sum(e: Evidence) -> Found:
    """What lacks is one product a row: a path through a sum, a mean or another total over an axis."""
    return None if across(e, 1) is None else {"what": "one that comes through a sum or mean over an axis"}


def _known_sign(e: Evidence) -> Found:
    """Half of what lacks is a function of the values, and so is what rule and truth have in common."""
    rows = e.slopes()
    if rows is None or _few(rows.true) or _few(rows.rule) or reciprocals(e, rows.shape).named(rows.rule, e.close):
        return None
    half, common = (rows.true - rows.rule) / 2, (rows.true + rows.rule) / 2
    if _few(common):
        return None
    if _few(half):
        plain = rows.shape == e.x.shape and singles(e, rows.shape).named(common, e.close) is not None
        what = totals(e).named(half, e.close, most=SMALL) if plain else None
        return None if what is None else {"what": what}
    known = pairs(e, rows.shape)
    what = known.named(half, e.close)
    return {"what": what} if what is not None and known.named(common, e.close) is not None else None


def _term_among(e: Evidence, family: Callable, free: int = 0) -> Found:
    rows = e.slopes()
    if rows is None or _few(rows.true) or not rows.rule.any():
        return None
    lacking = rows.true - rows.rule
    what = None if _few(lacking) else family(e, rows.shape).named(lacking, e.close, free=free)
    return None if what is None else {"what": what}


def _simple_term(e: Evidence) -> Found:
    """What lacks is a known function of one value, times a known number."""
    return _the_same_everywhere(e) or _term_among(e, singles)


def _known_term(e: Evidence) -> Found:
    """What lacks is a product or quotient of two of them."""
    return _term_among(e, pairs)


def _any_term(e: Evidence) -> Found:
    return _term_among(e, pairs, MANY)


def _the_same_everywhere(e: Evidence) -> Found:
    """The same number lacks in every entry: a known one, a mean or total of the input, or any."""
    rows = e.slopes()
    if rows is None or len(np.unique(np.round(rows.true, 9))) < FREE:
        return None
    lacking = rows.true - rows.rule
    if not rows.rule.any() or np.ptp(lacking) > e.close * np.abs(rows.true).max():
        return None
    what = totals(e).named(lacking, e.close, most=SMALL) if rows.shape == e.x.shape else None
    return {"what": what or f"{lacking[0]:.6g} in every entry, as through a total"}


def _few(row: np.ndarray) -> bool:
    return len(np.unique(np.round(row, 9))) < ENOUGH


def _one_a_row(e: Evidence) -> Found:
    """One entry of each row lacks the same number, as where a target is."""
    rows = e.slopes()
    if rows is None or len(rows.shape) < 2 or rows.shape[0] < 2:
        return None
    lacking = (rows.true - rows.rule).reshape(rows.shape)
    there = np.abs(lacking) > e.close * np.abs(lacking).max()
    if not (there.sum(-1) == 1).all() or np.ptp(lacking[there]) > e.close * np.abs(lacking).max():
        return None
    return {"what": f"{lacking[there][0]:.6g} at one entry of each row, as where a target is"}


def _sums_left_out(e: Evidence) -> Found:
    """The rule has each entry's own part alone, and what lacks is two products a row at most."""
    if not _square(e) or not e.rule.any() or not e.near(np.diag(np.diag(e.rule)), e.rule):
        return None
    lacking = e.true - e.rule
    touched = np.abs(lacking) > e.close * np.abs(lacking).max()
    blocks = _blocks(touched)
    rank = np.linalg.matrix_rank(lacking, tol=10 * e.close * np.abs(lacking).max())
    few = rank <= 2 * blocks and rank + blocks < len(lacking)
    return {"what": "all that come through sums or means over an axis"} if few else None


def _of_one_sign(e: Evidence) -> Found:
    """Contributions of one sign arrive, and the others do not."""
    for kept, what in ((e.true > 0, "the negative"), (e.true < 0, "the positive")):
        if e.true.shape[0] > 1 and not e.elementwise and kept.any() and e.agrees(np.where(kept, e.true, 0.0)):
            return {"what": f"{what} one"}
    return None


def _without_signs(e: Evidence) -> Found:
    for sign in (1, -1):
        if e.agrees(sign * np.abs(e.true)):
            return {"what": "terms of either sign have the same one"}
    return None


def _in_one_branch(e: Evidence) -> Found:
    """Some entries are right, and the others all have one factor: as many as no chance makes."""
    used = np.abs(e.true) > e.close * np.abs(e.true).max()
    if not e.agrees(np.where(used, e.rule, 0.0)) or used.sum() < BLOCK:
        return None
    ratios = np.round(e.rule[used] / e.true[used], 5)
    found, counts = np.unique(ratios, return_counts=True)
    if len(found) != 2 or 1.0 not in found or (counts < ENOUGH).any():
        return None
    c = float(found[found != 1.0][0])
    return {"c": written(c, 1e-4) or f"{c:.6g}"} if c else None


def _one_of_two_places(e: Evidence) -> Found:
    """An input that stands on both sides of a product: the other contribution is that of the transposed output."""
    if e.y.ndim < 2 or e.y.shape[-1] != e.y.shape[-2]:
        return None
    turned = np.swapaxes(np.arange(e.y.size).reshape(e.y.shape), -1, -2).ravel()
    return {"label": e.label} if e.near(e.rule + e.rule[turned], e.true) else None


TERM = "a term is dropped: {what}."
SIGN = "the sign of one term is wrong: {what}."
OWN_ONLY = Mistake("term-dropped", TERM, _own_only)
WITHOUT_SIGNS = Mistake("sign", SIGN, _without_signs)
ONE_SIGN = Mistake("term-dropped", TERM, _of_one_sign)
TWICE = Mistake(
    "overwritten",
    "`=` stands where `+=` is needed: {label} is used twice, and one of its two contributions arrives.",
    _one_of_two_places,
)
INSIDE = (
    Mistake(
        "mean-for-sum",
        "a sum inside the rule is a mean; that term is divided by {n}.",
        lambda e: _inner_count(e, 1),
    ),
    Mistake(
        "sum-for-mean",
        "a mean inside the rule is a sum; a division by {n} is missing in that term.",
        lambda e: _inner_count(e, -1),
    ),
    Mistake("sign", SIGN, _inner_sign),
    Mistake("factor", "one term of the rule is {c} times what it must be.", _inner_factor),
    Mistake("term-dropped", TERM, _through_a_sum),
    Mistake("term-dropped", TERM, _sums_left_out),
    Mistake("sign", SIGN, _known_sign),
    Mistake("term-dropped", TERM, _simple_term),
)
PRODUCTS = (
    Mistake("term-dropped", TERM, _known_term),
    Mistake("term-dropped", TERM, _one_a_row),
)
LAST = (
    Mistake("factor", "in one branch every number is {c} times what it must be.", _in_one_branch),
    Mistake("term-dropped", TERM, _any_term),
)
