"""What to write instead of a NumPy function that no op stands for.

Imports errors and the names of ops; a hint is a line of text and promises nothing that a test does not look up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from ..errors import InteropError
from ..ops import TABLE
from .table import spelled

HINTS = {
    "append": "fnb.ops.concat",
    "arange": "fnb.tensor(np.arange(...))",
    "array": "fnb.tensor, or fnb.ops.stack of tracked tensors",
    "array2string": "repr(t)",
    "array_repr": "repr(t)",
    "array_split": "fnb.ops.split",
    "array_str": "repr(t)",
    "asarray": "fnb.tensor, or fnb.ops.stack of tracked tensors",
    "block": "fnb.ops.concat",
    "broadcast_arrays": "fnb.ops.broadcast_to",
    "column_stack": "fnb.ops.stack(..., axis=1)",
    "copyto": "t[...] = value",
    "cross": "fnb.ops.einsum",
    "dstack": "fnb.ops.concat(..., axis=2)",
    "empty_like": "fnb.tensor(np.zeros(t.shape, t.dtype))",
    "expit": "fnb.ops.sigmoid",
    "fabs": "fnb.ops.abs",
    "float_power": "fnb.ops.pow",
    "floor_divide": "fnb.ops.floor(x / y)",
    "fmax": "fnb.ops.maximum",
    "fmin": "fnb.ops.minimum",
    "full_like": "fnb.tensor(np.full(t.shape, value, t.dtype))",
    "hsplit": "fnb.ops.split(..., axis=1)",
    "hstack": "fnb.ops.concat(..., axis=1)",
    "inner": "fnb.ops.einsum('...i,...i', a, b)",
    "kron": "fnb.ops.einsum",
    "linalg.vector_norm": "fnb.ops.norm",
    "logaddexp": "fnb.ops.logsumexp",
    "nan_to_num": "fnb.ops.where",
    "ones_like": "fnb.tensor(np.ones(t.shape, t.dtype))",
    "put": "t[...] = value",
    "ravel": "fnb.ops.reshape(t, (-1,))",
    "reciprocal": "1.0 / t",
    "rollaxis": "fnb.ops.moveaxis",
    "save": "fnb.save",
    "savez": "fnb.save",
    "tensordot": "fnb.ops.einsum",
    "trace": "fnb.ops.sum(fnb.ops.diagonal(t))",
    "vdot": "fnb.ops.dot",
    "vsplit": "fnb.ops.split",
    "vstack": "fnb.ops.concat",
    "zeros_like": "fnb.tensor(np.zeros(t.shape, t.dtype))",
    "add.reduce": "fnb.ops.sum",
    "add.accumulate": "fnb.ops.cumsum",
    "add.at": "fnb.ops.scatter_add_",
    "logical_and.reduce": "fnb.ops.all",
    "logical_or.reduce": "fnb.ops.any",
    "maximum.reduce": "fnb.ops.max",
    "minimum.reduce": "fnb.ops.min",
    "multiply.outer": "fnb.ops.outer",
    "multiply.reduce": "fnb.ops.prod",
}
"""NumPy's function, or a ufunc's method -> what forgenb has instead."""


ADVICE = {
    "axis=None": "say which axis, or reshape first, since None flattens in NumPy",
    "dtype=": "convert with t.astype",
    "out=": "give the result a name, as in array = array + t and not array += t",
    "where=": "choose afterwards with fnb.ops.where",
    "x=None": "for the places where a condition holds use t.numpy()",
    "y=None": "for the places where a condition holds use t.numpy()",
}
"""What an op does not take, as `refuse_keywords` gets it -> what to do."""


def refuse(function: Callable, method: str = "") -> NoReturn:
    """Refuse a function of NumPy, or a method of a ufunc, for which there is no op.

    Raises
    ------
    InteropError
        Naming what to use.
    """
    asked = spelled(function) + (f".{method}" if method else "")
    last = asked.rpartition(".")[2]
    hint = HINTS.get(asked.removeprefix("np.")) or HINTS.get(last) or (f"fnb.ops.{last}" if last in TABLE else "")
    instead = f"use {hint}, or" if hint else "compose it of fnb.ops, or use"
    raise InteropError(f"{asked} of a tensor has no op in forgenb: {instead} t.numpy() for values without a gradient")


def refuse_keywords(function: Callable, names: Sequence[str], instead: str) -> NoReturn:
    """Refuse what a call of NumPy says and its op does not take: ``name=``, or ``name=None`` where it needs a value.

    Raises
    ------
    InteropError
        Naming them, the op, and what to do about each.
    """
    listed = ", ".join(names)
    told = "; ".join(dict.fromkeys(ADVICE.get(name, f"leave {name} out") for name in names))
    raise InteropError(f"{spelled(function)} of a tensor is {instead}, which does not take {listed}: {told}")
