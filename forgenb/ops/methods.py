"""Puts ops on `Tensor` as operators and methods, so that each has one definition.

Imports ops; an op is never defined here. `forgenb.members` lists what is put on the class.
"""

from __future__ import annotations

from collections.abc import Callable

from ..backend import get_backend
from ..tape import record
from ..tensor import Tensor, from_array
from . import (
    activations,
    arithmetic,
    casts,
    comparison,
    copies,
    cumulative,
    diagonals,
    einsum,
    error_function,
    exponentials,
    extrema,
    logic,
    matmul,
    movement,
    pointwise,
    power,
    products,
    reduction,
    rounding,
    statistics,
    trigonometry,
)
from .apply import apart, copied, run_map

BINARY = {
    "add": arithmetic.add,
    "sub": arithmetic.sub,
    "mul": arithmetic.mul,
    "truediv": arithmetic.div,
    "pow": power.pow_,
    "matmul": matmul.matmul,
}
LOGIC = {"and": logic.AND, "or": logic.OR, "xor": logic.XOR}
COMPARISONS = {
    "gt": comparison.greater,
    "ge": comparison.greater_equal,
    "lt": comparison.less,
    "le": comparison.less_equal,
    "eq": comparison.equal,
    "ne": comparison.not_equal,
}
METHODS = {
    "abs": pointwise.abs_,
    "all": logic.all_,
    "any": logic.any_,
    "arctan": trigonometry.arctan,
    "argmax": extrema.argmax,
    "argmin": extrema.argmin,
    "astype": casts.astype,
    "clip": activations.clip,
    "cos": trigonometry.cos,
    "cosh": exponentials.cosh,
    "cumsum": cumulative.cumsum,
    "diagonal": diagonals.diagonal,
    "dot": einsum.dot,
    "erf": error_function.erf,
    "exp": pointwise.exp,
    "expm1": exponentials.expm1,
    "floor": rounding.floor,
    "log": pointwise.log,
    "log1p": exponentials.log1p,
    "log2": exponentials.log2,
    "logsumexp": statistics.logsumexp,
    "max": extrema.max_,
    "mean": reduction.mean,
    "min": extrema.min_,
    "norm": statistics.norm,
    "prod": products.prod,
    "relu": activations.relu,
    "rsqrt": pointwise.rsqrt,
    "sigmoid": activations.sigmoid,
    "sign": rounding.sign,
    "sin": trigonometry.sin,
    "sinh": exponentials.sinh,
    "sqrt": pointwise.sqrt,
    "square": pointwise.square,
    "std": statistics.std,
    "sum": reduction.sum_,
    "tan": trigonometry.tan,
    "tanh": activations.tanh,
    "var": statistics.var,
}


def copy(self) -> Tensor:
    """A fresh row-major copy, on the tape."""
    return arithmetic.scale(self, 1.0) if self.requires_grad else copied(self)


def add_in_place(self, other: Tensor) -> Tensor:
    """Add `other` to the elements of this tensor, which must not be on the tape."""
    run_map(arithmetic.add_kernel, (self, apart(other, self)), into=(self,))
    self.changed()
    return self


def to(self, backend: str) -> Tensor:
    """The tensor itself where it lives on `backend`, else a copy there, on the tape.

    Backward: `dout` moved back. Saves nothing.

    Parameters
    ----------
    backend : str
        The name of a backend that `forgenb.backends` lists.

    Raises
    ------
    BackendError
        If there is no such backend, or it cannot be used.
    """
    target, home = get_backend(backend), self.backend.name
    if target is self.backend:
        return self

    def backward(dout):
        return (to(dout, home),)

    return record(from_array(self.numpy(), target), (self,), backward)


def _reflected(function: Callable) -> Callable:
    return lambda self, other: function(other, self)


def _compared(function: Callable) -> Callable:
    def compare(self, other):
        if other is None or isinstance(other, str):
            return NotImplemented
        return function(self, other)

    compare.__doc__ = function.__doc__
    return compare


def _spread(function: Callable) -> Callable:
    """A method that takes its sizes or axes one by one, or as one tuple."""

    def method(self, *numbers):
        return function(self, numbers[0] if len(numbers) == 1 else numbers or None)

    method.__doc__ = function.__doc__
    return method


def installed() -> dict[str, object]:
    """Name -> what `install` puts on `Tensor`. Equality is by element, the hash stays that of the object."""
    found: dict[str, object] = {
        **METHODS,
        "copy": copy,
        "add_in_place": add_in_place,
        "to": to,
        "__abs__": pointwise.abs_,
        "__hash__": object.__hash__,
        "__invert__": logic.NOT,
        "__neg__": arithmetic.neg,
        "T": property(movement.transpose),
        "reshape": _spread(movement.reshape),
        "transpose": _spread(movement.transpose),
    }
    for symbol, function in {**BINARY, **LOGIC}.items():
        found[f"__{symbol}__"] = function
        found[f"__r{symbol}__"] = _reflected(function)
    for symbol, function in COMPARISONS.items():
        found[f"__{symbol}__"] = _compared(function)
    return found


def install() -> None:
    """Give `Tensor` its operators and methods, which `forgenb.members` lists."""
    for name, value in {**installed(), **copies.METHODS}.items():
        setattr(Tensor, name, value)
