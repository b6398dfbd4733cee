"""``__array_ufunc__``: NumPy's functions by element, and NumPy values to the left of an operator.

``array + t``, ``np.float32(2) * t`` and ``np.exp(t)`` all arrive here, and become the op that the table has for the
ufunc, which records as it always does. Imports the table and the hints.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..tensor import Tensor
from .hints import refuse, refuse_keywords
from .table import dispatched


@functools.lru_cache(maxsize=1024)
def foreign(kind: type, protocol: str) -> bool:
    """Whether a type is not ours or NumPy's and follows `protocol` too, so that it may know better."""
    own = getattr(np.ndarray, protocol)
    return getattr(kind, protocol, own) is not own and not issubclass(kind, (Tensor, np.generic))


def array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
    """The op of a ufunc.

    Raises
    ------
    InteropError
        If there is none, or the call has keywords or is one of a ufunc's methods.
    """
    for value in inputs:
        if foreign(value.__class__, "__array_ufunc__"):
            return NotImplemented
    if method != "__call__":
        refuse(ufunc, method)
    entry = dispatched().get(ufunc)
    if entry is None:
        refuse(ufunc)
    if keywords:
        refuse_keywords(ufunc, [f"{name}=" for name in keywords], entry.name)
    return entry.function(*inputs)


METHODS = {"__array_ufunc__": array_ufunc}
