"""``__array_function__``: ``np.sum(t)``, ``np.stack([t, u])`` and others become ops, or say what to use.

Imports the table, the hints and the arguments. What answers a question about shapes or values, and so has no gradient
to lose, is answered by NumPy itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor import Tensor
from .arguments import translated
from .hints import refuse
from .table import dispatched
from .ufuncs import foreign

QUESTIONS: dict[Callable, Callable[[Tensor], Any]] = {
    np.shape: lambda t: np.broadcast_to(0, t.shape),
    np.ndim: lambda t: np.broadcast_to(0, t.shape),
    np.size: lambda t: np.broadcast_to(0, t.shape),
    np.allclose: Tensor.numpy,
    np.array_equal: Tensor.numpy,
}
"""Function -> what it is asked about in place of a tensor: an array of the same shape, or the values."""


def array_function(self: Tensor, function: Callable, kinds: Any, args: tuple, keywords: dict[str, Any]) -> Any:
    """The op of a NumPy function.

    Raises
    ------
    InteropError
        If there is none, or the call says something that the op cannot.
    """
    if any(foreign(kind, "__array_function__") for kind in kinds):
        return NotImplemented
    if function in QUESTIONS:
        seen = QUESTIONS[function]
        return function(
            *(seen(a) if isinstance(a, Tensor) else a for a in args),
            **{name: seen(a) if isinstance(a, Tensor) else a for name, a in keywords.items()},
        )
    entry = dispatched().get(function)
    if entry is None:
        refuse(function)
    operands, chosen = translated(function, entry, args, keywords)
    return entry.function(*operands, **chosen)


METHODS = {"__array_function__": array_function}
