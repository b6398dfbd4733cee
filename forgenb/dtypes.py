"""The dtypes of tensors and the one table of result dtypes, `RULES`; docs/dtypes.md is made from it.

Supported are bool, int32, int64, float16 (storage, computed in float32), float32 and float64. Of two
tensors the result has the later dtype in that order, so an integer never widens a float. A Python
scalar never promotes: it takes the tensor's dtype, or float32 where a float meets an integer tensor.

Imports NumPy and `forgenb.errors` only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

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
        found = None if dtype is None else np.dtype(dtype)  # which NumPy would take for float64
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


def scalar_dtype(kind: str, dtype: np.dtype) -> np.dtype:
    """What a Python number of a `kind` ("b", "i" or "f") becomes beside a tensor of `dtype`, and so their result."""
    if dtype.kind == "f" or kind == "b" or (kind == "i" and dtype.kind != "b"):
        return dtype
    return DEFAULT if kind == "f" else INT64


def sum_dtype(dtype: np.dtype) -> np.dtype:
    """What numbers of `dtype` are added up in and give: int64 for integers and bool."""
    return dtype if dtype.kind == "f" else INT64


Result = np.dtype | None


class Rule(NamedTuple):
    """How the dtype of an op's results follows from those of its operands (ids, masks and the like left out).

    `result` takes the operands' dtypes in order and the call's keywords; None means that the op refuses them.
    """

    text: str
    result: Callable[[Sequence[np.dtype], Mapping[str, Any]], Result]


def _floats(dtypes: Sequence[np.dtype]) -> bool:
    return all(dtype.kind == "f" for dtype in dtypes)


def _beside_numbers(dtypes: Sequence[np.dtype], keywords: Mapping[str, Any]) -> np.dtype:
    found = result_dtype(*dtypes)
    for value in keywords.values():
        kind = {bool: "b", int: "i", float: "f"}.get(type(value))
        found = found if kind is None else scalar_dtype(kind, found)
    return found


RULES: dict[str, Rule] = {
    "later": Rule("the later one", lambda d, _: result_dtype(*d)),
    "float": Rule("the later one where that is a float, else float32", lambda d, _: float_dtype(result_dtype(*d))),
    "sum": Rule("the later one where that is a float, else int64", lambda d, _: sum_dtype(result_dtype(*d))),
    "bool": Rule("bool", lambda d, _: BOOL),
    "int64": Rule("int64", lambda d, _: INT64),
    "first": Rule("that of the first operand, which the others are converted to", lambda d, _: d[0]),
    "asked": Rule("what is asked for", lambda d, keywords: as_dtype(keywords["dtype"])),
    "numbers": Rule("the later one, beside the Python numbers that are settings", _beside_numbers),
    "floats": Rule("the later one; all must be floats", lambda d, _: result_dtype(*d) if _floats(d) else None),
    "first float": Rule(
        "that of the first operand, which must be a float; numbers of another dtype are converted to it",
        lambda d, _: d[0] if d[0].kind == "f" else None,
    ),
    "float beside": Rule(
        "the later one; the first operand must be a float", lambda d, _: result_dtype(*d) if d[0].kind == "f" else None
    ),
    "one float": Rule("that of all operands, a float", lambda d, _: d[0] if _floats(d) and len(set(d)) == 1 else None),
    "one": Rule("that of all operands", lambda d, _: d[0] if len(set(d)) == 1 else None),
    "alike": Rule(
        "that of the first operand; all must be floats that are computed with in one dtype",
        lambda d, _: d[0] if _floats(d) and len({compute_dtype(x) for x in d}) == 1 else None,
    ),
}
"""Rule by name, as the rows of the op table give it. "Later" is meant in the order of `ORDER`."""
