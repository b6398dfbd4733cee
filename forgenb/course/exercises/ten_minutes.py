"""The exercises of chapter 00: a gradient, a descent, a first backward rule.

Imports the parts of judges; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from ...creation import tensor
from ...functional import grad
from ...ops.pointwise import exp
from ...tensor import Tensor
from ..exercise import Mistaken, exercise
from ..judging import draw, expect, expect_rule, untouched

HALF = "the numbers have the precision of float32: let the tensor have the dtype of x."


@contextmanager
def _leaves(given: str) -> Iterator[None]:
    """Explain the None that stands in the place of a gradient nobody keeps."""
    try:
        yield
    except (TypeError, AttributeError) as error:
        if "NoneType" not in str(error):
            raise
        raise Mistaken(
            f"With {given}: only a tensor that you make has a grad after backward. What is computed from it has None, "
            f"and here one is used ({error})."
        ) from error


def _squares(x: Tensor) -> Tensor:
    return (x * x).sum()


def _cubes(x: Tensor) -> Tensor:
    return (x * x * x).mean()


def _growth(x: Tensor) -> Tensor:
    return exp(x * 0.5).sum()


@exercise("00-1", "The gradient of a function at an array")
def gradient_of(answer: Callable) -> None:
    """It takes a function of a tensor and an array, and returns an array of the same shape."""
    for name, f, slopes, shape in (
        ("the sum of exp(x / 2)", _growth, lambda x: 0.5 * np.exp(0.5 * x), (4,)),
        ("the mean of cubes", _cubes, lambda x: 3 * x * x / x.size, (2, 3)),
        ("the sum of squares", _squares, lambda x: 2 * x, (1,)),
    ):
        x = draw(*shape)
        value, given = f(tensor(x)).numpy(), f"{name} of an array of shape {shape}"
        handed = x.copy()
        with _leaves(given):
            found = answer(f, handed)
        if found is None:
            raise Mistaken(
                f"With {given} it returns None: a return statement is missing, or it returns the grad of a tensor "
                "that backward did not reach."
            )
        expect(
            found,
            slopes(x),
            given,
            [
                ("this is the value of the function, not its gradient.", value),
                ("this is the array itself; its gradient is asked for.", x),
                (HALF, grad(f)(tensor(x.astype(np.float32)))),
                ("the gradient is summed to one number, where each element has its own.", slopes(x).sum()),
            ],
            kind=np.ndarray,
        )
        untouched(x, handed, given)


CENTRE, STEEPNESS = np.array([0.5, -1.0, 2.0]), np.array([0.6, 1.0, 1.7])


def _valley(x: Tensor) -> Tensor:
    away = x - CENTRE
    return (away * away * STEEPNESS).sum()


def _walked(x: np.ndarray, rate: float, steps: int, kept: float = 0.0, stuck: bool = False) -> np.ndarray:
    """The end of a descent; `kept` is how much of the gradient before is added to, `stuck` holds the first one."""
    total, slopes = np.zeros_like(x), 2 * STEEPNESS * (x - CENTRE)
    for _ in range(steps):
        slopes = slopes if stuck else 2 * STEEPNESS * (x - CENTRE)
        total = kept * total + slopes
        x = x - rate * total
    return x


@exercise("00-2", "Steps of gradient descent")
def descend(answer: Callable) -> None:
    """It takes a function of a tensor, an array to start at, a learning rate and how many steps."""
    for rate, steps in ((0.1, 5), (0.05, 12), (0.2, 1)):
        start, given = draw(3, seed=steps), f"rate={rate} and steps={steps}"
        handed = start.copy()
        with _leaves(given):
            found = answer(_valley, handed, rate, steps)
        expect(
            found,
            _walked(start, rate, steps),
            given,
            [
                ("it walks uphill.", _walked(start, -rate, steps)),
                ("it starts and stays there.", start),
                ("each step uses the gradients of all steps before as well.", _walked(start, rate, steps, kept=1.0)),
                ("every step uses the gradient at the start.", _walked(start, rate, steps, stuck=True)),
                ("one step is missing.", _walked(start, rate, steps - 1)),
                ("there is a step too many.", _walked(start, rate, steps + 1)),
                ("the learning rate is not used.", _walked(start, 1.0, steps)),
                (HALF, _walked_in_float32(start, rate, steps)),
            ],
            kind=np.ndarray,
        )
        untouched(start, handed, given)


def _walked_in_float32(x: np.ndarray, rate: float, steps: int) -> np.ndarray:
    found = x.astype(np.float32)
    for _ in range(steps):
        found = found - np.float32(rate) * (grad(_valley)(tensor(found)).numpy()).astype(np.float32)
    return found


@exercise("00-3", "The backward rule of a cube")
def cube_rule(answer: Callable) -> None:
    """The rule takes (dout, x), tensors of one shape, and returns the gradient of x."""
    for shape in ((5,), (2, 3)):
        expect_rule(lambda x: x * x * x, answer, draw(*shape), given=f"x of shape {shape}")
