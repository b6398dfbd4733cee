"""The exercises of chapter 14: extrapolated differences, a check of a rule, and a rule with mistakes in it.

Imports the parts of judges; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...tensor import Tensor
from ..exercise import Mistaken, exercise
from ..judging import draw, expect, expect_rule


def _polynomial(x: float) -> float:
    return x**4 - 2.0 * x**3 + 3.0 * x**2 - 4.0 * x + 1.0


@exercise("14-1", "A one-sided difference, extrapolated")
def better_slope(answer: Callable) -> None:
    """It takes a function of a number, the number and a step."""
    f = _polynomial
    for x, h in ((0.7, 0.5), (-0.4, 0.25)):
        wide, narrow = (f(x + h) - f(x)) / h, 2 * (f(x + h / 2) - f(x)) / h
        wide_both, narrow_both = (f(x + h) - f(x - h)) / (2 * h), (f(x + h / 2) - f(x - h / 2)) / h
        expect(
            answer(f, x, h),
            2 * narrow - wide,
            f"a polynomial at x = {x} and h = {h}",
            [
                ("these are the weights for central differences.", (4 * narrow - wide) / 3),
                ("the two differences have each other's place.", 2 * wide - narrow),
                ("the mean of two errors of one sign is still an error.", (wide + narrow) / 2),
                ("the weights must add up to 1, or the slope itself is scaled.", narrow - wide),
                ("the weights must add up to 1, or the slope itself is scaled.", 4 * narrow - wide),
                ("this is the difference with the smaller step alone.", narrow),
                ("this is the difference with the larger step alone.", wide),
                ("this is the central one, extrapolated.", (4 * narrow_both - wide_both) / 3),
                ("the differences are central ones.", 2 * narrow_both - wide_both),
                ("it steps to the left.", _to_the_left(f, x, h)),
            ],
        )


def _to_the_left(f: Callable, x: float, h: float) -> float:
    return 4 * (f(x) - f(x - h / 2)) / h - (f(x) - f(x - h)) / h


TABLE = np.array([[1.0, -0.5, 2.0], [0.3, 1.5, -1.0]])


def _bent(x: np.ndarray) -> np.ndarray:
    return (TABLE @ x) ** 3


def _bent_rule(dout: np.ndarray, x: np.ndarray) -> np.ndarray:
    return TABLE.T @ (3 * dout * (TABLE @ x) ** 2)


def _wrong_rule(dout: np.ndarray, x: np.ndarray) -> np.ndarray:
    away = 1.1 * _bent_rule(dout, x)
    away[0] -= 5.0 * np.abs(dout[0])
    return away


def _nearly_right_rule(dout: np.ndarray, x: np.ndarray) -> np.ndarray:
    away = _bent_rule(dout, x)
    away[1] += 0.01 * dout[1] * x[0]
    return away


STEP = "the step is not h: the two places are h to the left and h to the right."


@exercise("14-2", "The largest error of a rule, by differences")
def disagreement(answer: Callable) -> None:
    """It takes a function and a rule of arrays, the input, a cotangent and a step, and returns a number."""
    for name, rule in (("wrong", _wrong_rule), ("nearly right", _nearly_right_rule)):
        x, w, h = draw(3, 4), draw(2, 4, seed=1), 0.125
        ones, given = np.ones_like(w), f"a {name} rule, x of shape (3, 4) and outputs of shape (2, 4)"
        apart, handed = rule(w, x) - _slopes(x, w, h), x.copy()
        one_sided = rule(w, x) - _slopes(x, w, h, back=0.0)
        expect(
            answer(_bent, rule, handed, w.copy(), h),
            np.abs(apart).max(),
            given,
            [
                ("the outputs are added up without their weights.", np.abs(rule(w, x) - _slopes(x, ones, h)).max()),
                ("the rule gets ones for w.", np.abs(rule(ones, x) - _slopes(x, w, h)).max()),
                ("both sides have ones for w.", np.abs(rule(ones, x) - _slopes(x, ones, h)).max()),
                ("errors below 0 are not seen; take their distance.", apart.max()),
                ("this is the mean of the distances, where the largest is asked for.", np.abs(apart).mean()),
                ("this is the sum of the distances, where the largest is asked for.", np.abs(apart).sum()),
                ("errors of either sign cancel in a sum.", abs(apart.sum())),
                ("each entry has its distance; return the largest.", np.abs(apart)),
                ("it steps to one side only.", np.abs(one_sided).max()),
                *((STEP, np.abs(rule(w, x) - _slopes(x, w, other)).max()) for other in (2 * h, h / 2, 1e-4, 1e-5)),
                (
                    "the difference is divided by h, where the places are further apart.",
                    np.abs(rule(w, x) - 2 * _slopes(x, w, h)).max(),
                ),
                (
                    "the difference is not divided by the distance.",
                    np.abs(rule(w, x) - 2 * h * _slopes(x, w, h)).max(),
                ),
                (
                    "all entries are moved at once; move one, and leave the others.",
                    np.abs(rule(w, x) - _slopes(x, w, h).sum()).max(),
                ),
            ],
        )
        if not np.array_equal(handed, x):
            raise Mistaken(f"With {given} the number is right, but x is no longer what it was.")


def _slopes(x: np.ndarray, w: np.ndarray, h: float, back: float = 1.0) -> np.ndarray:
    """Differences of the weighed outputs; `back` is the step to the left, in h."""
    found = np.empty_like(x)
    for i in np.ndindex(x.shape):
        move = np.zeros_like(x)
        move[i] = h
        found[i] = np.sum(w * (_bent(x + move) - _bent(x - back * move))) / (h + back * h)
    return found


def _scaled(x: Tensor) -> Tensor:
    return x / (x * x).mean(-1, keepdims=True) ** 0.5


@exercise("14-3", "The backward rule of a division by the root of the mean square")
def rms_rule(answer: Callable) -> None:
    """The rule takes (dout, x), tensors of one shape, and returns the gradient of x."""
    for shape in ((2, 3), (4, 2), (5,)):
        expect_rule(_scaled, answer, draw(*shape), given=f"x of shape {shape}")
