"""What judges are made of: hidden inputs, and comparisons that explain.

Imports NumPy, `custom_op` and `gradcheck`. A text here never says what the right answer is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..errors import ForgeError, GradcheckError
from ..functional import custom_op
from ..gradcheck import gradcheck
from ..random import generator
from ..tensor import Tensor
from .exercise import Mistaken

TOLERANCE = 1e-9


def draw(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    """float64 numbers in [low, high] of a shape; the same for the same arguments."""
    return generator(seed, f"course {shape}").uniform(low, high, shape)


def expect(
    got: Any, wanted: Any, given: str, mistakes: Iterable[tuple[str, Any]] = (), tolerance: float = TOLERANCE
) -> None:
    """Compare a result with what it should be.

    Parameters
    ----------
    got, wanted
        Arrays, tensors or numbers.
    given : str
        The inputs, in words: they stand in the explanation.
    mistakes : iterable of (str, array)
        Explanations, each with the result of the mistake that it explains; the first that agrees is told. One whose
        result is right for these inputs is passed over.
    tolerance : float
        Relative to the largest number that is wanted.

    Raises
    ------
    Mistaken
        If it is missing, has another shape, is not finite where it should be, or has other values.
    """
    if got is None:
        raise Mistaken(f"With {given} it returns None: is a return statement missing?")
    found, right = _array(got, given), _array(wanted, given)
    for text, result in mistakes:
        wrong = _array(result, given)
        if _same(found, wrong, tolerance) and not _same(right, wrong, tolerance):
            raise Mistaken(f"With {given}: {text}")
    if found.shape != right.shape:
        raise Mistaken(f"With {given} the result has shape {found.shape}, and should have {right.shape}.")
    if not np.isfinite(found).all() and np.isfinite(right).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(found))[0])
        raise Mistaken(f"With {given} the result is {found[where]} at {where}, where it should be finite.")
    if not _same(found, right, tolerance):
        apart = np.abs(found - right)
        where = tuple(int(i) for i in np.unravel_index(np.argmax(apart), apart.shape))
        share = float(np.mean(apart > tolerance * max(1.0, float(np.max(np.abs(right))))))
        raise Mistaken(
            f"With {given} the numbers differ, most at {where}, by {apart[where]:.3g}; {share:.0%} of them are off."
        )


def expect_rule(forward: Callable, rule: Callable, *inputs: np.ndarray, given: str) -> None:
    """Check a backward rule by `fnb.gradcheck`, whose diagnosis is the explanation.

    Parameters
    ----------
    forward : callable
        The function itself, of tensors.
    rule : callable
        The answer, called as `fnb.custom_op` calls a backward: the cotangent first, then the inputs.
    *inputs : ndarray
        float64.
    given : str
        The inputs, in words.

    Raises
    ------
    Mistaken
        If gradients disagree with differences, or the rule fails.
    """
    try:
        gradcheck(custom_op(forward, rule), *inputs)
    except GradcheckError as error:
        _, _, reason = str(error).partition("The usual mistake")
        told = f"The usual mistake{reason}" if reason else str(error)
        raise Mistaken(f"With {given} the rule disagrees with differences of the function. {told}") from error
    except ForgeError as error:
        raise Mistaken(f"With {given} the rule cannot be used: {error}") from error


def _array(value: Any, given: str) -> np.ndarray:
    value = value.numpy() if isinstance(value, Tensor) else value
    try:
        return np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise Mistaken(f"With {given} it returns {type(value).__name__}, which is no array of numbers.") from error


def _same(found: np.ndarray, wanted: np.ndarray, tolerance: float) -> bool:
    if found.shape != wanted.shape:
        return False
    scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0.0)
    return bool(np.allclose(found, wanted, rtol=0, atol=tolerance * max(scale, 1e-300), equal_nan=True))


def agrees(found: Any, wrong: np.ndarray) -> bool:
    """Whether a gradient that an answer gave is that of a mistake; what is no tensor is of none."""
    return isinstance(found, Tensor) and _same(np.asarray(found.numpy(), np.float64), wrong, TOLERANCE)
