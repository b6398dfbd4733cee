"""Rows by number: take. Its backward is `forgenb.ops.scatter`.

Imports what every family of ops does (see `forgenb.ops`); ids are checked in `forgenb.ops.ids`, not here.
"""

from __future__ import annotations

import numpy as np

from ..kernel import row_kernel
from ..kernel.primitives import lanes, put
from ..layout import count
from ..tape import record
from ..tensor import Tensor, empty
from .apply import as_tensor, narrowed, run_rows
from .ids import wrapped_ids
from .movement import movable, moveaxis
from .settings import one_axis
from .table import op


@row_kernel("parts | x[outer,n,inner] ids[m]:int -> out[outer,m,inner]")
def take_kernel(row, x, ids, out):
    """One gathered piece of ``inner`` elements."""
    group = row // ids.shape[0]
    r = row - group * ids.shape[0]
    source = ids[r]
    for j in lanes(out.shape[2]):
        put(out, (group, r, j), x[group, source, j])


def _take_samples(rng: np.random.Generator):
    for shape, ids, axis in (
        ((5, 3), [4, 0, 0, 2], 0), ((5,), [[1, -1], [0, 3]], 0), ((2, 4, 3), [3, 3, 1], 1),
        ((2, 3), [[0], [-3]], -1), ((4, 2), [], 0), ((3, 0), [2], 0), ((1, 130), [0] * 70, 0),
        ((2, 3, 4), 1, 1),
    ):  # fmt: skip
        yield (rng.uniform(-2, 2, shape), np.array(ids, np.int64)), {"axis": axis}


@op(_take_samples, lambda x, ids, axis=0: np.take(x, ids, axis))
def take(x, ids, axis: int = 0) -> Tensor:
    r"""The entries of `x` at `ids` along `axis`: :math:`out_{a\,i\,b} = x_{a\,ids_i\,b}`.

    `ids` are whole numbers of any shape (a tensor, array or list), which stands in the result in place of
    the axis; a negative id counts from the end, as in NumPy. They are checked before anything is read.

    Backward: `scatter_add` of `dout` by `ids`. Saves `ids`.

    Raises
    ------
    IndexRangeError
        If an id is out of range.
    DTypeError
        If the ids are not whole numbers.
    ShapeError
        If `x` has no such axis.
    """
    x = as_tensor(x, ids)
    axis = one_axis("take", x.ndim, axis)
    size = x.shape[axis]
    ids = wrapped_ids("take", ids, size, axis, x.backend)
    outer, inner, m = count(x.shape[:axis]), count(x.shape[axis + 1 :]), ids.size
    source = movable(x.detach())
    out = empty((*x.shape[:axis], *ids.shape, *x.shape[axis + 1 :]), source.dtype, x.backend)
    if out.size:
        run_rows(take_kernel, (outer * m, outer, size, inner, m), (source, ids, out), work=inner)

    def backward(dout):
        from .scatter import scatter_add

        if axis == 0:
            return (scatter_add(ids, dout, size),)
        places = tuple(range(axis, axis + ids.ndim))
        front = moveaxis(dout, places, tuple(range(ids.ndim)))
        return (moveaxis(scatter_add(ids, front, size), 0, axis),)

    return record(narrowed(out, x.dtype), (x,), backward)
