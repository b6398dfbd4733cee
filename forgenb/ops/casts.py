"""Conversions of dtype: `astype`.

Imports what every family of ops does (see `forgenb.ops`); a conversion that an op needs for itself is
`apply.copied`.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import ORDER, as_dtype
from ..tape import record
from ..tensor import Tensor
from .apply import as_tensor, copied
from .table import SHAPES, op


def _samples(rng: np.random.Generator):
    for shape in SHAPES:
        yield (rng.uniform(-2, 2, shape),), {"dtype": "float64"}
    for dtype in ORDER:
        yield (rng.uniform(0.25, 4, (3, 5)).round(2),), {"dtype": dtype.name}
        yield (rng.integers(-3, 3, 7),), {"dtype": dtype.name}


@op(_samples, lambda x, dtype: x.astype(dtype), (), dtypes="asked")
def astype(x, dtype) -> Tensor:
    r"""A copy in another dtype: floats are rounded to nearest, and cut towards 0 where they become integers.

    Backward, from float to float: `dout` in the dtype of `x`. A result that is no float is off the tape.
    What a float outside the range of an integer dtype becomes is undefined, as in NumPy. Saves nothing.

    Raises
    ------
    DTypeError
        If `dtype` is not supported.
    """
    x, target = as_tensor(x), as_dtype(dtype)
    before, out = x.dtype, copied(x, target)
    if target.kind != "f" or before.kind != "f":
        return out

    def backward(dout):
        return (astype(dout, before),)

    return record(out, (x,), backward)
