"""A tensor as a NumPy array or a Python number, and the one refusal of tracked tensors.

Imports tensors and errors; which NumPy functions have an op is `forgenb.interop.table`.
"""

from __future__ import annotations

import dis
import sys
from typing import Any

import numpy as np

from ..errors import ArgumentError, InteropError
from ..tensor import Tensor

_STORES = frozenset(dis.opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in dis.opmap)


def refuse_tracked(tensor: Tensor, target: str) -> None:
    """Refuse what would take a tracked tensor off the tape in silence.

    Raises
    ------
    InteropError
        Naming `target`, and the ways to say what is meant.
    """
    if tensor.node is not None:
        raise InteropError(
            f"a tracked tensor of shape {tensor.shape} was to become {target}, where its gradient would be lost: join "
            "tensors with stack or concat, or write tensor.detach(), or tensor.numpy() for its values"
        )


def as_array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """``np.asarray(tensor)``: the elements, which are read-only unless they are copied.

    Raises
    ------
    InteropError
        If the tensor is tracked.
    ArgumentError
        If `copy` is False where another dtype or backend makes a copy necessary.
    """
    refuse_tracked(self, "a NumPy array")
    wanted = self.dtype if dtype is None else np.dtype(dtype)
    host = self.backend.host
    if copy is False and not (host and wanted == self.dtype):
        raise ArgumentError(
            f"an array of dtype {wanted} of a tensor of dtype {self.dtype.name} on backend {self.backend.name!r} "
            "was asked for with copy=False, which needs the same dtype and memory of the host: leave copy out"
        )
    found = self.numpy()
    if wanted != self.dtype:
        return found.astype(wanted)
    if not host:
        found.flags.writeable = True  # it is a copy already
    return found.copy() if copy and host else found


def _refuse_store(tensor: Tensor) -> None:
    """Refuse ``array[0] = tensor`` on a NumPy array, which would drop the gradient in silence.

    NumPy asks the value for its number while the caller executes the assignment, so the instruction that the caller
    is at tells a store from a conversion such as ``float(loss)``, which is asked for by name. NumPy puts its own
    ``ValueError`` on top, with this error as its cause.
    """
    caller = sys._getframe(2)
    if caller.f_code.co_code[caller.f_lasti] in _STORES:
        refuse_tracked(tensor, "an element of an array")


def as_float(self: Tensor) -> float:
    """``float(tensor)`` of one element."""
    _refuse_store(self)
    return float(self.item())


def as_int(self: Tensor) -> int:
    """``int(tensor)`` of one element."""
    _refuse_store(self)
    return int(self.item())


def as_bool(self: Tensor) -> bool:
    """``bool(tensor)`` of one element.

    Raises
    ------
    ArgumentError
        If there is not exactly one element.
    """
    _refuse_store(self)
    if self.size != 1:
        raise ArgumentError(f"the truth of a tensor of shape {self.shape} is ambiguous: it needs one element")
    return bool(self.item())


METHODS = {"__array__": as_array, "__float__": as_float, "__int__": as_int, "__bool__": as_bool}
