"""Puts indexing, iteration, assignment and moves of axes on `Tensor`.

Imports ops; an op is never defined here.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import DTypeError
from ..tensor import Tensor
from . import assignment, indexing, movement
from .rows import take


def iterate(self: Tensor) -> Iterator[Tensor]:
    """The entries along axis 0, each a view.

    Raises
    ------
    DTypeError
        If the tensor has no dimension.
    """
    if not self.shape:
        raise DTypeError("a tensor without dimensions cannot be iterated over: use item() for its number")
    return (indexing.getitem(self, i) for i in range(self.shape[0]))


METHODS = {
    "__getitem__": indexing.getitem,
    "__setitem__": assignment.set_item,
    "__iter__": iterate,
    "assign_": assignment.assign_,
    "take": take,
    "flip": indexing.flip,
    "squeeze": movement.squeeze,
    "expand_dims": movement.expand_dims,
    "swapaxes": movement.swapaxes,
    "moveaxis": movement.moveaxis,
}


def install() -> None:
    """Give `Tensor` its indexing and its methods that move elements."""
    for name, value in METHODS.items():
        setattr(Tensor, name, value)
