"""Basic indexing as NumPy has it: views made of whole numbers, slices, ``None`` and ``...``.

`getitem` reads through a key, `unslice` writes through one into zeros; each is the other's backward.
Index arrays are turned into `take` (see `forgenb.ops.rows`).

Imports what every family of ops does (see `forgenb.ops`); writing in place is `forgenb.ops.assignment`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..errors import ArgumentError, IndexRangeError, ShapeError
from ..tape import record
from ..tensor import Tensor
from .apply import as_tensor, run_map
from .copying import copy_kernel
from .ids import wrapped_positions
from .movement import reshape, zeros
from .rows import take
from .settings import normalized_axes, sizes
from .table import SHAPES, op


def is_index_array(part) -> bool:
    """Whether one part of a key is a list, an array or a tensor of indices."""
    if isinstance(part, (Tensor, np.ndarray)):
        return part.ndim > 0 or part.dtype.kind == "b"
    return isinstance(part, list)


def key_parts(key) -> tuple:
    """A key as a tuple of parts; tensors of one whole number count as numbers."""
    parts = key if isinstance(key, tuple) else (key,)
    return tuple(p.item() if isinstance(p, (Tensor, np.ndarray)) and not is_index_array(p) else p for p in parts)


def view_geometry(shape: tuple, strides: tuple, key: tuple) -> tuple[tuple, tuple, Any]:
    """Shape, strides and offset of the view that a key of basic parts makes; a symbol makes the offset late.

    Raises
    ------
    IndexRangeError
        If a number is out of range or there are more parts than dimensions.
    ArgumentError
        If a part is of another kind, or ``...`` stands there twice.
    """
    parts = _spread(shape, key)
    out: list[int] = []
    steps: list[int] = []
    offset: Any = 0
    axis = 0
    for part in parts:
        if part is None:
            out.append(1)
            steps.append(strides[axis] * max(1, shape[axis]) if axis < len(shape) else 1)
        elif isinstance(part, slice):
            start, step, extent = _resolved(part, shape[axis])
            out.append(extent)
            steps.append(strides[axis] * step)
            offset += start * strides[axis] if extent else 0
            axis += 1
        else:
            offset += _position(part, shape, axis) * strides[axis]
            axis += 1
    return tuple(out), tuple(steps), offset


def _spread(shape: tuple, key: tuple) -> list:
    """The parts of `key` with ``...`` written out, so that they name every axis."""
    dots = [i for i, part in enumerate(key) if part is Ellipsis]
    named = sum(part is not None and part is not Ellipsis for part in key)
    if len(dots) > 1:
        raise ArgumentError("indexing got '...' more than once: it may stand there once")
    if named > len(shape):
        raise IndexRangeError(f"indexing got {named} indices for shape {shape}, which has {len(shape)} dimensions")
    at = dots[0] if dots else len(key)
    return [*key[:at], *[slice(None)] * (len(shape) - named), *key[at + 1 :]]


def _resolved(part: slice, extent: int) -> tuple[int, int, int]:
    try:
        start, stop, step = part.indices(extent)
    except (TypeError, ValueError) as cause:
        raise ArgumentError(
            f"indexing got the slice {part}: bounds are whole numbers or None, the step is not 0"
        ) from cause
    return start, step, len(range(start, stop, step))


def _position(part, shape: tuple, axis: int):
    if isinstance(part, (bool, np.bool_)):
        raise ArgumentError(
            f"indexing got the scalar {part!r}: use a whole number, a slice, None, '...', or a mask of the "
            "size of the axis"
        )
    if hasattr(part, "as_position"):  # a symbol, or a number computed from one
        return part.as_position(shape, axis)
    try:
        index = operator.index(part)
    except TypeError:
        raise ArgumentError(
            f"indexing got {part!r} of type {type(part).__name__}: use whole numbers, slices, None, '...', "
            "or index arrays"
        ) from None
    if not -shape[axis] <= index < shape[axis]:
        raise IndexRangeError(
            f"index {index} is out of range for axis {axis} of shape {shape}: it must lie in "
            f"[{-shape[axis]}, {shape[axis]})"
        )
    return index % shape[axis]


KEYS: tuple[tuple[tuple, Any], ...] = (
    ((), ()), ((), None), ((5,), 2), ((5,), -1), ((5,), slice(None, None, -1)), ((5,), slice(3, 3)),
    ((7,), slice(5, None, -2)), ((0,), slice(None)), ((3, 4), 1), ((3, 4), (slice(None), slice(1, 3))),
    ((3, 4), (slice(None, None, -1), slice(None, None, 2))), ((3, 4), (Ellipsis, -1)),
    ((2, 3, 4), (1, None, Ellipsis, slice(None, None, -3))), ((2, 1, 4), (slice(None), 0)),
    ((2, 3, 4), (1, 2, 3)), ((2, 0, 3), (slice(None), slice(None), slice(2, 0, -1))),
)  # fmt: skip
"""Shapes and keys of the samples: numbers, slices of both signs, new axes, ``...``, empty results."""


def _getitem_samples(rng: np.random.Generator):
    for shape, key in KEYS:
        yield (rng.uniform(-2, 2, shape),), {"key": key}


@op(_getitem_samples, lambda x, key: x[key])
def getitem(x, key) -> Tensor:
    r"""``x[key]``: a view for numbers, slices, ``None`` and ``...``, a copy for index arrays.

    Backward of a view: `dout` written through the key into zeros (`unslice`). Saves nothing. Index arrays
    (lists, arrays or tensors of whole numbers, or boolean masks) must come first in the key, broadcast
    together, and pick along the leading axes as in NumPy; see `take` for their backward.

    Raises
    ------
    IndexRangeError
        If an index is out of range or there are more indices than dimensions.
    ArgumentError
        If a part of the key is of another kind.
    """
    x = as_tensor(x)
    parts = key_parts(key)
    if any(map(is_index_array, parts)):
        return _picked(x, parts)
    before = x.shape
    shape, strides, offset = view_geometry(before, x.strides, parts)

    def backward(dout):
        return (unslice(dout, before, parts),)

    return record(x.view(shape, strides, offset), (x,), backward)


def _picked(x: Tensor, parts: tuple) -> Tensor:
    """Gather along the leading axes: several index arrays become one over their flattened axes."""
    arrays = _index_arrays(x, parts)
    if len(arrays) == 1:
        return take(x, arrays[0], axis=0)
    sizes = x.shape[: len(arrays)]
    try:
        arrays = list(np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = " and ".join(str(a.shape) for a in arrays)
        raise ShapeError(f"indexing got index arrays of shapes {shapes}, which do not broadcast") from None
    flat = np.zeros(arrays[0].shape, np.int64)
    for axis, (array, size) in enumerate(zip(arrays, sizes, strict=True)):
        flat = flat * size + wrapped_positions("indexing", array, size, axis)
    return take(reshape(x, (int(np.prod(sizes)), *x.shape[len(sizes) :])), flat, axis=0)


def _index_arrays(x: Tensor, parts: tuple) -> list:
    while parts[-1] is Ellipsis or (isinstance(parts[-1], slice) and parts[-1] == slice(None)):
        parts = parts[:-1]
    found: list[Any] = []
    for part in parts:
        if part is None or part is Ellipsis or isinstance(part, slice):
            raise ArgumentError(
                "indexing got an index array after or between slices, None or '...': index arrays come "
                "first in a key, so move their axes to the front (moveaxis), or use take"
            )
        array = part.numpy() if isinstance(part, Tensor) else np.asarray(part)
        if array.dtype.kind == "b":
            found.extend(_mask_positions(array, x.shape[len(found) :]))
        else:
            found.append(part if isinstance(part, Tensor) and len(parts) == 1 else array)
    if len(found) > x.ndim:
        raise IndexRangeError(
            f"indexing got {len(found)} index arrays for shape {x.shape}, which has {x.ndim} dimensions"
        )
    return found


def _mask_positions(mask: np.ndarray, shape: tuple) -> tuple:
    if mask.ndim == 0 or mask.shape != shape[: mask.ndim]:
        raise ShapeError(f"indexing got a mask of shape {mask.shape} for axes of shape {shape}: it needs their sizes")
    return np.nonzero(mask)


def _unslice_samples(rng: np.random.Generator):
    for shape, key in KEYS:
        yield (rng.uniform(-2, 2, np.empty(shape)[key].shape),), {"shape": shape, "key": key}


def _unslice_reference(x, shape, key):
    out = np.zeros(shape)
    out[key] = x
    return out


@op(_unslice_samples, _unslice_reference)
def unslice(x, shape: tuple[int, ...], key) -> Tensor:
    """Zeros of `shape` with `x` written at ``[key]`` (numbers, slices, ``None``, ``...``).

    The backward of a view. Backward: ``dout[key]``. Saves nothing.

    Raises
    ------
    ShapeError
        If `x` does not have the shape of ``zeros(shape)[key]``.
    """
    x = as_tensor(x)
    parts = key_parts(key)
    out = zeros(sizes("unslice", "shape", shape), x.dtype, x.backend)
    place = out.view(*view_geometry(out.shape, out.strides, parts))
    if place.shape != x.shape:
        raise ShapeError(
            f"unslice got shape {x.shape} for a key that selects {place.shape} of {out.shape}: they must agree"
        )
    run_map(copy_kernel, (x.detach(),), into=(place,))

    def backward(dout):
        return (getitem(dout, parts),)

    return record(out, (x,), backward)


def _flip_samples(rng: np.random.Generator):
    for shape in SHAPES:
        yield (rng.uniform(-2, 2, shape),), {}
    for axis in (0, -1, (0, 2)):
        yield (rng.uniform(-2, 2, (2, 3, 4)),), {"axis": axis}


@op(_flip_samples, np.flip)
def flip(x, axis=None) -> Tensor:
    """A view with the order reversed along `axis` (a number, several, or None for all).

    Backward: through the view, see `getitem`. Saves nothing.

    Raises
    ------
    ShapeError
        If an axis does not exist or is named twice.
    """
    x = as_tensor(x)
    axes = normalized_axes("flip", x.ndim, axis)
    return getitem(x, tuple(slice(None, None, -1) if a in axes else slice(None) for a in range(x.ndim)))
