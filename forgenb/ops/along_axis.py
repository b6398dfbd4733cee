"""Elements by number along an axis, another number at each place: take_along_axis, and adding up by such numbers.

`take` and `scatter_add` are for numbers that pick whole rows. Adding up uses no atomics: one lane adds whatever goes
into its column, in order.

Imports what every family of ops does (see `forgenb.ops`); ids are checked in `forgenb.ops.ids`, not here.
"""

from __future__ import annotations

import numpy as np

from ..errors import ShapeError
from ..kernel import row_kernel
from ..kernel.primitives import lanes, put, real
from ..layout import count
from ..tape import record
from ..tensor import Tensor, empty
from .apply import as_tensor, contiguous, narrowed, run_rows
from .ids import still_inside, wrapped_ids
from .movement import broadcast_to, movable, zeros
from .settings import one_axis, whole
from .table import op


@row_kernel("parts | x[outer,n,inner] ids[outer,m,inner]:int -> out[outer,m,inner]")
def take_along_kernel(row, x, ids, out):
    """One row of ``inner`` gathered elements."""
    group = row // ids.shape[1]
    r = row - group * ids.shape[1]
    for j in lanes(out.shape[2]):
        put(out, (group, r, j), x[group, ids[group, r, j], j])


@row_kernel("outer | ids[outer,m,inner]:int src[outer,m,inner] -> out[outer,n,inner]")
def scatter_along_kernel(row, ids, src, out):
    """Columns of sums: zeros, and each contribution added where its id points."""
    for i in range(out.shape[1]):
        for j in lanes(out.shape[2]):
            put(out, (row, i, j), real(0))
    for i in range(src.shape[1]):
        for j in lanes(out.shape[2]):
            place = ids[row, i, j]
            put(out, (row, place, j), out[row, place, j] + src[row, i, j])


def _axis(name: str, shapes: tuple, axis: int) -> int:
    first, second = (len(s) for s in shapes)
    if first != second:
        raise ShapeError(f"{name} got shapes {shapes[0]} and {shapes[1]}: both need the same number of dimensions")
    return one_axis(name, first, axis)


def _together(name: str, x: Tensor, indices, axis: int) -> tuple[Tensor, Tensor]:
    """`x` and the checked ids, broadcast to each other in all axes but one."""
    ids = wrapped_ids(name, indices, x.shape[axis], axis, x.backend)
    rest = [s[:axis] + (1,) + s[axis + 1 :] for s in (x.shape, ids.shape)]
    try:
        common = np.broadcast_shapes(*rest)
    except ValueError:
        raise ShapeError(
            f"{name} got shapes {x.shape} and {ids.shape}: axes other than {axis} must agree or be 1"
        ) from None
    wanted = [common[:axis] + (t.shape[axis],) + common[axis + 1 :] for t in (x, ids)]
    spread = contiguous(broadcast_to(ids.detach(), wanted[1]))
    return broadcast_to(x, wanted[0]), still_inside(spread, x.shape[axis])


def _take_samples(rng: np.random.Generator):
    for shape, ids, axis in (
        ((3, 4), [[1], [0], [-1]], 1), ((3, 4), [[0, 1, 2, 2], [2, 0, 0, -3]], 0), ((5,), [4, 4, 0], -1),
        ((2, 3, 2), [[[2, 0]], [[1, 1]]], 1), ((2, 3), np.zeros((2, 0)), 1), ((2, 3), [[1, 2]], 1),
    ):  # fmt: skip
        yield (rng.uniform(-2, 2, shape), np.array(ids, np.int64)), {"axis": axis}


