"""The exercises of chapter 08: softplus for numbers of any size, and the rules of ELU and Mish.

Imports the parts of judges and an op; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...creation import tensor
from ...ops.activations import tanh
from ...ops.rectifiers import elu
from ...ops.rectifiers import softplus as softplus_of
from ...tensor import Tensor
from ..exercise import Mistaken, exercise
from ..judging import agrees, draw, expect, expect_rule, lone

DIGITS = 1e-13
"""Tolerance where all digits are asked for."""


@exercise("08-1", "Softplus for numbers of any size")
def softplus(answer: Callable) -> None:
    """It takes an array and returns one of the same shape; the numbers may be large, small or both."""
    for given, x in (
        ("x of shape (3, 4)", draw(3, 4)),
        ("x of shape (2, 3), near 1000", draw(2, 3) + 1000.0),
        ("x of shape (2, 3), near -1000", draw(2, 3) - 1000.0),
        ("x of shape (5,), near -40", draw(5) - 40.0),
        ("x of shape (4,), near 22", draw(4) + 22.0),
        ("numbers of very different size", np.array([-800.0, -1.0, 0.0, 2.0, 800.0])),
    ):
        plain, bend = np.logaddexp(0, x), np.log1p(np.exp(-np.abs(x)))
        with np.errstate(all="ignore"):
            expect(
                answer(x.copy()),
                plain,
                given,
                [
                    ("1 plus a tiny number is 1, and its logarithm 0: the digits are lost in the sum.", _rounded(x)),
                    ("the exponential leaves the range of the numbers.", np.log(1 + np.exp(x))),
                    ("the exponential leaves the range of the numbers.", np.log1p(np.exp(x))),
                    ("above some size it is x, and the digits of the small part are lost.", np.where(x > 20, x, plain)),
                    ("this is relu; the part that rounds its corner is missing.", np.maximum(x, 0)),
                    ("this is the part that rounds the corner; what it is added to is missing.", bend),
                    ("x is added on both sides, where it belongs to one.", x + bend),
                    ("the exponential has the wrong sign for some x, or its part of the sum has.", np.logaddexp(0, -x)),
                    ("this is the slope of softplus, and not softplus.", 1 / (1 + np.exp(-x))),
                    ("the absolute value of x stands where its positive part must.", np.abs(x) + bend),
                ],
                DIGITS,
            )


def _rounded(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum(x, 0) + np.log(1 + np.exp(-np.abs(x))))


@exercise("08-2", "The backward rule of the exponential linear unit")
def elu_rule(answer: Callable) -> None:
    """The rule takes (dout, x, alpha), two tensors of one shape and a number, and returns the gradient of x."""
    for shape, alpha in (((3, 4), 0.7), ((6,), 1.0), ((2, 5), 2.5)):
        x = draw(*shape)
        x += np.copysign(0.1, x)
        given, rule = f"x of shape {shape} and alpha={alpha}", partial(_with_alpha, answer, alpha)
        _explain(rule, x, given, _elu_slips(x, alpha))
        expect_rule(partial(elu, alpha=alpha), rule, x, given=given)
    dout, x = draw(4), np.array([1000.0, -1.5, -1000.0, 800.0])
    with np.errstate(all="ignore"):
        found = answer(tensor(dout), tensor(x), 0.7)
    expect(
        lone(found), dout * np.where(x > 0, 1.0, 0.7 * np.exp(np.minimum(x, 0))), "x from -1000 to 1000 and alpha=0.7"
    )


def _with_alpha(answer: Callable, alpha: float, dout: Tensor, x: Tensor) -> Tensor:
    return answer(dout, x, alpha)


def _explain(rule: Callable, x: np.ndarray, given: str, slips: list[tuple[str, np.ndarray]]) -> None:
    """Tell the slip whose slopes the rule has."""
    dout = draw(*x.shape, seed=1)
    found = lone(rule(tensor(dout), tensor(x)))
    for text, slope in slips:
        if agrees(found, dout * slope):
            raise Mistaken(f"With {given}: {text}")


def _elu_slips(x: np.ndarray, alpha: float) -> list[tuple[str, np.ndarray]]:
    above, e = x > 0, np.exp(x)
    found = [
        ("the two sides have each other's slope.", np.where(above, alpha * e, 1.0)),
        ("below 0 it has the slope of relu, where an exponential is.", above * 1.0),
        ("below 0 it has the value of the function, and not its slope.", np.where(above, 1.0, alpha * (e - 1))),
        ("below 0 it has the slope of a leaky relu.", np.where(above, 1.0, alpha)),
        ("above 0 it has the value of the function, and not its slope.", np.where(above, x, alpha * e)),
    ]
    if alpha != 1:
        found.append(("below 0 alpha is left out.", np.where(above, 1.0, e)))
    return found


@exercise("08-3", "The backward rule of Mish")
def mish_rule(answer: Callable) -> None:
    """The function is ``x * tanh(softplus(x))``; the rule takes (dout, x) and returns the gradient of x."""
    for shape in ((3, 4), (5,), (1, 2)):
        x, given = draw(*shape), f"x of shape {shape}"
        _explain(answer, x, given, _mish_slips(x))
        expect_rule(lambda x: x * tanh(softplus_of(x)), answer, x, given=given)


def _mish_slips(x: np.ndarray) -> list[tuple[str, np.ndarray]]:
    t, s, direct = np.tanh(np.logaddexp(0, x)), 1 / (1 + np.exp(-x)), np.tanh(x)
    return [
        ("x is held fixed, where both factors of the product move.", t),
        ("the tanh is held fixed, where both factors of the product move.", x * (1 - t * t) * s),
        ("the chain ends too early: softplus has a slope too.", t + x * (1 - t * t)),
        ("the slope of tanh is taken at x, where tanh was not computed.", t + x * (1 - direct * direct) * s),
        ("the slope of tanh is another: its output is not squared.", t + x * (1 - t) * s),
        ("the two parts of the product rule are subtracted.", t - x * (1 - t * t) * s),
        ("the slope of the second factor is right, but x is not multiplied by it.", t + (1 - t * t) * s),
        ("the slopes of the factors are multiplied; a product has another rule.", (1 - t * t) * s),
    ]
