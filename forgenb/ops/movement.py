"""Ops that change shape or order: reshape, transpose, broadcast_to. Views where strides allow, else copies."""

from __future__ import annotations

import numpy as np

from ..errors import ShapeError
from ..kernel import map_kernel
from ..tape import record
from ..tensor import Tensor, contiguous_strides, count
from .apply import as_tensor, broadcast_shape, contiguous
from .table import op


@map_kernel("x -> out")
def copy_kernel(x):
    """The identity; a change of dtype happens where the panel is stored."""
    return x


def resolved_shape(name: str, x: Tensor, shape) -> tuple[int, ...]:
    """`shape` with one -1 filled in.

    Raises
    ------
    ShapeError
        If the number of elements differs, naming both shapes.
    """
    wanted = tuple(int(s) for s in (shape if isinstance(shape, (tuple, list)) else (shape,)))
    if wanted.count(-1) == 1:
        known = count(tuple(s for s in wanted if s != -1))
        missing = x.size // known if known else 0
        wanted = tuple(missing if s == -1 else s for s in wanted)
    if count(wanted) != x.size or any(s < 0 for s in wanted):
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
    order = tuple(reversed(range(x.ndim))) if axes is None else tuple(a + x.ndim if a < 0 else a for a in axes)
    if sorted(order) != list(range(x.ndim)):
        raise ShapeError(f"transpose got axes={axes} for a tensor of {x.ndim} dimensions: each must stand there once")
    inverse = tuple(int(i) for i in np.argsort(order))

    def backward(dout):
        return (transpose(dout, inverse),)

    out = x.view(tuple(x.shape[a] for a in order), tuple(x.strides[a] for a in order))
    return record(out, (x,), backward)


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
    before, wanted = x.shape, tuple(shape)
    if before == wanted:
        return x
    if broadcast_shape("broadcast_to", (before, wanted)) != wanted:
        raise ShapeError(f"broadcast_to cannot repeat shape {before} to {wanted}: only axes of size 1 repeat")
    missing = len(wanted) - len(before)
    strides = (0,) * missing + tuple(0 if s == 1 and w != 1 else t for s, w, t in zip(before, wanted[missing:], x.strides, strict=True))

    def backward(dout):
        from .reduction import sum_to

        return (sum_to(dout, before),)

    return record(x.view(wanted, strides), (x,), backward)
