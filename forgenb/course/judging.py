"""What judges are made of: hidden inputs, and comparisons that explain.

Imports NumPy, tensors, `custom_op` and `gradcheck`. A text here never says what the right answer is.
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np

from ..creation import tensor
from ..errors import ForgeError, GradcheckError
from ..functional import custom_op
from ..gradcheck import gradcheck
from ..random import generator
from ..tensor import Tensor
from .exercise import Mistaken

TOLERANCE = 1e-9
WHOLE = frozenset({"range", "min", "max"})
"""Builtins that a kernel body may use, of whole numbers."""
KINDS: dict[type, tuple[str, Callable[[Any], bool]]] = {
    Tensor: ("a tensor is", lambda got: isinstance(got, Tensor)),
    np.ndarray: ("a NumPy array is", lambda got: isinstance(got, np.ndarray | np.generic | float)),
    int: ("whole numbers are", lambda got: np.asarray(got).dtype.kind in "iu"),
    np.float32: ("float32 is", lambda got: getattr(got, "dtype", None) == np.float32),
}
"""What is asked for in words, and whether something is it."""


def draw(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    """float64 numbers in [low, high] of a shape; the same for the same arguments."""
    return generator(seed, f"course {shape}").uniform(low, high, shape)


def expect(
    got: Any,
    wanted: Any,
    given: str,
    mistakes: Iterable[tuple[str, Any]] = (),
    tolerance: float = TOLERANCE,
    kind: type | None = None,
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
    kind : type, optional
        `Tensor`, `numpy.ndarray`, `int` or `numpy.float32`, where the exercise asks for one of them.

    Raises
    ------
    Mistaken
        If it is missing, has another shape, is not finite where it should be, has other values, or is of another kind.
    """
    if got is None:
        raise Mistaken(f"With {given} it returns None: is a return statement missing?")
    found, right = _array(got, given), _array(wanted, given)
    for text, result in mistakes:
        wrong = _array(result, given)
        if _same(found, wrong, tolerance) and not _same(right, wrong, tolerance):
            raise Mistaken(f"With {given}: {text}")
    if isinstance(got, tuple | list) and found.shape == (1, *right.shape):
        raise Mistaken(f"With {given} it returns a {type(got).__name__} of one; return what is in it.")
    if found.shape != right.shape:
        raise Mistaken(f"With {given} the result has shape {found.shape}, and should have {right.shape}.")
    if not np.isfinite(found).all() and np.isfinite(right).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(found))[0])
        place = f" at {where}" if found.size > 1 else ""
        raise Mistaken(f"With {given} the result is {found[where]}{place}, where it should be finite.")
    if not _same(found, right, tolerance):
        raise Mistaken(f"With {given} {_apart(found, right, tolerance)}")
    if kind is not None and not KINDS[kind][1](got):
        what = _named(got) if isinstance(got, Tensor | list | tuple) else f"{_named(got)} of {np.asarray(got).dtype}"
        raise Mistaken(f"With {given} the numbers are right, but {KINDS[kind][0]} asked for, and this is {what}.")


def lone(found: Any) -> Any:
    """What a rule of one input gives, which may be the gradient itself or a tuple of it, as `fnb.custom_op` has it."""
    return found[0] if isinstance(found, tuple | list) and len(found) == 1 else found


def untouched(before: Any, after: np.ndarray, given: str, name: str = "x") -> None:
    """Refuse an answer that has written into an array that it was handed."""
    if not np.array_equal(before, after):
        raise Mistaken(f"With {given} the result is right, but {name} is no longer what it was.")


