"""The exercises of chapter 01: slopes by differences.

Imports the parts of judges; a judge has the name of the function that it asks for. The functions bend so much that
another step gives another number, and what is asked for is the difference with the step that is given.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..exercise import Mistaken, exercise
from ..judging import draw, expect, untouched


def _quartic(x: float) -> float:
    return 0.3 * x**4 + 0.5 * x**3 - 2.0 * x**2 + x + 3.0


def _bend(x: float, h: float) -> float:
    return (_quartic(x + h) - 2 * _quartic(x) + _quartic(x - h)) / h**2


@exercise("01-1", "The second derivative by differences")
def curvature(answer: Callable) -> None:
    """It takes a function of a number, the number and a step."""
    for x, h in ((0.7, 0.3), (-0.6, 0.1), (2.1, 0.6)):
        left, here, right = _quartic(x - h), _quartic(x), _quartic(x + h)
        right_one = _bend(x, h)
        expect(
            answer(_quartic, x, h),
            right_one,
            f"a polynomial at x = {x} and h = {h}",
            [
                ("this is the first derivative.", (right - left) / (2 * h)),
                ("the differences are right, but they must be divided by another power of h.", right_one * h),
                ("the differences are right, but they are not divided by anything.", right_one * h * h),
                ("it is off by a factor 4: is it 2h that is squared, where the steps are h long?", right_one / 4),
                ("it is off by a factor 2; look at the factor of the second derivative again.", right_one / 2),
                ("it is off by a factor 2; look at the factor of the second derivative again.", right_one * 2),
                ("the sign is wrong.", -right_one),
                ("f(x) itself should cancel, and does not: count how often it comes.", (right - here + left) / h**2),
                ("all three places are on one side of x.", _bend(x + h, h)),
                ("all three places are on one side of x.", _bend(x - h, h)),
                *((STEP, _bend(x, other)) for other in (2 * h, h / 2, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)),
                (STEP, 4 * _bend(x, 2 * h)),
            ],
        )


STEP = "the step is not h: take the values of f where the exercise says."


def _bowl(x: np.ndarray) -> float:
    weights = np.arange(1.0, x.size + 1).reshape(x.shape)
    return float(np.sum(weights * x * x + x**3) + np.sum(x) ** 2 / 2)


def _central(x: np.ndarray, v: np.ndarray | float, h: float) -> float:
    return (_bowl(x + h * v) - _bowl(x - h * v)) / (2 * h)


def _partials(x: np.ndarray, h: float) -> np.ndarray:
    units = np.eye(x.size).reshape(x.size, *x.shape)
    return np.array([_central(x, unit, h) for unit in units]).reshape(x.shape)


def _moving(x: np.ndarray, *moves: float, back: float = 0.0, apart: float) -> np.ndarray:
    """Differences of f after each of two moves of one array; `back` is the move before the next element."""
    found, moved = np.empty_like(x), x.copy()
    for i in np.ndindex(x.shape):
        values = []
        for move in moves:
            moved[i] += move
            values.append(_bowl(moved))
        moved[i] += back
        found[i] = (values[-1] - values[0]) / apart
    return found


def _both_kept(x: np.ndarray, h: float) -> np.ndarray:
    """Central differences of two copies whose elements all stay moved."""
    found, up, down = np.empty_like(x), x.copy(), x.copy()
    for i in np.ndindex(x.shape):
        up[i] += h
        down[i] -= h
        found[i] = (_bowl(up) - _bowl(down)) / (2 * h)
    return found


def _by_rows(x: np.ndarray, h: float) -> np.ndarray:
    found = np.empty_like(x)
    for i in range(len(x)):
        row = np.zeros_like(x)
        row[i] = 1.0
        found[i] = _central(x, row, h)
    return found


KEPT = "an element is moved, and x is not moved back before the next."


@exercise("01-2", "All partial derivatives at an array")
def gradient(answer: Callable) -> None:
    """It takes a function of an array, the array and a step, and returns an array of its shape."""
    for shape in ((4,), (2, 3), (1,), (2, 1, 2)):
        x, h = draw(*shape), 0.125
        given = f"a function of an array of shape {shape} and h = {h}"
        handed = x.copy()
        found = answer(_bowl, handed, h)
        right = _partials(x, h)
        expect(
            found,
            right,
            given,
            [
                (
                    "all elements are moved at once; move one and leave the others.",
                    np.full(shape, _central(x, 1.0, h)),
                ),
                ("whole rows are moved, where each element has its own slope.", _by_rows(x, h)),
                ("it steps to one side only.", _moving(x, 0.0, h, back=-h, apart=h)),
                ("it steps to the other side only.", _moving(x, 0.0, -h, back=h, apart=-h)),
                (KEPT, _moving(x, 0.0, h, apart=h)),
                (KEPT, _moving(x, h, -2 * h, apart=-2 * h)),
                (KEPT, _moving(x, -h, 2 * h, apart=2 * h)),
                (KEPT, _both_kept(x, h)),
                (
                    "x is moved to one side and back, and never to the other side.",
                    _moving(x, h, -h, apart=-2 * h),
                ),
                ("every number is twice what it must be; how far apart are the two places?", 2 * right),
                ("every number is half of what it must be; how far apart are the two places?", right / 2),
                ("differences are not divided by the distance.", right * 2 * h),
                ("the result is flat: give it the shape of x.", right.ravel()),
                ("this is one number, where each element has its own.", _central(x, 1.0, h)),
                ("this is one number, where each element has its own.", right.sum()),
                *((OTHER, _partials(x, other)) for other in (2 * h, h / 2, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)),
            ],
        )
        untouched(x, handed, given)


OTHER = "the step is not h: the two places are h to the left and h to the right."


@exercise("01-3", "The slope along a direction")
def slope_along(answer: Callable) -> None:
    """It takes a function of an array, the array, a direction and a step."""
    for shape in ((5,), (2, 3), (20,)):
        x, v, h = draw(*shape), draw(*shape, seed=1), 0.25
        handed = x.copy(), v.copy()
        calls = 0

        def counted(x):
            nonlocal calls
            calls += 1
            return _bowl(x)

        right, length = _central(x, v, h), float(np.linalg.norm(v))
        given = f"an array of shape {shape}, a direction and h = {h}"
        found = answer(counted, *handed, h)
        if calls > 2:
            raise Mistaken(f"With {given} f was called {calls} times, and two are enough.")
        expect(
            found,
            right,
            given,
            [
                ("the direction is left out: every element moves by h.", _central(x, 1.0, h)),
                ("the direction is made a unit vector; use v as it is.", _central(x, v / length, h)),
                ("the slope is divided by the length of v; use v as it is.", right / length),
                ("it steps to one side only.", (_bowl(x + h * v) - _bowl(x)) / h),
                ("it steps to the other side only.", (_bowl(x) - _bowl(x - h * v)) / h),
                ("it is twice what it must be; how far apart are the two places?", 2 * right),
                ("the difference is not divided by the distance.", right * 2 * h),
                (WHOLE, (_bowl(x + v) - _bowl(x - v)) / 2),
                (WHOLE, (_bowl(x + v) - _bowl(x - v)) / (2 * h)),
                *((OTHER, _central(x, v, other)) for other in (2 * h, h / 2, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)),
            ],
        )
        untouched(x, handed[0], given)
        untouched(v, handed[1], given, "v")


WHOLE = "x moves by the whole of v, where it moves by h times v."
