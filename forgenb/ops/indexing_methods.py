"""Puts indexing, iteration, assignment and moves of axes on `Tensor`; guards writes into NumPy arrays.

Imports ops; an op is never defined here.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import DTypeError
from ..tensor import Tensor
from . import assignment, indexing, movement
from .rows import take

_STORES = frozenset(dis.opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in dis.opmap)


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


def _refuse_store(tensor: Tensor) -> None:
    """Refuse ``array[i] = tensor`` on a NumPy array, which would drop the gradient in silence.

    NumPy asks the value for its number or array while the caller executes the assignment, so the instruction
    that the caller is at tells a store from a conversion such as ``float(loss)`` or ``np.asarray(x)``. For
    ``array[0] = tensor`` NumPy puts its own ``ValueError`` on top, with this error as its cause.
    """
    caller = sys._getframe(2)
    if caller.f_code.co_code[caller.f_lasti] in _STORES:
        raise DTypeError(
            f"a tracked tensor of shape {tensor.shape} was written into a NumPy array, where its "
            "gradient would be lost: join tensors with stack or concat, or write tensor.detach()"
        )


def as_float(self: Tensor) -> float:
    """``float(tensor)`` of one element."""
    if self.node is not None:
        _refuse_store(self)
    return float(self.item())


def as_array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """``np.asarray(tensor)``: the elements, off the tape."""
    if self.node is not None:
        _refuse_store(self)
    found = self.numpy()
    if dtype is not None and found.dtype != dtype:
        return found.astype(dtype)
    return found.copy() if copy else found


METHODS = {
    "__getitem__": indexing.getitem,
    "__setitem__": assignment.set_item,
    "__iter__": iterate,
    "__float__": as_float,
    "__array__": as_array,
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
