"""One gradient against differences: along a few random directions first, entry by entry where they do not settle it.

A random direction weighs every entry by a number between a half and one and a half, so one wrong entry among right
ones is seen by each direction, whatever it is. Several wrong entries may cancel in one, by chance, and hardly ever in
three. Directions only ever accept: what they do not accept is measured entry by entry, and large inputs by halves.

Imports slopes; it neither computes gradients nor explains what is wrong with them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import ArgumentError
from .slopes import Slope, Slopes
from .subject import signed

KINK = 1e-3
"""Slopes to the left and right that differ by more than this, relative to the gradient, are no rounding."""
DIRECTIONS = 3
FEW = 8
MOST = 200


class Disagreement(NamedTuple):
    """The entry that differs most: its input, place, both values, and their distance relative to the largest entry."""

    number: int
    entry: tuple[int, ...]
    analytic: float
    numeric: float
    apart: float


def compare(
    slopes: Slopes, number: int, gradient: np.ndarray, tolerance: float, rng: np.random.Generator
) -> Disagreement | None:
    """Where the gradient of one input is wrong, or None.

    Raises
    ------
    ArgumentError
        If the function is not differentiable at an entry.
    """
    checked = _Comparison(slopes, number, gradient, tolerance, rng)
    every = np.arange(gradient.size)
    with np.errstate(all="ignore"):
        if checked.settled(every):
            return None
        return checked.measured(every if gradient.size <= MOST else checked.suspects(every))


class _Comparison:
    """The gradient of one input, and the means to check it."""

    def __init__(self, slopes: Slopes, number: int, gradient: np.ndarray, tolerance: float, rng):
        self.slopes, self.number, self.gradient, self.tolerance, self.rng = slopes, number, gradient, tolerance, rng
        self.rounding = 0.0
        """What rounding may leave of a gradient that is zero: that of the outputs that the input moves, if any."""

    def settled(self, places: np.ndarray) -> bool:
        """Whether random directions through these entries find nothing, which settles them."""
        return places.size == 0 or all(self._direction_agrees(places) for _ in range(DIRECTIONS))

    def _direction_agrees(self, places: np.ndarray) -> bool:
        flat = np.zeros(self.gradient.size)
        flat[places] = signed(self.rng, places.shape)
        wanted = float(np.sum(self.gradient.flat[places] * flat[places]))
        direction = flat.reshape(self.gradient.shape)
        slope = self._along(direction)
        scale = float(np.abs(self.gradient).max())
        agrees = abs(slope.central - wanted) <= self.tolerance * scale / 4 + slope.noise
        return np.isfinite(scale) and agrees and slope.gap <= KINK * scale / 4 + 4 * slope.noise

    def suspects(self, places: np.ndarray) -> np.ndarray:
        """Entries that no direction settles, found by halving; at most `MOST`."""
        found: list[np.ndarray] = []
        waiting = [places]
        while waiting and sum(map(len, found)) < MOST:
            half = waiting.pop()
            if self.settled(half):
                continue
            if half.size <= FEW:
                found.append(half)
            else:
                waiting += [half[half.size // 2 :], half[: half.size // 2]]
        return np.concatenate([*found, places[:0]])

    def measured(self, places: np.ndarray) -> Disagreement | None:
        """Differences at every one of these entries."""
        firsts = {int(place): self._at(int(place)) for place in places}
        self.rounding = self.rounding or self.slopes.rounding
        known = [*map(float, self.gradient.flat), *(slope.central for slope in firsts.values())]
        scale = max((abs(v) for v in known if np.isfinite(v)), default=0.0)
        found = {place: self._trusted(place, first, scale) for place, first in firsts.items()}
        return self._largest(
            {place: slope for place, slope in found.items() if not self._agrees(place, slope, scale)}, scale
        )

    def _at(self, place: int) -> Slope:
        return self._along(self._unit(place))

    def _along(self, direction: np.ndarray) -> Slope:
        step = self.slopes.step(self.number, direction)
        slope = self.slopes.along(self.number, direction, step)
        self.rounding = np.fmax(self.rounding, slope.noise * step)
        return slope

    def _unit(self, place: int) -> np.ndarray:
        flat = np.zeros(self.gradient.size)
        flat[place] = 1
        return flat.reshape(self.gradient.shape)

    def _trusted(self, place: int, first: Slope, scale: float) -> Slope:
        """The slope at one entry, with other steps if the first one leaves a doubt; an error at a kink."""
        gap = KINK * scale
        if self._agrees(place, first, scale) and first.gap <= gap + 4 * first.noise:
            return first
        slope = self.slopes.best(self.number, self._unit(place), first, scale, self.tolerance * scale / 4, gap)
        if not slope.gap <= gap + 4 * slope.noise:
            label = self.slopes.subject.labels[self.number]
            raise ArgumentError(
                f"gradcheck: not differentiable here: at entry {self._entry(place)} of {label} the slope to the right "
                f"is {slope.right:.9g} and to the left {slope.left:.9g}; check at another point, away from kinks and "
                "from the ends of the domain"
            )
        return slope

    def _agrees(self, place: int, slope: Slope, scale: float) -> bool:
        return abs(self.gradient.flat[place] - slope.central) <= self.tolerance * scale + slope.noise + self.rounding

    def _entry(self, place: int) -> tuple[int, ...]:
        return tuple(int(i) for i in np.unravel_index(place, self.gradient.shape))

    def _largest(self, wrong: dict[int, Slope], scale: float) -> Disagreement | None:
        apart = {place: abs(self.gradient.flat[place] - slope.central) for place, slope in wrong.items()}
        if not apart:
            return None
        place = max(apart, key=lambda p: np.inf if np.isnan(apart[p]) else apart[p])
        analytic, numeric = float(self.gradient.flat[place]), wrong[place].central
        return Disagreement(
            self.number, self._entry(place), analytic, numeric, apart[place] / scale if scale else np.inf
        )
