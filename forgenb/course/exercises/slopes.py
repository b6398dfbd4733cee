"""The exercises of chapter 01: slopes by differences.

Imports the parts of judges; a judge has the name of the function that it asks for. The functions are polynomials of
so low a degree that differences have no error but rounding.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..exercise import Mistaken, exercise
from ..judging import draw, expect


def _cubic(x: float) -> float:
    return 0.5 * x**3 - 2.0 * x**2 + x + 3.0


@exercise("01-1", "The second derivative by differences")
def curvature(answer: Callable) -> None:
    """It takes a function of a number, the number and a step."""
    for x, h in ((0.7, 0.3), (-0.6, 0.1), (2.1, 0.6)):
        left, here, right = _cubic(x - h), _cubic(x), _cubic(x + h)
        right_one = (right - 2 * here + left) / h**2
        expect(
            answer(_cubic, x, h),
            3.0 * x - 4.0,
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
                (
                    "all three places are on one side of x.",
                    (_cubic(x + 2 * h) - 2 * right + here) / h**2,
                ),
            ],
        )


def _quadratic(x: np.ndarray) -> float:
    weights = np.arange(1.0, x.size + 1).reshape(x.shape)
    return float(np.sum(weights * x * x) + np.sum(x) ** 2 / 2)


def _partials(x: np.ndarray) -> np.ndarray:
    return 2 * np.arange(1.0, x.size + 1).reshape(x.shape) * x + np.sum(x)


def _one_sided(x: np.ndarray, h: float, kept: bool = False) -> np.ndarray:
    """Differences to the right; where the moves are `kept`, each starts from the one before."""
    found, moved = np.empty_like(x), x.copy()
    for i in np.ndindex(x.shape):
        before = _quadratic(moved)
        moved[i] += h
        found[i] = (_quadratic(moved) - before) / h
        moved[i] -= 0 if kept else h
    return found


@exercise("01-2", "All partial derivatives at an array")
def gradient(answer: Callable) -> None:
    """It takes a function of an array, the array and a step, and returns an array of its shape."""
    for shape in ((4,), (2, 3), (1,), (2, 1, 2)):
        x, h = draw(*shape), 0.125
        given = f"a function of an array of shape {shape}"
        handed = x.copy()
        found = answer(_quadratic, handed, h)
        right = _partials(x)
        expect(
            found,
            right,
            given,
            [
                ("all entries are moved at once; move one, and leave the others.", np.full(shape, right.sum())),
                ("it steps to one side only.", _one_sided(x, h)),
                ("it steps to the other side only.", _one_sided(x, -h)),
                ("an entry is moved, and not moved back before the next.", _one_sided(x, h, kept=True)),
                ("every number is twice what it must be; how far apart are the two places?", 2 * right),
                ("every number is half of what it must be; how far apart are the two places?", right / 2),
                ("differences are not divided by the distance.", right * 2 * h),
                ("the result is flat: give it the shape of x.", right.ravel()),
                ("this is one number, where each entry has its own.", right.sum()),
            ],
        )
        if not np.array_equal(handed, x):
            raise Mistaken(f"With {given} the numbers are right, but x is no longer what it was.")


@exercise("01-3", "The slope along a direction")
def slope_along(answer: Callable) -> None:
    """It takes a function of an array, the array, a direction and a step."""
    for shape in ((5,), (2, 3), (20,)):
        x, v, h = draw(*shape), draw(*shape, seed=1), 0.25
        calls = 0

        def counted(x):
            nonlocal calls
            calls += 1
            return _quadratic(x)

        right = float(np.sum(_partials(x) * v))
        given = f"an array of shape {shape} and a direction"
        expect(
            answer(counted, x.copy(), v.copy(), h),
            right,
            given,
            [
                ("the direction is left out: every entry moves by h.", _partials(x).sum()),
                ("the direction is made a unit vector; use v as it is.", right / np.linalg.norm(v)),
                ("it steps to one side only.", (_quadratic(x + h * v) - _quadratic(x)) / h),
                ("it is twice what it must be; how far apart are the two places?", 2 * right),
                ("the difference is not divided by the distance.", right * 2 * h),
                ("each entry has a slope here; add up what they contribute.", _partials(x) * v),
            ],
        )
        if calls > 2:
            raise Mistaken(f"With {given} the slope is right, but f was called {calls} times; two are enough.")
