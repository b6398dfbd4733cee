"""The arguments of a call of NumPy as those of an op, from the two signatures.

A parameter goes to the op's of the same name, or of the same place where the op needs it. What the op does not have
must be what NumPy has by default. Imports the hints; no function is described here but for what NumPy leaves out.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .hints import refuse_keywords
from .table import Entry

UNSAID: dict[Callable, Callable] = {
    np.concatenate: lambda arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind": None,
    np.where: lambda condition, x=None, y=None, /: None,
    np.dot: lambda a, b, out=None: None,
}
"""Signatures of functions in C, which have none before NumPy 2.4."""

RENAMED = {"a_min": "low", "a_max": "high", "min": "low", "max": "high"}
"""Parameters of `numpy.clip` -> ours."""

NO_MATTER = {"optimize", "subok"}
"""Parameters that change no result."""

MANY, ANY = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
MISSING = inspect.Parameter.empty


@functools.cache
def signature(function: Callable) -> inspect.Signature:
    """The signature of NumPy's function, or of an op."""
    return inspect.signature(UNSAID.get(function, function))


@functools.cache
def places(function: Callable, op: Callable) -> dict[str, str]:
    """NumPy's parameter -> the op's, where it has one."""
    own = signature(op).parameters
    needed = [p.name for p in own.values() if p.default is MISSING]
    found = {}
    for place, name in enumerate(signature(function).parameters):
        if name in own or RENAMED.get(name) in own:
            found[name] = name if name in own else RENAMED[name]
        elif place < len(needed):
            found[name] = needed[place]
    return found


def translated(function: Callable, entry: Entry, args: tuple, keywords: dict) -> tuple[tuple, dict[str, Any]]:
    """The positional and keyword arguments with which to call the op.

    Raises
    ------
    TypeError
        Python's own, if NumPy would not take the arguments either.
    InteropError
        If the call says something that the op cannot.
    """
    own = signature(entry.function).parameters
    given, defaults = _bound(function, args, keywords)
    known = places(function, entry.function) | {name: name for name in given if name in own}
    operands: tuple = ()
    chosen: dict[str, Any] = {}
    unknown = []
    for name, value in given.items():
        ours = known.get(name)
        if value is np._NoValue or name in NO_MATTER:
            continue
        if ours is None:
            unknown += [] if _same(value, defaults.get(name, MISSING)) else [f"{name}="]
        elif own[ours].kind is MANY:
            operands = tuple(value)
        elif value is not None or own[ours].default is None:
            chosen[ours] = value
        elif not _left_out(name, own[ours], given):
            unknown.append(f"{name}=None")
    if unknown:
        refuse_keywords(function, unknown, entry.name)
    return operands, chosen


def _bound(function: Callable, args: tuple, keywords: dict) -> tuple[dict[str, Any], dict[str, Any]]:
    """Every parameter's value, and its default."""
    theirs = signature(function)
    bound = theirs.bind(*args, **keywords)
    bound.apply_defaults()
    given = dict(bound.arguments)
    for name, parameter in theirs.parameters.items():
        if parameter.kind is ANY:
            given |= given.pop(name)
    return given, {name: parameter.default for name, parameter in theirs.parameters.items()}


def _same(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, (bool, int, str)) and value == default)


def _left_out(name: str, parameter: inspect.Parameter, given: dict) -> bool:
    """Whether None says the same as the op's default: no bound; or the axis of an operand that has one only."""
    if name == "axis":
        return getattr(next(iter(given.values())), "ndim", 0) == 1
    return parameter.default is not MISSING
