"""The dtypes of tensors and the one table of result dtypes.

Supported are bool, int32, int64, float16 (storage, computed in float32), float32 and float64. Of two
tensors the result has the later dtype in that order, so an integer never widens a float. A Python
scalar never promotes: it takes the tensor's dtype, or float32 where a float meets an integer tensor.

Imports NumPy and `forgenb.errors` only.
"""

from __future__ import annotations

import numpy as np

from .errors import DTypeError

ORDER = tuple(np.dtype(name) for name in ("bool", "int32", "int64", "float16", "float32", "float64"))
BOOL, INT32, INT64, FLOAT16, FLOAT32, FLOAT64 = ORDER
DEFAULT = FLOAT32
NAMES = {dtype: dtype.name for dtype in (*ORDER, np.dtype("uint32"))}
"""`dtype.name` without the time that NumPy takes to spell it."""
_RANK = {dtype: rank for rank, dtype in enumerate(ORDER)}


def as_dtype(dtype) -> np.dtype:
    """A supported dtype from its name, NumPy type or Python type.

    Raises
    ------
    DTypeError
        If forgenb has no tensors of that dtype.
    """
    if dtype is float:
        return DEFAULT
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found not in _RANK:
        names = ", ".join(d.name for d in ORDER)
        raise DTypeError(f"dtype {dtype!r} is not supported: use one of {names}")
    return found


def result_dtype(*dtypes: np.dtype) -> np.dtype:
    """The dtype of an operation on tensors of `dtypes`: the last of them in the table's order."""
    first = dtypes[0]
    for dtype in dtypes:
        if dtype is not first:
            return max(dtypes, key=_RANK.__getitem__)
    return first


def compute_dtype(dtype: np.dtype) -> np.dtype:
    """What a kernel works in for operands of `dtype`: float32 for float16, int64 for integers and bool."""
    if dtype.kind == "f":
        return FLOAT32 if dtype is FLOAT16 else dtype
    return INT64


def float_dtype(dtype: np.dtype) -> np.dtype:
    """`dtype` where it is a float, else the default float: what exp or a mean of integers returns."""
    return dtype if dtype.kind == "f" else DEFAULT
