"""What Python's copy, pickle and format do with a tensor: a copy owns its memory, wherever it goes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..creation import tensor
from ..errors import TapeError
from ..tensor import Parameter, Tensor


def restored(kind: type, array: np.ndarray, dtype: str, backend: str, name: str | None, tracked: bool, decay) -> Tensor:
    """The tensor that `reduced` described."""
    made = tensor(array, dtype, name=name, backend=backend)
    if kind is Parameter:
        made = Parameter(made, decay)
    made.requires_grad = tracked
    return made


def reduced(self: Tensor) -> tuple:
    """What a pickle holds: the elements, the name and whether a gradient is wanted, but no gradient.

    Raises
    ------
    TapeError
        If the tensor is the result of a recorded op.
    """
    if self.node is not None and not self.node.leaf:
        raise TapeError(f"the result of {self.node.name} cannot be copied or pickled with its graph: use detach()")
    about = self.dtype.name, self.backend.name, self.name, self.requires_grad, getattr(self, "decay", None)
    return restored, (type(self), self.numpy().copy(), *about)


def deep_copied(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A tensor with memory of its own; the copy of a leaf is a leaf, with a copy of its gradient."""
    made = restored(*reduced(self)[1])
    if self.grad is not None:
        made.grad = deep_copied(self.grad.detach(), memo)
    memo[id(self)] = made
    return made


def formatted(self: Tensor, spec: str) -> str:
    """``f"{loss:.3f}"`` of a tensor with one element."""
    return format(self.item(), spec) if spec else str(self)


METHODS = {
    "__copy__": lambda self: deep_copied(self, {}),
    "__deepcopy__": deep_copied,
    "__reduce__": reduced,
    "__format__": formatted,
}
