"""Rows by number: take, and the ids that it and `forgenb.ops.scatter` work with.

Ids are checked on the host before any kernel is launched; negative ones count from the end, as in NumPy.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import INT64
from ..errors import BackendError, DTypeError, IndexRangeError, ShapeError
from ..kernel import row_kernel
from ..kernel.primitives import lanes, put
from ..tape import record
from ..tensor import Tensor, count, empty, from_array
from .apply import as_tensor, run_rows
from .movement import movable, moveaxis, narrowed
from .table import op


def wrapped_positions(name: str, ids: np.ndarray, size: int, axis: int) -> np.ndarray:
    """Host `ids` as int64 in [0, size); negative ones count from the end.

    Raises
    ------
    DTypeError
        If they are not whole numbers.
    IndexRangeError
        If one is out of range, naming it and the axis.
    """
    if ids.size == 0:
        return ids.astype(INT64)
    if ids.dtype.kind not in "iu":
        raise DTypeError(f"{name} needs whole numbers as ids, got dtype {ids.dtype}: convert them to int64")
    ids = ids.astype(INT64, copy=False)
    if int(ids.view(np.uint64).max()) < size:
        return ids
    wrapped = np.where(ids < 0, ids + size, ids)
    wrong = (wrapped < 0) | (wrapped >= size)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise IndexRangeError(
            f"{name} got id {ids.flat[at]} at position {at}, but axis {axis} has size {size}: ids must lie "
            f"in [{-size}, {size})"
        )
    return wrapped


def wrapped_ids(name: str, ids, size: int, axis: int, backend) -> Tensor:
    """`ids` (tensor, array or list) as a contiguous int64 tensor, see `wrapped_positions`."""
    if isinstance(ids, Tensor):
        if ids.backend is not backend:
            raise BackendError(
                f"{name} got ids on backend {ids.backend.name!r} for a tensor on {backend.name!r}: move them "
                f"with .to({backend.name!r})"
            )
        host = ids.numpy()
        found = wrapped_positions(name, host, size, axis)
        return ids if found is host and ids.contiguous else from_array(found, backend)
    return from_array(wrapped_positions(name, np.asarray(ids), size, axis), backend)


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
    if not -x.ndim <= axis < x.ndim:
        raise ShapeError(f"take got axis={axis} for shape {x.shape}, which has {x.ndim} dimensions")
    axis %= x.ndim
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
