"""Ops that change shape or order. Views where strides allow, else copies.

reshape, transpose, moveaxis, swapaxes, expand_dims, squeeze, broadcast_to.

Imports what every family of ops does (see `forgenb.ops`); nothing here computes, and a view must stay on the tape.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import compute_dtype
from ..errors import ShapeError
from ..layout import contiguous_strides, count
from ..tape import record
from ..tensor import Tensor, full
from .apply import as_tensor, contiguous, copied
from .plans import broadcast_shape
from .settings import axes_in_order, one_axis, sizes, wholes
from .table import op


def movable(x: Tensor) -> Tensor:
    """`x` as row kernels that only move elements read it: contiguous, in the dtype they compute in."""
    wide = compute_dtype(x.dtype)
    return contiguous(x) if wide == x.dtype else copied(x, wide)


def zeros(shape: tuple[int, ...], dtype: np.dtype, backend) -> Tensor:
    """A tensor of zeros."""
    return full(shape, 0, dtype, backend)


def resolved_shape(name: str, x: Tensor, shape) -> tuple[int, ...]:
    """`shape` with one -1 filled in.

    Raises
    ------
    ShapeError
        If the number of elements differs, naming both shapes.
    """
    wanted = sizes(name, "shape", shape, -1)
    if wanted.count(-1) == 1:
        known = count(tuple(s for s in wanted if s != -1))
        missing = x.size // known if known else 0
        wanted = tuple(missing if s == -1 else s for s in wanted)
    if count(wanted) != x.size or -1 in wanted:
        raise ShapeError(f"{name} cannot turn shape {x.shape} ({x.size} elements) into {shape}")
    return wanted


def _reshape_samples(rng: np.random.Generator):
    for shape, new in (((2, 6), (3, 4)), ((), (1, 1)), ((0, 3), (0,)), ((4,), (2, -1)), ((2, 3, 4), (6, 4))):
        yield (rng.uniform(-2, 2, shape),), {"shape": new}


@op(_reshape_samples, lambda x, shape: np.reshape(x, shape))
def reshape(x, shape) -> Tensor:
    """The elements in row-major order under another shape; a view where `x` is contiguous, else a copy.

    Backward: `dout` in the shape of `x`. Saves nothing.

    Raises
    ------
    ShapeError
        If the number of elements differs.
    """
    x = as_tensor(x)
    before, wanted = x.shape, resolved_shape("reshape", x, shape)
    if before == wanted:
        return x

    def backward(dout):
        return (reshape(dout, before),)

    return record(contiguous(x).view(wanted, contiguous_strides(wanted)), (x,), backward)


def _transpose_samples(rng: np.random.Generator):
    for shape, axes in (((2, 3), None), ((), None), ((4,), None), ((2, 0, 3), None), ((2, 3, 4), (1, 2, 0))):
        yield (rng.uniform(-2, 2, shape),), {"axes": axes}


@op(_transpose_samples, lambda x, axes=None: np.transpose(x, axes))
def transpose(x, axes=None) -> Tensor:
    """A view with the axes in another order, by default reversed.

    Backward: `dout` with the axes put back. Saves nothing.

    Raises
    ------
    ShapeError
        If `axes` is not an order of the axes.
    """
    x = as_tensor(x)
    order = tuple(reversed(range(x.ndim))) if axes is None else axes_in_order("transpose", x.ndim, axes, "axes")
    if len(order) != x.ndim:
        raise ShapeError(f"transpose got axes={axes} for a tensor of {x.ndim} dimensions: each must stand there once")
    inverse = tuple(int(i) for i in np.argsort(order))

    def backward(dout):
        return (transpose(dout, inverse),)

    out = x.view(tuple(x.shape[a] for a in order), tuple(x.strides[a] for a in order))
    return record(out, (x,), backward)


def _moveaxis_samples(rng: np.random.Generator):
    for shape, source, destination in (
        ((2, 3, 4), 0, -1),
        ((2, 0, 3), 1, 0),
        ((2, 3, 4, 5), (0, 1), (2, 0)),
        ((4,), 0, 0),
    ):
        yield (rng.uniform(-2, 2, shape),), {"source": source, "destination": destination}


@op(_moveaxis_samples, np.moveaxis)
def moveaxis(x, source, destination) -> Tensor:
    """A view with the axes `source` (a number or several) at the places `destination`, the others in order.

    Backward: `dout` with the axes put back (see `transpose`). Saves nothing.

    Raises
    ------
    ShapeError
        If an axis does not exist or is named twice, or the two are not equally many.
    """
    x = as_tensor(x)
    start = axes_in_order("moveaxis", x.ndim, source, "source")
    end = axes_in_order("moveaxis", x.ndim, destination, "destination")
    if len(start) != len(end):
        raise ShapeError(f"moveaxis got source={source} and destination={destination}: they must be equally many")
    order = [axis for axis in range(x.ndim) if axis not in start]
    for place, axis in sorted(zip(end, start, strict=True)):
        order.insert(place, axis)
    return transpose(x, order)


def _swapaxes_samples(rng: np.random.Generator):
    for shape, first, second in (((2, 3, 4), 0, 2), ((2, 3), -1, -2), ((2, 0, 3), 1, 1)):
        yield (rng.uniform(-2, 2, shape),), {"first": first, "second": second}


@op(_swapaxes_samples, lambda x, first, second: np.swapaxes(x, first, second))
def swapaxes(x, first: int, second: int) -> Tensor:
    """A view with two axes exchanged.

    Backward: `dout` with them exchanged again (see `transpose`). Saves nothing.

    Raises
    ------
    ShapeError
        If an axis does not exist.
    """
    x = as_tensor(x)
    one, other = one_axis("swapaxes", x.ndim, first, "first"), one_axis("swapaxes", x.ndim, second, "second")
    order = list(range(x.ndim))
    order[one], order[other] = other, one
    return transpose(x, order)


def _expand_samples(rng: np.random.Generator):
    for shape, axis in (((), 0), ((3,), 0), ((3, 4), 1), ((3, 4), (0, -1)), ((0, 2), -1)):
        yield (rng.uniform(-2, 2, shape),), {"axis": axis}


@op(_expand_samples, np.expand_dims)
def expand_dims(x, axis) -> Tensor:
    """A view with axes of size 1 at the places `axis` (a number or several) of the result.

    Backward: `dout` without them. Saves nothing.

    Raises
    ------
    ShapeError
        If a place lies outside the result or is named twice.
    """
    x = as_tensor(x)
    places = wholes("expand_dims", "axis", axis)
    axes = axes_in_order("expand_dims", x.ndim + len(places), places)
    shape, strides = list(x.shape), list(x.strides)
    for place in sorted(axes):
        strides.insert(place, strides[place] * max(1, shape[place]) if place < len(shape) else 1)
        shape.insert(place, 1)

    def backward(dout):
        return (squeeze(dout, axes),)

    return record(x.view(tuple(shape), tuple(strides)), (x,), backward)


def _squeeze_samples(rng: np.random.Generator):
    for shape, axis in (
        ((), None),
        ((1, 3, 1), None),
        ((1, 3, 1), 0),
        ((1, 3, 1), (0, -1)),
        ((2, 3), None),
        ((1, 0), 0),
    ):
        yield (rng.uniform(-2, 2, shape),), {"axis": axis}


@op(_squeeze_samples, np.squeeze)
def squeeze(x, axis=None) -> Tensor:
    """A view without the axes `axis` (a number or several), or without all axes of size 1.

    Backward: `dout` with them put back. Saves nothing.

    Raises
    ------
    ShapeError
        If an axis does not exist or is not of size 1.
    """
    x = as_tensor(x)
    ones = tuple(a for a, extent in enumerate(x.shape) if extent == 1)
    axes = ones if axis is None else axes_in_order("squeeze", x.ndim, axis)
    if not set(axes) <= set(ones):
        raise ShapeError(f"squeeze got axis={axis} for shape {x.shape}: only axes of size 1 can be dropped")
    kept = [a for a in range(x.ndim) if a not in axes]

    def backward(dout):
        return (expand_dims(dout, axes),)

    return record(x.view(tuple(x.shape[a] for a in kept), tuple(x.strides[a] for a in kept)), (x,), backward)


def _broadcast_samples(rng: np.random.Generator):
    for shape, new in (((3, 1), (2, 3, 4)), ((), (2, 2)), ((1,), (0,)), ((5,), (5,))):
        yield (rng.uniform(-2, 2, shape),), {"shape": new}


@op(_broadcast_samples, lambda x, shape: np.broadcast_to(x, shape))
def broadcast_to(x, shape) -> Tensor:
    """A view of `x` repeated along new or unit axes, without a copy.

    Backward: `dout` summed over the repeated axes. Saves nothing.

    Raises
    ------
    ShapeError
        If `x` does not broadcast to `shape`.
    """
    x = as_tensor(x)
    before, wanted = x.shape, sizes("broadcast_to", "shape", shape)
    if before == wanted:
        return x
    if broadcast_shape("broadcast_to", (before, wanted)) != wanted:
        raise ShapeError(f"broadcast_to cannot repeat shape {before} to {wanted}: only axes of size 1 repeat")
    missing = len(wanted) - len(before)
    strides = (0,) * missing + tuple(
        0 if s == 1 and w != 1 else t for s, w, t in zip(before, wanted[missing:], x.strides, strict=True)
    )

    def backward(dout):
        from .reduction import sum_to

        return (sum_to(dout, before),)

    return record(x.view(wanted, strides), (x,), backward)