def expect_rule(
    forward: Callable,
    rule: Callable,
    *inputs: np.ndarray,
    given: str,
    mistakes: Iterable[tuple[str, Callable]] = (),
) -> None:
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
    mistakes : iterable of (str, callable)
        Explanations that gradcheck does not have, each with the rule of that mistake; the first that agrees is told.

    Raises
    ------
    Mistaken
        If gradients disagree with differences, or the rule fails, or returns anything but a tensor for each input.
    """
    safe = _counted(rule, len(inputs), given)
    for text, slip in mistakes:
        if _slipped(safe, slip, forward, inputs):
            raise Mistaken(f"With {given}: {text}")
    try:
        gradcheck(custom_op(forward, safe), *inputs)
    except GradcheckError as error:
        _, _, reason = str(error).partition("The usual mistake")
        told = f"The usual mistake{reason}" if reason else str(error)
        raise Mistaken(f"With {given} the rule disagrees with differences of the function. {told}") from error
    except ForgeError as error:
        raise Mistaken(f"With {given} the rule cannot be used: {error}") from error


def only_words(body: Callable) -> None:
    """Refuse a kernel body that uses NumPy, a builtin function or ``**``, where the kernel language has words.

    Raises
    ------
    Mistaken
        Not every target has these.
    """
    steps = list(dis.get_instructions(body)) if hasattr(body, "__code__") else []
    read = [step.argval for step in steps if step.opname == "LOAD_GLOBAL"]
    foreign = [f"the {kind} {name}" for name in read if (kind := _foreign(body, name))]
    foreign += ["**" for step in steps if step.argrepr in ("**", "**=")]
    if foreign:
        raise Mistaken(
            f"The body uses {foreign[0]}: a kernel runs on targets that have none. Besides + - * / take words of "
            "forgenb.kernel.primitives and forgenb.kernel.elementary."
        )


def _foreign(body: Callable, name: str) -> str:
    """What a name in a body is, if it is not of the kernel language."""
    builtin = None if name in WHOLE else getattr(builtins, name, None)
    found = getattr(body, "__globals__", {}).get(name, builtin)
    if isinstance(found, type) and issubclass(found, BaseException):  # a starter raises one
        return ""
    if isinstance(found, ModuleType):
        return "module"
    return "function" if isinstance(found, np.ufunc) or (found is builtin and callable(found)) else ""


def _counted(rule: Callable, inputs: int, given: str) -> Callable:
    """The rule, whose gradients may stand in a list as well, and must be tensors, one an input."""

    def counted(*args):
        found = rule(*args)
        if found is None:
            raise Mistaken(f"With {given} it returns None: is a return statement missing?")
        parts = tuple(found) if isinstance(found, tuple | list) else (found,)
        other = next((part for part in parts if part is not None and not isinstance(part, Tensor)), None)
        if other is not None:
            raise Mistaken(f"With {given} it returns {_named(other)}, where a gradient must be a tensor.")
        if len(parts) != inputs:
            asked = "one is asked for" if inputs == 1 else f"{inputs} are asked for, one for each input"
            raise Mistaken(f"With {given} it returns {len(parts)} gradient{'s' * (len(parts) != 1)}, where {asked}.")
        return parts

    return counted


def _slipped(rule: Callable, slip: Callable, forward: Callable, inputs: tuple[np.ndarray, ...]) -> bool:
    """Whether the rule gives what a mistake gives."""
    tensors = [tensor(x) for x in inputs]
    dout = tensor(draw(*forward(*tensors).shape, seed=2))
    found, wrong = rule(dout, *tensors), slip(dout, *tensors)
    pairs = zip(found, wrong if isinstance(wrong, tuple) else (wrong,), strict=True)
    return all(g is not None and _same(g.numpy(), w.numpy(), TOLERANCE) for g, w in pairs)


def _apart(found: np.ndarray, right: np.ndarray, tolerance: float) -> str:
    """How far numbers are from what they should be, and where."""
    apart = np.abs(found - right)
    if apart.size == 1:
        return f"the number is off by {apart.item():.3g}."
    where = tuple(int(i) for i in np.unravel_index(np.argmax(apart), apart.shape))
    share = float(np.mean(apart > tolerance * max(1.0, float(np.max(np.abs(right))))))
    return f"the numbers differ, most at {where}, by {apart[where]:.3g}; {share:.0%} of them are off."


def _named(value: Any) -> str:
    """The type of a value, with its article."""
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' or name == 'ndarray' else 'a'} {name}"


def _array(value: Any, given: str) -> np.ndarray:
    value = value.numpy() if isinstance(value, Tensor) else value
    try:
        return np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise Mistaken(f"With {given} it returns {_named(value)}, which is no array of numbers.") from error


def _same(found: np.ndarray, wanted: np.ndarray, tolerance: float) -> bool:
    if found.shape != wanted.shape:
        return False
    scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0.0)
    return bool(np.allclose(found, wanted, rtol=0, atol=tolerance * max(scale, 1e-300), equal_nan=True))


def agrees(found: Any, wrong: np.ndarray) -> bool:
    """Whether a gradient that an answer gave is that of a mistake; what is no tensor is of none."""
    return isinstance(found, Tensor) and _same(np.asarray(found.numpy(), np.float64), wrong, TOLERANCE)
