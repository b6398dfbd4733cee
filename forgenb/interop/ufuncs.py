"""``__array_ufunc__``: NumPy's functions by element, and NumPy values to the left of an operator.

``array + t``, ``np.float32(2) * t`` and ``np.exp(t)`` all arrive here, and become the op that the table has for the
ufunc, which records as it always does. Imports the table and the hints.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Tensor
from .hints import refuse, refuse_keywords
from .table import dispatched


def others(kinds, protocol: str) -> bool:
    """Whether a type besides ours and NumPy's takes part, which may know better."""
    own = getattr(np.ndarray, protocol)
    return any(getattr(kind, protocol, own) is not own and not issubclass(kind, (Tensor, np.generic)) for kind in kinds)


def array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
    """The op of a ufunc.

    Raises
    ------
    InteropError
        If there is none, or the call has keywords or is one of a ufunc's methods.
    """
    if others(map(type, inputs), "__array_ufunc__"):
        return NotImplemented
    entry = dispatched().get(ufunc)
    if method != "__call__":
        refuse(ufunc, method)
    if entry is None:
        refuse(ufunc)
    if keywords:
        refuse_keywords(ufunc, list(keywords), entry.name)
    return entry.function(*inputs)


METHODS = {"__array_ufunc__": array_ufunc}
