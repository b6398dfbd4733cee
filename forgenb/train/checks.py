"""What the functions of this package are given, checked: their arguments, and what functions among these return.

Imports modules, the settings of ops and the base of callbacks; each complaint says what was asked, got, and is needed.
"""

import math
import os
from collections.abc import Iterable, Sequence
from typing import Any

from forgenb.errors import ArgumentError
from forgenb.nn import Module
from forgenb.ops import settings
from forgenb.routine import Late
from forgenb.train.loop.callback import Callback

__all__ = [
    "batch_of",
    "callables",
    "callbacks_of",
    "is_number",
    "loss_and_norm",
    "model_of",
    "number_of",
    "optimizer_of",
    "place_of",
    "rate_of",
    "whole",
]

STATE = ("state_dict", "load_state_dict")


def callables(caller: str, **functions: object) -> None:
    """Refuse what cannot be called."""
    for name, function in functions.items():
        if not callable(function):
            raise ArgumentError(f"{caller} got {name}={function!r}: it must be a function or another callable")


def is_number(value: object) -> bool:
    """Whether `value` is a real number of Python, infinity included; neither a bool nor NaN is one."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def model_of(model: Any) -> Any:
    """A module, or None."""
    if model is not None and not isinstance(model, Module):
        raise ArgumentError(f"the model that is trained must be a fnb.nn.Module, got {type(model).__name__}")
    return model


def optimizer_of(optimizer: Any) -> Any:
    """What does an optimiser's work, or None."""
    lacking = [name for name in ("lr", *STATE) if optimizer is not None and not hasattr(optimizer, name)]
    if lacking:
        raise ArgumentError(
            f"the optimiser must be one of fnb.optim or like them, got {type(optimizer).__name__} without "
            f"{', '.join(lacking)}"
        )
    return optimizer


def callbacks_of(given: Any) -> list[Callback]:
    """The callbacks as a list."""
    found = list(given) if isinstance(given, Iterable) else [given]
    if not isinstance(given, Iterable) or not all(isinstance(callback, Callback) for callback in found):
        raise ArgumentError(
            "a Trainer takes callbacks as a list of objects of subclasses of fnb.train.Callback, got "
            f"{', '.join(map(repr, found))}"
        )
    return found


def place_of(caller: str, path: Any) -> Any:
    """The name of a file or a folder."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path) or "\0" in str(path):
        raise ArgumentError(f"{caller} needs the name of a file or a folder, as text or a path, got {path!r}")
    return path


def whole(caller: str, name: str, value: object, least: int = 1) -> int:
    """A whole number of at least `least`, the same in every run."""
    if isinstance(value, Late):
        raise ArgumentError(f"{caller} got {name}={value!r}: it must be a whole number that is known now")
    return settings.whole(caller, name, value, least)


def batch_of(arrays: Any, step: int) -> Sequence:
    """The arrays of a step's batch."""
    if not isinstance(arrays, (tuple, list)) or not all(hasattr(a, "size") for a in arrays):
        raise ArgumentError(
            f"batches({step}) must return a tuple of arrays, with which the step is called, got {type(arrays).__name__}"
        )
    return arrays


def rate_of(rate: Any, step: int) -> float:
    """The learning rate that a schedule gave."""
    number = not isinstance(rate, bool) and hasattr(rate, "__float__") and not getattr(rate, "shape", ())
    if not number or not 0 <= float(rate) < math.inf:
        raise ArgumentError(f"schedule({step}) must return a finite rate of at least 0, got {rate!r}")
    return float(rate)


def loss_and_norm(results: Any) -> tuple[float, float]:
    """The two numbers that a step gave."""
    if not isinstance(results, (tuple, list)) or len(results) != 2:
        raise ArgumentError(
            f"a step must return two numbers, the loss and the norm of all gradients, got {type(results).__name__}"
        )
    return number_of("the loss of a step", results[0]), number_of("the norm of a step", results[1])


def number_of(what: str, value: Any) -> float:
    """A number, or the one that a tensor or array holds."""
    if getattr(value, "size", 1) == 1 and not isinstance(value, (bool, str)):
        number = value.item() if hasattr(value, "item") else value
        if hasattr(number, "__float__"):
            return float(number)
    raise ArgumentError(f"{what} must be one number, got {type(value).__name__} {getattr(value, 'shape', '')}".rstrip())
