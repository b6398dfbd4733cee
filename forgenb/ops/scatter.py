"""Rows added up: scatter_add by number, where numbers repeat, and sum_rows all of them.

Adding up uses no atomics. A plan sorts the ids by counting and cuts each id's contributions into blocks; a
row kernel sums the blocks, another the blocks of each output row. Order and blocks depend on the ids alone,
so any number of threads gives the same bits, and n contributions round about 2 sqrt(n) times.

Imports what every family of ops does (see `forgenb.ops`); atomics must never be used.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from ..dtypes import INT64
from ..errors import DTypeError, ShapeError, TapeError
from ..kernel import row_kernel
from ..kernel.primitives import lanes, put, real
from ..layout import count
from ..tape import is_recording, record
from ..tensor import Tensor, empty
from .apply import as_tensor, narrowed, refuse_shared, run_map, run_rows
from .copying import copy_kernel
from .ids import wrapped_ids
from .movement import movable
from .plans import same_backend
from .rows import take
from .settings import whole
from .table import op

BLOCK = 64


@row_kernel("one | ids[n]:int -> order[n]:int place[rows]:int first[row_ends]:int ends[part_ends]:int; block:int")
def scatter_plan_kernel(row, ids, order, place, first, ends, block):
    """Positions sorted by id, in blocks.

    ``order`` lists the positions, equal ids in their order. Block p holds ``order[ends[p] : ends[p + 1]]``,
    all of one id; the blocks of id r are ``first[r]`` to ``first[r + 1]``. One lane does all of it.
    """
    for _ in lanes(1):
        rows = place.shape[0]
        for r in range(rows):
            place[r] = 0
        for i in range(ids.shape[0]):
            place[ids[i]] += 1
        position = 0
        part = 0
        for r in range(rows):
            size = place[r]
            first[r] = part
            place[r] = position
            for start in range(0, size, block):
                ends[part] = position + start
                part += 1
            position += size
        first[rows] = part
        for p in range(part, ends.shape[0]):
            ends[p] = position
        for i in range(ids.shape[0]):
            order[place[ids[i]]] = i
            place[ids[i]] += 1


@row_kernel("parts | src[n,cols] order[n]:int ends[part_ends]:int -> out[parts,cols]")
def scatter_block_kernel(row, src, order, ends, out):
    """Sum of one block of contributions, in order; a block without any is left alone and never read."""
    start = ends[row]
    stop = ends[row + 1]
    if start < stop:
        source = order[start]
        for j in lanes(src.shape[1]):
            out[row, j] = src[source, j]
        for k in range(start + 1, stop):
            source = order[k]
            for j in lanes(src.shape[1]):
                out[row, j] = out[row, j] + src[source, j]


@row_kernel("rows | parts[count,cols] first[row_ends]:int -> parts[count,cols] out[rows,cols]")
def scatter_row_kernel(row, parts, first, out):
    """One output row: the sum of its blocks, or zeros."""
    start = first[row]
    stop = first[row + 1]
    for k in range(start + 1, stop):
        for j in lanes(out.shape[1]):
            parts[start, j] = parts[start, j] + parts[k, j]
    if start < stop:
        for j in lanes(out.shape[1]):
            put(out, (row, j), parts[start, j])
    else:
        for j in lanes(out.shape[1]):
            put(out, (row, j), real(0))


@row_kernel("rows | parts[count,cols] first[row_ends]:int dst[rows,cols] -> parts[count,cols] dst[rows,cols]")
def scatter_into_kernel(row, parts, first, dst):
    """Add the sum of a row's blocks to what is there; a row without any is not touched."""
    start = first[row]
    stop = first[row + 1]
    for k in range(start + 1, stop):
        for j in lanes(dst.shape[1]):
            parts[start, j] = parts[start, j] + parts[k, j]
    if start < stop:
        for j in lanes(dst.shape[1]):
            dst[row, j] = dst[row, j] + parts[start, j]