@op(_take_samples, lambda x, indices, axis=-1: np.take_along_axis(x, indices, axis))
def take_along_axis(x, indices, axis: int = -1) -> Tensor:
    r"""Elements picked along an axis, at each place by its own number: :math:`out_{a\,i\,b} = x_{a\,k\,b}` with
    :math:`k = indices_{a\,i\,b}`.

    `indices` have as many dimensions as `x`; axes other than `axis` broadcast. A negative number counts from the end.

    Backward: `scatter_add_along_axis` of `dout`, summed over broadcast axes. Saves the numbers.

    Raises
    ------
    IndexRangeError
        If a number is out of range.
    DTypeError
        If the numbers are not whole.
    ShapeError
        If dimensions differ, or axes do not broadcast.
    """
    x = as_tensor(x, indices)
    shapes = x.shape, tuple(np.shape(indices) if not isinstance(indices, Tensor) else indices.shape)
    axis = _axis("take_along_axis", shapes, axis)
    x, ids = _together("take_along_axis", x, indices, axis)
    size, m = x.shape[axis], ids.shape[axis]
    outer, inner = count(x.shape[:axis]), count(x.shape[axis + 1 :])
    source = movable(x.detach())
    out = empty(ids.shape, source.dtype, x.backend)
    if out.size:
        run_rows(take_along_kernel, (outer * m, outer, size, inner, m), (source, ids, out), work=inner)

    def backward(dout):
        return (scatter_add_along_axis(ids, dout, size, axis),)

    return record(narrowed(out, x.dtype), (x,), backward)


def _scatter_samples(rng: np.random.Generator):
    for ids, size, axis in (
        ([[1], [0], [-1]], 4, 1), ([[0, 1, 2, 2], [2, 0, 0, -3]], 3, 0), ([4, 4, 0], 5, -1),
        ([[[2, 0], [2, 0]], [[1, 1], [1, -2]]], 3, 1), (np.zeros((2, 0)), 3, 1),
    ):  # fmt: skip
        numbers = np.array(ids, np.int64)
        yield (numbers, rng.uniform(-2, 2, numbers.shape)), {"size": size, "axis": axis}


def _scatter_reference(indices, src, size, axis=-1):
    shape = list(src.shape)
    shape[axis] = size
    out = np.zeros(shape)
    places = list(np.indices(indices.shape))
    places[axis] = indices
    np.add.at(out, tuple(places), src)
    return out


@op(_scatter_samples, _scatter_reference, (1,))
def scatter_add_along_axis(indices, src, size: int, axis: int = -1) -> Tensor:
    r"""Elements added up along an axis of the result, each where its own number points, the backward of
    `take_along_axis`.

    The result has `size` places along `axis`, and 0 where nothing was added. `indices` have the shape of `src`.

    Backward: ``take_along_axis(dout, indices, axis)``. Saves the numbers.

    Raises
    ------
    IndexRangeError
        If a number is out of range.
    DTypeError
        If the numbers are not whole.
    ShapeError
        If the shapes differ, or there is no such axis.
    """
    src = as_tensor(src, indices)
    shapes = tuple(np.shape(indices) if not isinstance(indices, Tensor) else indices.shape), src.shape
    axis, size = _axis("scatter_add_along_axis", shapes, axis), whole("scatter_add_along_axis", "size", size, 0)
    if shapes[0] != shapes[1]:
        raise ShapeError(f"scatter_add_along_axis got numbers of shape {shapes[0]} for src of shape {shapes[1]}")
    ids = contiguous(wrapped_ids("scatter_add_along_axis", indices, size, axis, src.backend))
    outer, m, inner = count(src.shape[:axis]), src.shape[axis], count(src.shape[axis + 1 :])
    shape = (*src.shape[:axis], size, *src.shape[axis + 1 :])
    if src.size == 0:
        out = zeros(shape, src.dtype, src.backend)
    else:
        source = movable(src.detach())
        out = empty(shape, source.dtype, src.backend)
        run_rows(scatter_along_kernel, (outer, m, inner, size), (ids, source, out), work=(m + size) * inner)

    def backward(dout):
        return (take_along_axis(dout, ids, axis),)

    return record(narrowed(out, src.dtype), (src,), backward)
