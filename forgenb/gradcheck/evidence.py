"""What a diagnosis has to go on: both Jacobians of a small function, its inputs, its outputs, and the cotangents.

The true Jacobian comes from differences, the rule's from one sweep with each cotangent that is 1 at one output and 0
elsewhere. A mistake is tested on these numbers, never on the source of a rule.

Imports NumPy and the subject; no mistake is named here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .slopes import first_step
from .subject import Arrays, Subject

MOST = 200
"""Entries of all inputs together, and of the outputs, above which no Jacobian is made."""
CLOSE = 1e-6


class Slopes(NamedTuple):
    """What the derivatives are and what the rule has in their place, entry by entry of a shape."""

    true: np.ndarray
    rule: np.ndarray
    shape: tuple[int, ...]


class Evidence:
    """The numbers of one function at one point, seen from the input whose gradient is wrong.

    Attributes
    ----------
    x : ndarray
        The values of that input.
    y : ndarray
        The output, or all outputs in one row where there are several.
    w : ndarray, shape (K,)
        The cotangents of all K entries of the outputs.
    true, rule : ndarray, shape (K, n)
        What the derivative of each output entry by each of the n entries of the input is, and what the rule says.
    drawn : ndarray, shape (n,)
        What the rule gives for `w`.
    """

    def __init__(self, subject: Subject, cotangents: Arrays, number: int, tolerance: float):
        self.subject, self.number = subject, number
        outputs, self.pull = subject.pullback()
        self.place = subject.floats.index(number)
        self.close = max(CLOSE, tolerance)
        self.outputs = outputs
        self.x = subject.values[number]
        self.y = outputs[0] if len(outputs) == 1 else _flat(outputs)
        self.w = _flat(cotangents)
        self.label = subject.labels[number]
        self.drawn = self.pulled(self.w)[self.place]
        self.nothing = self.pull(cotangents)[self.place] is None
        self.at_zero = self.pulled(np.zeros_like(self.w))[self.place]
        self.rules = [np.array(rows) for rows in zip(*(self.pulled(row) for row in np.eye(self.w.size)), strict=True)]
        self.trues = [self.jacobian(n, subject.values) for n in subject.floats]

    @property
    def true(self) -> np.ndarray:
        """The Jacobian by the input at hand."""
        return self.trues[self.place]

    @property
    def rule(self) -> np.ndarray:
        """What the rule has in its place."""
        return self.rules[self.place]

    @property
    def linear(self) -> bool:
        """Whether the rule is linear in the cotangents, as every derivative is."""
        return not self.at_zero.any() and self.near(self.rule.T @ self.w, self.drawn)

    def agrees(self, guess: np.ndarray) -> bool:
        """Whether the rule is what a mistake would make of it."""
        return self.near(guess, self.rule)

    def near(self, guess: np.ndarray, found: np.ndarray) -> bool:
        """Whether two arrays agree to the tolerance, relative to the largest number in either."""
        if guess.shape != found.shape or not np.isfinite(guess).all():
            return False
        scale = max(float(np.abs(guess).max(initial=0.0)), float(np.abs(found).max(initial=0.0)))
        return bool((np.abs(guess - found) <= self.close * scale).all())

    def jacobian(self, number: int, values: Arrays) -> np.ndarray:
        """The true Jacobian by one input at any values, by extrapolated differences; the step shrinks at a bend."""
        columns = []
        for place in range(values[number].size):
            step = first_step(values[number], np.arange(values[number].size).reshape(values[number].shape) == place)
            found, cut = self._column(values, number, place, step)
            while not cut <= 1e-3 * max(1e-300, np.abs(found).max(initial=0.0)) and step > 1e-7:
                step /= 8
                again, less = self._column(values, number, place, step)
                if not less >= cut:
                    found, cut = again, less
            columns.append(found)
        return np.array(columns).T.reshape(self.w.size, values[number].size)

    def _column(self, values: Arrays, number: int, place: int, step: float) -> tuple[np.ndarray, float]:
        with np.errstate(all="ignore"):
            far, near, before, behind = (self._moved(values, number, place, t * step) for t in (1, 0.5, -0.5, -1))
            wide, narrow = (far - behind) / (2 * step), (near - before) / step
            return (4 * narrow - wide) / 3, float(np.abs(narrow - wide).max(initial=0.0))

    def _moved(self, values: Arrays, number: int, place: int, step: float) -> np.ndarray:
        moved = list(values)
        moved[number] = moved[number].copy()
        moved[number].flat[place] += step
        return _flat(self.subject.evaluate(moved))

    def at(self, number: int, value: np.ndarray) -> np.ndarray:
        """The Jacobian by the input at hand, where one input has another value; not a number where that is refused."""
        values = list(self.subject.values)
        values[number] = np.ascontiguousarray(value)
        return self.jacobian_or_nan(values)

    def jacobian_or_nan(self, values: Arrays) -> np.ndarray:
        """The Jacobian at other values, or not a number where the function cannot be computed there."""
        try:
            return self.jacobian(self.number, values)
        except Exception:  # the values are a guess, and a function may refuse them for any reason
            return np.full(self.true.shape, np.nan)

    def pulled(self, row: np.ndarray) -> list[np.ndarray]:
        """What the rule makes of one cotangent for all outputs, in one row for each float input."""
        ends = np.cumsum([y.size for y in self.outputs])[:-1]
        parts = [p.reshape(y.shape) for p, y in zip(np.split(row, ends), self.outputs, strict=True)]
        sizes = (self.subject.values[n].size for n in self.subject.floats)
        found = self.pull(parts)
        return [np.zeros(size) if g is None else g.ravel() for g, size in zip(found, sizes, strict=True)]

    @property
    def others(self) -> list[int]:
        """Float inputs besides the one at hand."""
        return [n for n in self.subject.floats if n != self.number]

    @property
    def elementwise(self) -> bool:
        """Whether each output entry depends on the input entry of its place alone."""
        square = self.y.shape == self.x.shape and self.x.size > 0
        return square and self.near(np.diag(np.diag(self.true)), self.true)

    def slopes(self) -> Slopes | None:
        """Both slopes in one row each, where one number an entry says all there is.

        So it is where each entry of the input has an output entry of its own, where there is one output entry, and
        where each output entry depends on one of the input, as on a scale that is broadcast.
        """
        if self.elementwise and self.near(np.diag(np.diag(self.rule)), self.rule):
            return Slopes(np.diag(self.true).copy(), np.diag(self.rule).copy(), self.x.shape)
        if self.w.size == 1:
            return Slopes(self.true[0], self.rule[0], self.x.shape)
        if not self.x.size or self.elementwise:
            return None
        at = (np.arange(self.w.size), np.maximum(np.abs(self.true), np.abs(self.rule)).argmax(1))
        alone = np.zeros_like(self.true)
        alone[at] = 1
        if not (self.near(self.true * alone, self.true) and self.near(self.rule * alone, self.rule)):
            return None
        return Slopes(self.true[at], self.rule[at], self.y.shape)


def fits(subject: Subject, outputs: Arrays) -> bool:
    """Whether the function is small enough for Jacobians."""
    return sum(subject.values[n].size for n in subject.floats) <= MOST and sum(y.size for y in outputs) <= MOST


def _flat(arrays: Arrays) -> np.ndarray:
    return np.concatenate([a.ravel() for a in arrays])