def _block_sums(ids: Tensor, src: Tensor, rows: int, cols: int) -> tuple[Tensor, Tensor, int]:
    """Sums of blocks of contiguous ``src[n, cols]`` by id, and where each row's blocks start."""
    n, backend = ids.size, src.backend
    block = max(BLOCK, isqrt(n))
    bound = n // block + min(n, rows)
    order, place = empty((n,), INT64, backend), empty((rows,), INT64, backend)
    first, ends = empty((rows + 1,), INT64, backend), empty((bound + 1,), INT64, backend)
    run_rows(scatter_plan_kernel, (1, n, rows, rows + 1, bound + 1), (ids, order, place, first, ends), (block,))
    parts = empty((bound, cols), src.dtype, backend)
    work = cols * min(block, -(-n // max(1, bound)))
    run_rows(scatter_block_kernel, (bound, n, cols, bound + 1), (src, order, ends, parts), work=work)
    return parts, first, bound


def _check_scatter(name: str, ids, src: Tensor, rows: int) -> Tensor:
    found = wrapped_ids(name, ids, rows, 0, src.backend)
    if src.shape[: found.ndim] != found.shape:
        raise ShapeError(
            f"{name} got ids of shape {found.shape} and src of shape {src.shape}, which must begin with it"
        )
    return found


def _scatter_samples(rng: np.random.Generator):
    for ids, shape, rows in (
        ([2, 0, 2, 2], (4, 3), 4), ([[1, 0], [1, -1]], (2, 2), 3), ([], (0, 2), 3),
        ([0] * 200, (200, 2), 1), ([1], (1, 0), 2), ([3, 1], (2, 2, 2), 5), (1, (3,), 2),
    ):  # fmt: skip
        yield (np.array(ids, np.int64), rng.uniform(-2, 2, shape)), {"rows": rows}


def _scatter_reference(ids, src, rows):
    out = np.zeros((rows, *src.shape[ids.ndim :]))
    np.add.at(out, ids, src)
    return out


@op(_scatter_samples, _scatter_reference, (1,))
def scatter_add(ids, src, rows: int) -> Tensor:
    r"""Rows added up by number, :math:`out_r = \sum_{i:\,ids_i = r} src_i`, for r in [0, rows).

    The shape of `src` begins with that of `ids`. Backward: :math:`dsrc_i = dout_{ids_i}`, see `take`.
    Saves `ids`.

    Raises
    ------
    IndexRangeError
        If an id is out of range.
    ShapeError
        If the shapes do not fit.
    """
    src, rows = as_tensor(src, ids), whole("scatter_add", "rows", rows, 0)
    ids = _check_scatter("scatter_add", ids, src, rows)
    tail = src.shape[ids.ndim :]
    cols = count(tail)
    source = movable(src.detach())
    out = empty((rows, *tail), source.dtype, src.backend)
    if out.size:
        parts, first, bound = _block_sums(ids, source, rows, cols)
        run_rows(scatter_row_kernel, (rows, bound, cols, rows + 1), (parts, first, out), work=cols)

    def backward(dout):
        return (take(dout, ids),)

    return record(narrowed(out, src.dtype), (src,), backward)


def _scatter_into_samples(rng: np.random.Generator):
    for (ids, src), words in _scatter_samples(rng):
        yield (rng.uniform(-2, 2, (words["rows"], *src.shape[ids.ndim :])), ids, src), {}


def _scatter_into_reference(dst, ids, src):
    out = dst.copy()
    np.add.at(out, ids, src)
    return out


@op(_scatter_into_samples, _scatter_into_reference, (), in_place=True, dtypes="one")
def scatter_add_(dst: Tensor, ids, src) -> Tensor:
    """Add rows into `dst` in place: ``dst[ids[i]] += src[i]``, in a fixed order; returns `dst`.

    Raises
    ------
    TapeError
        If `dst` or `src` is tracked and ops are recorded.
    IndexRangeError, ShapeError, DTypeError
        If ids, shapes or dtypes do not fit.
    ArgumentError
        If `dst` is a broadcast view, whose elements share memory.
    """
    src = as_tensor(src, dst)
    same_backend("scatter_add_", (dst, src))
    if is_recording() and (dst.requires_grad or src.requires_grad):
        raise TapeError("scatter_add_ on a tracked tensor would lose gradients: use scatter_add, or no_grad()")
    if dst.ndim == 0:
        raise ShapeError("scatter_add_ got a dst without dimensions: it needs rows to add to")
    refuse_shared("scatter_add_", dst)
    rows, tail = dst.shape[0], dst.shape[1:]
    ids = _check_scatter("scatter_add_", ids, src, rows)
    if src.shape[ids.ndim :] != tail or src.dtype != dst.dtype:
        raise (ShapeError if src.dtype == dst.dtype else DTypeError)(
            f"scatter_add_ got src of shape {src.shape} and dtype {src.dtype}, and dst of shape {dst.shape} "
            f"and dtype {dst.dtype}: rows must have one shape and one dtype"
        )
    if src.size:
        work = movable(dst.detach())
        cols = count(tail)
        parts, first, bound = _block_sums(ids, movable(src.detach()), rows, cols)
        run_rows(scatter_into_kernel, (rows, bound, cols, rows + 1), (parts, first, work), work=cols)
        if work.memory is not dst.memory:
            run_map(copy_kernel, (work,), into=(dst.detach(),))
    dst.changed()
    return dst


def _sum_rows_samples(rng: np.random.Generator):
    for shape in ((5,), (3, 4), (2, 3, 4), (0, 3), (3, 0), (1, 1), (130, 7)):
        yield (rng.uniform(-2, 2, shape),), {}


@op(_sum_rows_samples, lambda x: x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1]).sum(0), dtypes="sum")
def sum_rows(x) -> Tensor:
    r"""Sum over all leading axes, ``[..., cols] -> [cols]``.

    Backward: `dout` repeated to the shape of `x` (see `sum`). Saves nothing.

    Raises
    ------
    ShapeError
        If `x` has no dimension.
    """
    from .reduction import sum_

    x = as_tensor(x)
    if x.ndim == 0:
        raise ShapeError("sum_rows got a tensor without dimensions: it needs a last axis to keep")
    return sum_(x, axis=tuple(range(x.ndim - 1)))
