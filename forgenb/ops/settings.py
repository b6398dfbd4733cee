"""Settings of ops, the arguments that are no tensors: each in the plain form that ops count with, or refused by name.

Python's and NumPy's numbers do, and late numbers of a routine go through as they are, for the launch to resolve. What
is neither gets one message, before anything is computed.

Imports the standard library, NumPy and errors. What a setting means to one op, beyond a bound, is for that op to say.
"""

from __future__ import annotations

import operator
import reprlib
from math import inf
from typing import Any, NoReturn

import numpy as np

from ..errors import ArgumentError, ShapeError


def quoted(value) -> str:
    """`value` as a message shows it: cut short where it is long."""
    try:
        return reprlib.repr(value)
    except ValueError:  # Python writes no int of thousands of digits
        return f"<{type(value).__name__}>"


def _refuse(name: str, what: str, value, wanted: str) -> NoReturn:
    raise ArgumentError(f"{name} got {what}={quoted(value)}: it must be {wanted}") from None


def _is_late(value) -> bool:
    """Whether `value` is a number that changes from run to run, see `forgenb.ops.apply.as_tensor`."""
    return hasattr(value, "as_operand")


def _index(value) -> int:
    """A whole number as an int; a bool is none, but a flag in the wrong place."""
    if isinstance(value, bool):
        raise TypeError
    return operator.index(value)


def whole(name: str, what: str, value, least: int | None = None) -> int:
    """A whole number.

    Parameters
    ----------
    name, what : str
        The op and its setting, for the message.
    value : int or late number
        The setting; a late one is given back as it is.
    least : int, optional
        The smallest that the op takes.

    Raises
    ------
    ArgumentError
        If it is none, or too small.
    """
    if type(value) is not int:
        if _is_late(value):
            return value
        try:
            value = _index(value)
        except TypeError:
            _refuse(name, what, value, _whole_number(least))
    if least is not None and value < least:
        _refuse(name, what, value, _whole_number(least))
    return value


def _whole_number(least: int | None) -> str:
    return "a whole number" if least is None else f"a whole number of at least {least}"


def number(name: str, what: str, value) -> float:
    """A real number as a float; a late one as it is.

    Raises
    ------
    ArgumentError
        If it is none, or float64 cannot hold it.
    """
    if type(value) is float or (type(value) is not int and _is_late(value)):
        return value
    try:
        if not isinstance(value, (str, bytes, bytearray)):  # which float() would read
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    _refuse(name, what, value, "a number that float64 holds")


def probability(name: str, value, what: str = "p") -> float:
    """The probability of dropping, in [0, 1).

    Raises
    ------
    ArgumentError
        If it is no number, or none of these.
    """
    p = value if type(value) is float else number(name, what, value)
    if not 0 <= p < 1:
        raise ArgumentError(f"{name} got {what}={quoted(value)}: the probability of dropping must be in [0, 1)")
    return p


def flag(name: str, what: str, value) -> bool:
    """True or False, or the numbers 1 and 0.

    Raises
    ------
    ArgumentError
        If it is none of these.
    """
    if value is False or value is True:
        return value
    if isinstance(value, np.bool_) or (isinstance(value, (int, np.integer)) and value in (0, 1)):
        return bool(value)
    _refuse(name, what, value, "True or False")


def wholes(name: str, what: str, value) -> tuple[int, ...]:
    """One whole number, or several, as a tuple.

    Raises
    ------
    ArgumentError
        If one is not whole.
    """
    found = (value,) if type(value) is int else _plain(value, -inf)
    if found is None:
        _refuse(name, what, value, "a whole number, or several")
    return found


def sizes(name: str, what: str, value, least: int = 0) -> tuple[int, ...]:
    """The sizes of a shape as a tuple; one number does for one axis.

    Raises
    ------
    ShapeError
        If one is not whole, or too small.
    """
    if type(value) is tuple:
        for size in value:
            if type(size) is not int or size < least:
                break
        else:
            return value
    found = _plain(value, least)
    if found is None:
        raise ShapeError(
            f"{name} got {what}={quoted(value)}: a shape is a whole number of at least {least} for each axis"
        )
    return found


def _plain(value: Any, least: float) -> tuple[int, ...] | None:
    """`value` as a tuple of ints of at least `least`, or None where it is something else."""
    try:
        found = (_index(value),) if _is_single(value) else tuple(map(_index, value))
    except TypeError:
        return None
    return None if any(each < least for each in found) else found


def _is_single(value) -> bool:
    """Whether `value` can only be one number; text is taken for one, too, and then is none."""
    return isinstance(value, str) or (hasattr(value, "__index__") and not getattr(value, "ndim", 0))


def one_axis(name: str, ndim: int, axis, what: str = "axis") -> int:
    """The number of one axis, where those below 0 count from the end, as one that is not negative.

    Raises
    ------
    ArgumentError
        If it is not a whole number.
    ShapeError
        If there is no such axis.
    """
    try:
        found = axis if type(axis) is int else _index(axis)
    except TypeError:
        _refuse(name, what, axis, "the number of one axis")
    if not -ndim <= found < ndim:
        raise ShapeError(
            f"{name} got {what}={quoted(axis)} where there are {ndim} dimensions: the axis must exist, the last is -1"
        )
    return found + ndim if found < 0 else found


def axes_in_order(name: str, ndim: int, axes, what: str = "axis") -> tuple[int, ...]:
    """`axes` (a number or several) as numbers that are not negative, in the order given.

    Raises
    ------
    ArgumentError
        If one is not a whole number.
    ShapeError
        If one does not exist or is repeated.
    """
    if type(axes) is int:
        return (one_axis(name, ndim, axes, what),)
    found: list[int] = []
    for axis in wholes(name, what, axes):
        place = axis + ndim if axis < 0 else axis
        if not 0 <= place < ndim or place in found:
            raise ShapeError(
                f"{name} got {what}={quoted(axes)} where there are {ndim} dimensions: axes must exist, each once"
            )
        found.append(place)
    return tuple(found)


def normalized_axes(name: str, ndim: int, axis) -> tuple[int, ...]:
    """`axis` (None for all, a number or several) as sorted numbers that are not negative; see `axes_in_order`."""
    if axis is None:
        return tuple(range(ndim))
    found = axes_in_order(name, ndim, axis)
    return found if len(found) < 2 else tuple(sorted(found))
