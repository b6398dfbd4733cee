"""What Python's copy and pickle do with a tensor: a copy owns its memory, wherever it goes, and has no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..creation import tensor
from ..errors import TapeError
from ..tensor import Tensor


def restored(kind: type[Tensor], array: np.ndarray, backend: str, tracked: bool, others: dict[str, Any]) -> Tensor:
    """The tensor that `reduced` described, a leaf where that was one."""
    plain = tensor(array, backend=backend)
    made = kind.__new__(kind)
    Tensor.__init__(made, plain.memory, 0, plain.layout)
    for name, value in others.items():
        setattr(made, name, value)
    made.requires_grad = tracked
    return made


def reduced(self: Tensor) -> tuple:
    """What a pickle holds: class, elements, name, attributes of a subclass, whether a gradient is wanted; no gradient.

    Raises
    ------
    TapeError
        If the tensor is the result of a recorded op.
    """
    if self.node is not None and not self.node.leaf:
        raise TapeError(f"the result of {self.node.name} cannot be copied or pickled with its graph: use detach()")
    return restored, (type(self), self.numpy().copy(), self.backend.name, self.requires_grad, _others(self))


def _others(self: Tensor) -> dict[str, Any]:
    """The name, and what a subclass adds, in slots or without."""
    added = (kind for kind in type(self).__mro__ if kind not in Tensor.__mro__)
    slots = [name for kind in added for name in vars(kind).get("__slots__", ())]
    found = {name: getattr(self, name) for name in ("name", *slots) if hasattr(self, name)}
    return found | getattr(self, "__dict__", {})


def copied(self: Tensor) -> Tensor:
    """A tensor with memory of its own; the copy of a leaf is a leaf."""
    return restored(*reduced(self)[1])


def deep_copied(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """As `copied`; what stands twice in what is copied is copied once."""
    memo[id(self)] = made = copied(self)
    return made


METHODS = {"__copy__": copied, "__deepcopy__": deep_copied, "__reduce__": reduced}
