"""What a mistake is: a name, a sentence, and a test. Imports nothing of forgenb but the evidence's type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..evidence import Evidence

Found = dict[str, Any] | None
"""What completes the sentence where the mistake makes the numbers agree, else None."""


def _never(evidence: Evidence) -> Found:
    return None


@dataclass(frozen=True)
class Mistake:
    """One hypothesis about a rule. `test` gives the words that complete `sentence`, or None where it does not agree."""

    name: str
    sentence: str
    test: Callable[[Evidence], Found] = _never


CONSTANTS = {
    "pi": np.pi,
    "sqrt(pi)": np.sqrt(np.pi),
    "sqrt(2 pi)": np.sqrt(2 * np.pi),
    "sqrt(2)": np.sqrt(2.0),
    "sqrt(3)": np.sqrt(3.0),
    "log(2)": np.log(2.0),
    "log(10)": np.log(10.0),
    "e": np.e,
    "(pi / 180)": np.pi / 180,
}
SMALL, LARGE = 12, 720
"""A fraction of known numbers has one part up to the first, and the other up to the second."""
SIMPLE = 4
"""Largest part of a fraction in front of a constant that is not rational, or where one number is all there is."""


def written(c: float, close: float = 1e-6, most: int = LARGE) -> str | None:
    """A constant as people write it: a fraction, or a small one times a known number; None if it is neither."""
    plain = _fraction(c, close, most)
    if plain is not None:
        return plain
    for name, unit in CONSTANTS.items():
        times, over = _fraction(c / unit, close, SIMPLE), _fraction(c * unit, close, SIMPLE)
        if times is not None:
            return name if times == "1" else f"{times} {name}"
        if over is not None:
            return f"{over} / {name}"
    return None


def _fraction(value: float, close: float, most: int) -> str | None:
    if not np.isfinite(value) or not 1 / most <= abs(value) <= most:
        return None
    small = min(SMALL, most)
    near = Fraction(value).limit_denominator(small)
    if abs(value) < 1:
        near = 1 / Fraction(1 / value).limit_denominator(small)
    return str(near) if abs(value - near) <= close * abs(value) else None


def constant_ratio(rule: np.ndarray, true: np.ndarray) -> float | None:
    """The constant that takes one array to another, by the entry that is largest."""
    if not true.size or not np.isfinite(true).all() or not true.any():
        return None
    place = np.unravel_index(np.abs(true).argmax(), true.shape)
    return float(rule[place] / true[place])
