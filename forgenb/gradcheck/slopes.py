r"""Differences: the slope of the contracted outputs along a direction, with how far it can be trusted.

With :math:`s(t) = \sum_k \langle w_k, y_k(x + t v) \rangle` the central difference
:math:`D(h) = (s(h) - s(-h)) / 2h` is extrapolated from two steps, :math:`(4 D(h/2) - D(h)) / 3`, whose error falls
with :math:`h^4`. The slopes to the right and to the left, extrapolated as well, show a kink.

A tensor holds no complex numbers, so a function of tensors has no complex step; `reference.py` has it for a function
of arrays. Imports NumPy and the subject; it compares nothing with a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .subject import Arrays, Subject

STEP = 2e-3
LARGE = 2e-6
NOISE = 4 * np.finfo(np.float64).eps
"""Rounding of an output, relative to it: elementary functions are right to a few ulp."""
SHRINK = tuple(8.0**-n for n in range(1, 9))
GROW = (8.0, 64.0, 512.0, 4096.0)
STEPS = (1, 0.5, -0.5, -1)
"""Where the outputs are computed, in steps: far, near, and both ways back."""


def first_step(value: np.ndarray, direction: np.ndarray) -> float:
    """A step along a direction that is small beside the values, and large beside the rounding of those that move."""
    largest = float(np.abs(value).max(initial=0.0, where=np.isfinite(value)))
    moved = float(np.abs(value).max(initial=0.0, where=np.isfinite(value) & (direction != 0)))
    return max(STEP * min(largest or 1.0, 1.0), LARGE * moved)


def rise(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """The difference, 0 where both are one infinity."""
    return np.where(high == low, 0.0, high - low)


def rounding_at(here: np.ndarray, moved: Sequence[np.ndarray]) -> np.ndarray:
    """What rounding may add to each entry that moves at any step; 0 for the others."""
    size = np.max(np.abs(moved), axis=0)
    return np.where(np.any([y != here for y in moved], axis=0) & np.isfinite(size), NOISE * size, 0.0)


def extrapolated(difference: Callable, here, moved: Sequence, step: float) -> tuple:
    """The central slope, the right and the left one, and what extrapolation took away from the first.

    `moved` holds the outputs at ``step``, ``step / 2`` and these steps back, `difference` subtracts two of them.
    """
    far, near, before, behind = moved
    wide, narrow = difference(far, behind) / (2 * step), difference(near, before) / step
    right = (4 * difference(near, here) - difference(far, here)) / step
    left = (4 * difference(here, before) - difference(here, behind)) / step
    return (4 * narrow - wide) / 3, right, left, abs(narrow - wide)


class Slope(NamedTuple):
    """One slope from both sides, and bounds of what its steps cut off and what rounding adds."""

    central: float
    right: float
    left: float
    cut: float
    noise: float

    @property
    def gap(self) -> float:
        """How far the one-sided slopes are apart; not a number where one of them is not."""
        return abs(self.right - self.left)

    def error(self, scale: float) -> float:
        """The square of what extrapolation takes away, relative to `scale`, and rounding; infinite if undefined."""
        found = self.cut * min(1.0, self.cut / scale) + self.noise if scale else self.noise
        return found if np.isfinite(found) else np.inf


class Slopes:
    """Slopes of a subject for fixed cotangents."""

    def __init__(self, subject: Subject, here: Arrays, cotangents: Arrays):
        self.subject, self.here, self.cotangents = subject, here, cotangents

    @property
    def rounding(self) -> float:
        """Rounding of all outputs."""
        pairs = zip(self.here, self.cotangents, strict=True)
        return NOISE * float(sum(np.sum(np.abs(y * w), where=np.isfinite(y)) for y, w in pairs))

    def step(self, number: int, direction: np.ndarray) -> float:
        """The first step to try."""
        return first_step(self.subject.values[number], direction)

    def outputs(self, number: int, direction: np.ndarray, step: float) -> Arrays:
        """The outputs where one input is moved along a direction."""
        moved = list(self.subject.values)
        moved[number] = moved[number] + step * direction
        with np.errstate(all="ignore"):
            return self.subject.evaluate(moved)

    def along(self, number: int, direction: np.ndarray, step: float) -> Slope:
        """The slope of one input along a direction, from four evaluations."""
        moved = [self.outputs(number, direction, t * step) for t in STEPS]
        central, right, left, cut = extrapolated(self._rise, self.here, moved, step)
        return Slope(central, right, left, cut, self._rounding(moved) / step)

    def _rise(self, high: Arrays, low: Arrays) -> float:
        """Difference first, then the sum: outputs that do not move cost no digits."""
        with np.errstate(all="ignore"):
            moves = (rise(a, b) for a, b in zip(high, low, strict=True))
            return float(sum(np.sum(move * w) for move, w in zip(moves, self.cotangents, strict=True)))

    def _rounding(self, moved: Sequence[Arrays]) -> float:
        """The sum of what rounding may add to the outputs."""
        with np.errstate(all="ignore"):
            rows = zip(self.here, self.cotangents, *moved, strict=True)
            return float(sum(np.sum(rounding_at(here, several) * abs(w)) for here, w, *several in rows))

    def best(self, number: int, direction: np.ndarray, first: Slope, scale: float, wanted: float, gap: float) -> Slope:
        """A slope whose error is below `wanted` and whose sides are within `gap`, or the best that other steps give.

        Steps shrink where the function bends or breaks within them, and grow where rounding is what disturbs.
        """
        step, found = self.step(number, direction), first
        grows = np.isfinite(first.cut) and first.gap <= gap + 4 * first.noise and first.noise > first.cut
        for factor in GROW if grows else SHRINK:
            if found.error(scale) <= wanted and found.gap <= gap:
                break
            tried = self.along(number, direction, factor * step)
            if not grows and tried.noise > gap:
                break
            smooth = tried.gap <= gap + 4 * tried.noise
            if (smooth and not found.gap <= gap) or tried.error(scale) < found.error(scale):
                found = tried
        return found
