"""The exercises of chapter 03: broadcasting and its backward.

Imports the parts of judges; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ops.movement import broadcast_to
from ..exercise import exercise
from ..judging import draw, expect, expect_rule

SHAPES = (((2, 3), (2, 3)), ((4, 3), (3,)), ((5, 2, 3), (2, 1)), ((4, 3), (4, 1)), ((3, 2), ()), ((2, 1, 3), (1, 1, 3)))
"""Shapes of a cotangent and of the operand that was broadcast to it."""


@exercise("03-1", "Sum a cotangent back to the shape of an operand that was broadcast")
def sum_to(answer: Callable) -> None:
    """It takes an array and a shape; every axis that was repeated is summed, and kept with length 1 where it was."""
    for big, small in SHAPES:
        dout = draw(*big)
        front = tuple(range(len(big) - len(small)))
        stretched = tuple(len(front) + i for i, n in enumerate(small) if n == 1 and big[len(front) + i] != 1)
        right = dout.sum(front + stretched).reshape(small)
        expect(
            answer(dout, small),
            right,
            f"a cotangent of shape {big} and the shape {small}",
            [
                ("the cotangent comes back as it was; an operand that was repeated gets a sum.", dout),
                ("new axes in front are summed, but an axis of length 1 was repeated too.", dout.sum(front)),
                ("an axis of length 1 is lost; it must be there as in the operand.", dout.sum(front + stretched)),
                ("a mean is taken, where each repetition adds its own part.", right * right.size / dout.size),
                ("one of the repetitions is taken, where all of them add up.", dout[(0,) * len(front)]),
            ],
            kind=np.ndarray,
        )


@exercise("03-2", "The backward rule of a row scaled by a column")
def outer_rule(answer: Callable) -> None:
    """The function is ``x[:, None] * y[None, :]``; the rule takes (dout, x, y) and returns both gradients."""
    for m, n in ((3, 3), (2, 5), (1, 4)):
        expect_rule(
            lambda x, y: x.reshape((-1, 1)) * y.reshape((1, -1)),
            answer,
            draw(m),
            draw(n, seed=1),
            given=f"x of {m} and y of {n} numbers",
        )


@exercise("03-3", "The backward rule of a mean along the first axis")
def mean_rule(answer: Callable) -> None:
    """The function is ``x.mean(0)``; the rule takes (dout, x) and returns the gradient of x."""
    for shape in ((4, 3), (1, 5), (6, 2)):
        rows, columns = shape
        expect_rule(
            lambda x: x.mean(0),
            answer,
            draw(*shape),
            given=f"x of shape {shape}",
            mistakes=[
                (f"a factor 1/{columns} is too much: how many numbers are in one mean?", _divided(rows * columns)),
                ("the division is by the length of the other axis.", _divided(columns)),
            ],
        )


def _divided(count: int) -> Callable:
    return lambda dout, x: broadcast_to(dout, x.shape) / count
