"""Tensors from numbers, lists, arrays and other tensors.

Imports the tensor, backends and dtypes; no op belongs here.
"""

from __future__ import annotations

import numpy as np

from .backend import get_backend
from .dtypes import BOOL, DEFAULT, FLOAT64, INT64, as_dtype
from .errors import ArgumentError, TapeError
from .tensor import Tensor, from_array


def tensor(
    data, dtype=None, requires_grad: bool = False, name: str | None = None, backend: str | None = None
) -> Tensor:
    """Make a tensor from numbers, nested lists, a NumPy array or a tensor; the data is copied.

    Parameters
    ----------
    data : array_like
        Python floats become float32, ints int64, bools bool; NumPy arrays keep their dtype, and so does what has
        ``__cuda_array_interface__``, such as an array of CuPy.
    dtype : dtype_like, optional
        Another dtype, to which numbers are rounded once.
    requires_grad : bool
        Whether ops on it are recorded (float dtypes only).
    name : str, optional
        A label for printing.
    backend : str, optional
        Where it lives; otherwise what ``use`` or ``FORGENB_BACKEND`` says, else ``"cpu"``.

    Raises
    ------
    DTypeError
        If the dtype is not supported, or not a float where a gradient is asked for.
    ArgumentError
        If `data` is ragged or holds anything but numbers, or a whole number beyond the integer dtype asked for.
    TapeError
        If `data` is a list with a tracked tensor.
    """
    if isinstance(data, Tensor):
        target = get_backend(backend) if backend else data.backend
        array = data.numpy()
    else:
        target = get_backend(backend)
        array = _as_array(data, dtype is not None)
    wanted = as_dtype(dtype if dtype is not None else array.dtype)
    if not hasattr(data, "dtype"):
        _refuse_too_large(array, wanted)
    array = array.astype(wanted, copy=False)
    made = from_array(array, target)
    made.name = name
    made.requires_grad = requires_grad
    return made


def _refuse_too_large(array: np.ndarray, dtype: np.dtype) -> None:
    """Refuse whole numbers that an integer dtype cannot hold; arrays wrap around, as NumPy's do."""
    if dtype.kind != "i" or array.dtype.kind != "i" or not array.size:
        return
    bounds, least, most = np.iinfo(dtype), int(array.min()), int(array.max())
    if least < bounds.min or most > bounds.max:
        raise ArgumentError(
            f"tensor() got {least if least < bounds.min else most}, which {dtype.name} cannot hold: it goes from "
            f"{bounds.min} to {bounds.max}, use int64"
        )


def beside(data, like: Tensor) -> Tensor:
    """Numbers or an array as an operand of `like`, on its backend; floats in lists keep their digits beside float64."""
    return from_array(_as_array(data, like.dtype == FLOAT64), like.backend)


def _as_array(data, exact: bool) -> np.ndarray:
    """`data` as an array; Python's floats become float32 if they need not be `exact`."""
    if isinstance(data, (np.ndarray, np.generic)):
        return np.asarray(data)
    if hasattr(data, "__cuda_array_interface__"):
        from .interop.cuda import read

        return read(data)
    try:
        array = np.asarray(_plain(data))
    except ValueError as cause:
        raise ArgumentError(f"tensor() needs numbers in a regular shape: {cause}") from cause
    if array.dtype.kind not in "bif":
        raise ArgumentError(f"tensor() needs numbers, got {type(data).__name__} of kind {array.dtype}")
    if array.dtype == FLOAT64 and not exact and not _holds_float64(data):
        return array.astype(DEFAULT)
    return array if array.dtype in (BOOL, FLOAT64) else array.astype(INT64 if array.dtype.kind == "i" else array.dtype)


def _plain(data):
    if isinstance(data, Tensor):
        if data.node is not None:
            raise TapeError(
                f"tensor() got a list with a tracked tensor of shape {data.shape}, whose gradient would be lost: join "
                "tensors with stack, or write x.detach()"
            )
        return data.numpy()
    return [_plain(x) for x in data] if isinstance(data, (list, tuple)) else data


def _holds_float64(data) -> bool:
    if isinstance(data, (list, tuple)):
        return any(_holds_float64(x) for x in data)
    return getattr(data, "dtype", BOOL) == FLOAT64
