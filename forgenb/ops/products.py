"""The product over axes: prod.

It is folded by halves, ``x[:n/2] * x[n/2:]`` again and again, with the op `mul`. So rounding grows with the depth of
that tree, bits do not depend on threads, and the gradient is made of products of the other factors: it is right where
factors are 0, and can be differentiated in turn.

Imports what every family of ops does (see `forgenb.ops`); nothing here may divide by a factor.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import FLOAT16, FLOAT32
from ..tape import record
from ..tensor import Tensor, full
from .arithmetic import mul
from .casts import astype
from .indexing import getitem
from .movement import reshape, transpose, zeros
from .reduction import middle, reduced_shape, summable
from .settings import flag, normalized_axes
from .table import SHAPES, op

ALL = slice(None)


def _samples(rng: np.random.Generator):
    for shape in SHAPES:
        yield (rng.uniform(0.5, 1.5, shape),), {}
    for axis in (0, -1, (0, 2), (0, 1)):
        yield (rng.uniform(-1.5, 1.5, (3, 4, 5)),), {"axis": axis, "keepdims": axis == (0, 2)}
    yield (np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 4.0], [1.0, 2.0, 3.0]]),), {"axis": 1}
    yield (rng.uniform(0.9, 1.1, 31),), {}
    yield (rng.integers(-3, 4, (5, 3)),), {"axis": 0}
    yield (rng.uniform(-2, 2, (3, 0)),), {"axis": 1}


@op(_samples, np.prod, dtypes="sum")
def prod(x, axis=None, keepdims: bool = False) -> Tensor:
    r"""Product over axes, :math:`out = \prod_{axis} x`; the product of nothing is 1.

    Integers and bools multiply to int64; float16 is multiplied in float32. A single factor is the product itself, and
    the result a view of it.

    Backward: :math:`dx_i = dout \prod_{j \ne i} x_j`, without a division. Saves the factors of each level of the tree,
    about twice the size of `x`.

    Raises
    ------
    ShapeError
        If an axis does not exist or is repeated.
    """
    x = summable(x)
    axes = normalized_axes("prod", x.ndim, axis)
    shape = reduced_shape(x.shape, axes, flag("prod", "keepdims", keepdims))
    if x.size == 0:
        before, dtype, backend = x.shape, x.dtype, x.backend

        def backward(dout):
            return (zeros(before, dtype, backend),)

        return record(full(shape, 1, dtype, backend), (x,), backward)
    wide = astype(x, FLOAT32) if x.dtype is FLOAT16 else x
    out = reshape(_folded(_with_factors_in_the_middle(wide, axes)), shape)
    return astype(out, FLOAT16) if x.dtype is FLOAT16 else out


def _with_factors_in_the_middle(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """`x` as ``[outer, n, inner]``, where n counts the factors of each product."""
    order, sizes = middle(x.shape, axes)
    return reshape(x if order is None else transpose(x, order), sizes)


def _folded(x: Tensor) -> Tensor:
    rest = None
    while (n := x.shape[1]) > 1:
        half = n // 2
        if n % 2:
            last = getitem(x, (ALL, n - 1))
            rest = last if rest is None else mul(rest, last)
        x = mul(getitem(x, (ALL, slice(0, half))), getitem(x, (ALL, slice(half, 2 * half))))
    out = getitem(x, (ALL, 0))
    return out if rest is None else mul(out, rest)
