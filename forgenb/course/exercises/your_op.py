"""The exercises of chapter 19: the rule of a smooth maximum, the body of a kernel, and a rule that is no derivative.

Imports the parts of judges, kernels and their launch; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...creation import tensor
from ...kernel import Kernel, map_kernel
from ...ops.apply import run_map
from ...ops.pointwise import sqrt
from ...tensor import Tensor
from ..exercise import Mistaken, exercise
from ..judging import draw, expect, expect_rule, only_words


def _smooth_max(x: Tensor, y: Tensor) -> Tensor:
    return 0.5 * (x + y + sqrt((x - y) * (x - y) + 4.0))


@exercise("19-1", "The backward rule of a smooth maximum")
def smooth_max_rule(answer: Callable) -> None:
    """The rule takes (dout, x, y), tensors of one shape, and returns both gradients."""
    for shape in ((3, 2), (5,)):
        x, y, dout = draw(*shape), draw(*shape, seed=1), draw(*shape, seed=2)
        given, half = f"x and y of shape {shape}", 0.5 * dout * (x - y) / np.sqrt((x - y) ** 2 + 4.0)
        found = answer(tensor(dout), tensor(x), tensor(y))
        if _agrees(found, (0.5 * dout + half, 0.5 * dout + half)):
            raise Mistaken(f"With {given} both gradients are the same, but a larger y makes x - y smaller.")
        if _agrees(found, (half, -half)):
            raise Mistaken(f"With {given} only the root is differentiated; x + y stands before it.")
        expect_rule(_smooth_max, answer, x, y, given=given)


def _agrees(found: object, wrong: tuple[np.ndarray, np.ndarray]) -> bool:
    """Whether both gradients are those of a mistake."""
    if not isinstance(found, tuple | list) or len(found) != 2 or not all(isinstance(part, Tensor) for part in found):
        return False
    return all(part.shape == w.shape and np.allclose(part.numpy(), w) for part, w in zip(found, wrong, strict=True))


@exercise("19-2", "The body of a kernel for log cosh")
def logcosh(answer: Callable) -> None:
    """A function of one number in the words of the kernel language, which the interpreter runs as a map kernel."""
    only_words(answer)
    kernel = map_kernel("x -> out")(answer)
    wide, far = np.linspace(-3, 3, 13), np.array([100.0, -100.0, 1e30, -1e30, 0.0])
    for given, x, dtype, tolerance in (
        ("numbers between -3 and 3 in float64", wide, "float64", 1e-14),
        ("numbers between -3 and 3 in float32", wide, "float32", 2e-7),
        ("numbers from 10 to 14 in float64", np.linspace(10, 14, 5), "float64", 1e-14),
        ("100, -100, 1e30, -1e30 and 0 in float32", far, "float32", 2e-7),
    ):
        right = np.logaddexp(x, -x) - np.log(2)
        mistakes = [
            ("a log 2 is missing: the value at 0 must be 0.", np.logaddexp(x, -x)),
            ("this is |x| - log 2, which is right far away only.", np.abs(x) - np.log(2)),
            ("the exponential is of -|x|, where -2|x| is what is left.", np.abs(x) + _rest(x, 1) - np.log(2)),
        ]
        expect(_run(kernel, x, dtype), right, given, mistakes, tolerance)
    for number in (np.inf, -np.inf, np.nan):
        found = _run(kernel, np.array([number]), "float32").item()
        if np.isnan(found) != np.isnan(number) or np.isfinite(found):
            raise Mistaken(f"With {number} the result is {found}, which is not where the function goes.")


def _run(kernel: Kernel, x: np.ndarray, dtype: str) -> Tensor:
    return run_map(kernel, (tensor(x, dtype=dtype, backend="python"),))


def _rest(x: np.ndarray, factor: float) -> np.ndarray:
    return np.log1p(np.exp(-factor * np.abs(x)))


@exercise("19-3", "Rounding that hands its gradient on")
def quantize(answer: Callable) -> None:
    """It takes a tensor and a step and returns a tensor on the tape."""
    for shape, step in (((3, 4), 0.5), ((6,), 0.2)):
        given = f"x of shape {shape} and step = {step}"
        values, dout = draw(*shape), draw(*shape, seed=1)
        nearest = np.rint(values / step) * step
        x = tensor(values, requires_grad=True)
        out = answer(x, step)
        expect(
            out,
            nearest,
            f"{given}, forward",
            [
                ("x comes back as it was.", values),
                ("it rounds to whole numbers; divide by the step first.", np.rint(values)),
                ("the number of steps comes back; multiply by the step again.", np.rint(values / step)),
                ("it rounds down, where the nearest is asked for.", np.floor(values / step) * step),
                ("it rounds towards 0, where the nearest is asked for.", np.trunc(values / step) * step),
                ("x is multiplied by the step before rounding.", np.rint(values * step) / step),
            ],
        )
        if not isinstance(out, Tensor) or not out.requires_grad:
            raise Mistaken(f"With {given} forward is right, but the result is not on the tape: nothing flows back.")
        out.backward(tensor(dout))
        if x.grad is None:
            raise Mistaken(f"With {given} no gradient arrives at x: the rule returns None.")
        expect(
            x.grad,
            dout,
            f"{given}, backward",
            [
                ("this is the true slope, 0, through which nothing is learned.", np.zeros(shape)),
                ("the gradient is 1 whatever comes in; hand on what comes in.", np.ones(shape)),
                ("the incoming gradient is rounded too.", np.rint(dout / step) * step),
                ("the incoming gradient is multiplied by the step.", dout * step),
                ("the incoming gradient is divided by the step.", dout / step),
                ("the incoming gradient is multiplied by x.", dout * values),
            ],
        )
