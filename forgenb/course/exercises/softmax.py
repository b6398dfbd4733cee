"""The exercises of chapter 07: log-sum-exp, and the rules of log-softmax and cross entropy.

Imports the parts of judges and two ops; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...creation import tensor
from ...ops.cross_entropy import cross_entropy
from ...ops.log_softmax import log_softmax
from ..exercise import Mistaken, exercise
from ..judging import agrees, draw, expect, expect_rule, lone


@exercise("07-1", "The log-sum-exp of each row")
def log_sum_exp(answer: Callable) -> None:
    """It takes an array and returns one without the last axis; the scores may be large, small or both."""
    apart = np.array([[900.0], [0.0], [-900.0]])
    for given, x in (
        ("x of shape (3, 4)", draw(3, 4)),
        ("x of shape (2, 3, 4)", draw(2, 3, 4)),
        ("scores near 1000", draw(3, 4) + 1000.0),
        ("scores near -1000", draw(2, 4) - 1000.0),
        ("rows of very different size", draw(3, 4) + apart),
    ):
        top = x.max(-1)
        moved = x - top[..., None]
        right = top + np.log(np.exp(moved).sum(-1))
        with np.errstate(all="ignore"):
            everywhere = x.max() + np.log(np.exp(x - x.max()).sum(-1))
            expect(
                answer(x.copy()),
                right,
                given,
                [
                    ("the largest score of all rows is subtracted, where each row has its own.", everywhere),
                    ("the exponentials leave the range of the numbers.", np.log(np.exp(x).sum(-1))),
                    ("the shift is not undone.", right - top),
                    ("the shift is undone with the wrong sign.", right - 2 * top),
                    ("the sum runs over the whole array.", np.log(np.exp(x - x.max()).sum()) + x.max()),
                    ("the sum runs along the first axis.", np.log(np.exp(x).sum(0))),
                    ("the logarithm is missing.", np.exp(x).sum(-1)),
                    (
                        "this is the mean of the exponentials, where their sum is asked for.",
                        right - np.log(x.shape[-1]),
                    ),
                    ("the last axis is kept with length 1; take it away.", right[..., None]),
                ],
            )


@exercise("07-2", "The backward rule of log-softmax")
def log_softmax_rule(answer: Callable) -> None:
    """The rule takes (dout, x), tensors of one shape, and returns the gradient of x."""
    for shape in ((3, 3), (2, 5), (4,)):
        expect_rule(log_softmax, answer, draw(*shape), given=f"x of shape {shape}")


@exercise("07-3", "The backward rule of cross entropy")
def cross_entropy_rule(answer: Callable) -> None:
    """The rule takes (dout, x, targets), of which targets is an array of integers, and returns the gradient of x."""
    for shape, targets in (((3, 4), [1, 3, 1]), ((1, 5), [0]), ((5, 2), [0, 1, 1, 0, 1])):
        right, x, given = np.array(targets), draw(*shape), f"logits of shape {shape}"
        found = lone(answer(tensor(np.float64(0.7)), tensor(x), right.copy()))
        unbent = (x - np.eye(shape[1])[right]) * (0.7 / shape[0])
        if agrees(found, unbent):
            raise Mistaken(f"With {given} the logits stand where their probabilities must.")
        expect_rule(
            lambda x, right=right: cross_entropy(x, right),
            lambda dout, x, right=right: answer(dout, x, right.copy()),
            x,
            given=given,
        )
