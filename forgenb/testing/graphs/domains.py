"""Where an op's operands must lie, and the steps that bring a value there.

Imports what a recipe may use: the builder it is handed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .build import Builder


class Domain(NamedTuple):
    """Absolute values that an operand may have, whether negative ones too, and how a value is brought there."""

    least: float
    most: float
    signed: bool
    repair: Callable[[Builder, int], int]

    def holds(self, x: np.ndarray) -> bool:
        """Whether every element lies inside."""
        size = np.abs(x) if self.signed else x
        return bool(np.min(size, initial=self.most) >= self.least and np.max(size, initial=self.least) <= self.most)


def _smaller(most: float) -> Callable[[Builder, int], int]:
    """By a function with results up to 1, or by a power of two."""

    def repair(b: Builder, number: int) -> int:
        name = b.one_of(("scale", "scale", "tanh", "sin", "arctan"))
        if name != "scale" and (most >= 2 or name != "arctan"):
            return b.apply(name, number)
        largest = float(np.abs(b.values[number]).max())
        return b.apply("scale", number, alpha=2.0 ** -int(np.ceil(np.log2(largest / most))))

    return repair


def _positive(b: Builder, number: int) -> int:
    """By exp, between 0.36 and 2.8."""
    return b.apply("exp", b.inside(number, "unit"))


def _fraction(b: Builder, number: int) -> int:
    """By the logistic function, between 0.11 and 0.89."""
    return b.apply("sigmoid", b.inside(number, "mild"))


DOMAINS: dict[str, Domain] = {
    "tame": Domain(0.0, 4.0, True, _smaller(4.0)),
    "mild": Domain(0.0, 2.0, True, _smaller(2.0)),
    "unit": Domain(0.0, 1.0, True, _smaller(1.0)),
    "inside": Domain(0.0, 0.95, True, _smaller(0.95)),
    "positive": Domain(0.2, 4.0, False, _positive),
    "nonzero": Domain(0.2, 4.0, True, _positive),
    "fraction": Domain(0.05, 0.95, False, _fraction),
}
"""Domains by name; leaves are drawn from the middle of their own."""


def sample(domain: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Numbers inside of a domain."""
    least, most, signed, _ = DOMAINS[domain]
    most = min(most, 2.0)
    x = rng.uniform(least + 0.05 * (most - least) if least else 0.0, 0.95 * most, shape)
    return np.asarray(x * rng.choice((-1.0, 1.0), shape) if signed else x)
