"""Puts ops on `Tensor` as operators and methods, so that each has one definition."""

from __future__ import annotations

from ..tensor import Tensor
from . import arithmetic, matmul, movement, reduction
from .apply import copied, run_map


def copy(self) -> Tensor:
    """A fresh row-major copy, on the tape."""
    return arithmetic.scale(self, 1.0) if self.requires_grad else copied(self)


def add_in_place(self, other: Tensor) -> Tensor:
    """Add `other` to the elements of this tensor, which must not be on the tape."""
    run_map(arithmetic.add_kernel, (self, other), into=(self,))
    self.changed()
    return self


def install() -> None:
    """Give `Tensor` its operators and methods."""
    for symbol, function in {
        "add": arithmetic.add,
        "sub": arithmetic.sub,
        "mul": arithmetic.mul,
        "truediv": arithmetic.div,
        "matmul": matmul.matmul,
    }.items():
        setattr(Tensor, f"__{symbol}__", function)
        setattr(Tensor, f"__r{symbol}__", lambda self, other, function=function: function(other, self))
    Tensor.__neg__ = arithmetic.neg
    Tensor.copy, Tensor.add_in_place = copy, add_in_place
    Tensor.sum, Tensor.mean = reduction.sum_, reduction.mean
    Tensor.reshape = lambda self, *shape: movement.reshape(self, shape[0] if len(shape) == 1 else shape)
    Tensor.transpose = lambda self, *axes: movement.transpose(self, axes[0] if len(axes) == 1 else axes or None)
    Tensor.T = property(movement.transpose)
