"""The exercises of chapter 09: the normalised row, and the rules of a variance and of RMS normalisation.

Imports the parts of judges and two ops; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...creation import tensor
from ...ops.rmsnorm import rmsnorm
from ...ops.statistics import var
from ..exercise import Mistaken, exercise
from ..judging import agrees, draw, expect, expect_rule

DIGITS = 1e-8
"""Tolerance where rows far from 0 are normalised: their means are rounded."""


@exercise("09-1", "The normalised row")
def normalize(answer: Callable) -> None:
    """It takes an array and eps and returns an array of the same shape; means may be far from 0, variances may be 0."""
    for given, x, eps in (
        ("x of shape (3, 4)", draw(3, 4), 0.1),
        ("x of shape (4, 4)", draw(4, 4) + 1.0, 1e-5),
        ("x of shape (2, 3, 5)", 3.0 * draw(2, 3, 5), 0.01),
        ("a row of equal numbers", np.full((1, 3), 0.5), 1e-5),
        ("a row with its mean near a million", draw(2, 4) + 1e6, 1e-5),
    ):
        with np.errstate(all="ignore"):
            expect(answer(x.copy(), eps), _normalized(x, eps), f"{given} and eps={eps}", _slips(x, eps), DIGITS)


def _normalized(x: np.ndarray, eps: float) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)


def _slips(x: np.ndarray, eps: float) -> list[tuple[str, np.ndarray]]:
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    c, n = x - mean, x.shape[-1]
    first = (x - x.mean(0)) / np.sqrt(x.var(0) + eps)
    early = (x * x).mean(-1, keepdims=True) - mean * mean
    return [
        ("eps is added to the root, where it belongs to the variance inside the root.", c / (np.sqrt(variance) + eps)),
        ("eps is left out.", c / np.sqrt(variance)),
        ("the distances are divided by the variance, where its root is asked for.", c / (variance + eps)),
        ("the squares are divided by n - 1, where they are divided by n.", c / np.sqrt(variance * n / (n - 1) + eps)),
        ("the sum of the squares stands where their mean must.", c / np.sqrt(variance * n + eps)),
        ("the mean is not taken away before the division.", x / np.sqrt(variance + eps)),
        ("the mean is taken away, and the spread is left as it was.", c),
        ("mean and variance are along the first axis.", first),
        ("mean and variance are of the whole array.", (x - x.mean()) / np.sqrt(x.var() + eps)),
        ("the variance loses its digits, since two large numbers are subtracted in it.", c / np.sqrt(early + eps)),
    ]


@exercise("09-2", "The backward rule of a variance")
def variance_rule(answer: Callable) -> None:
    """The function is ``x.var(-1)``, divided by n; the rule takes (dout, x) and returns the gradient of x."""
    for shape in ((3, 4), (2, 5), (1, 3)):
        expect_rule(lambda x: var(x, -1), answer, draw(*shape), given=f"x of shape {shape}")


@exercise("09-3", "The backward rule of RMS normalisation")
def rms_norm_rule(answer: Callable) -> None:
    """The function is ``x * gamma / sqrt(mean(x * x) + 1e-5)``; the rule takes (dout, x, gamma)."""
    for rows, n in ((3, 4), (2, 5), (1, 3)):
        x, gain, given = draw(rows, n), draw(n, low=0.5, high=2.0), f"x of shape {(rows, n)} and gamma of {n} numbers"
        dout = draw(rows, n, seed=1)
        found = answer(tensor(dout), tensor(x), tensor(gain))
        first = found[0] if isinstance(found, tuple | list) and found else None
        if agrees(first, _centred(dout, x, gain)):
            raise Mistaken(f"With {given} a mean is taken away as in layernorm, and here forward takes none away.")
        expect_rule(rmsnorm, answer, x, gain, given=given)


def _centred(dout: np.ndarray, x: np.ndarray, gain: np.ndarray) -> np.ndarray:
    r = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    g, x_hat = gain * dout, x * r
    return np.asarray(r * (g - g.mean(-1, keepdims=True) - x_hat * (g * x_hat).mean(-1, keepdims=True)))
