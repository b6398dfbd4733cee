"""Several tensors and one: concat, stack, split.

Imports what every family of ops does (see `forgenb.ops`); a join along a new axis or an old one copies each element
once, never twice.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np

from ..dtypes import result_dtype
from ..errors import ArgumentError, ShapeError
from ..tape import record
from ..tensor import Tensor, empty
from .apply import as_tensor, run_map
from .casts import astype
from .copying import copy_kernel
from .indexing import getitem
from .movement import expand_dims, zeros
from .plans import same_backend
from .settings import one_axis, wholes
from .table import op


def _operands(name: str, tensors: tuple) -> tuple[Tensor, ...]:
    """The tensors of ``f(a, b)`` or ``f([a, b])``; scalars and arrays go where the first tensor is."""
    found = tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    if not found:
        raise ArgumentError(f"{name} got no tensors: it needs at least one")
    if any(isinstance(t, (list, tuple)) for t in found):
        raise ArgumentError(
            f"{name} got lists among its tensors: pass one list, {name}([a, b], axis=0), axis by keyword"
        )
    like = next((t for t in found if isinstance(t, Tensor)), None)
    operands = tuple(as_tensor(t, like) for t in found)
    same_backend(name, operands)
    dtype = result_dtype(*(t.dtype for t in operands))
    return tuple(t if t.dtype == dtype else astype(t, dtype) for t in operands)


def _along(axis: int, start: int, stop: int) -> tuple:
    return (*(slice(None),) * axis, slice(start, stop))


def _concat_samples(rng: np.random.Generator):
    for shapes, axis in (
        (((2,), (1,), (0,)), 0), (((2, 3), (4, 3), (1, 3)), 0), (((2, 3), (2, 1), (2, 2)), -1),
        (((2, 1, 4), (2, 5, 4), (2, 0, 4)), 1),
        (((0, 3), (0, 3), (0, 3)), 0),
    ):  # fmt: skip
        yield tuple(rng.uniform(-2, 2, shape) for shape in shapes), {"axis": axis}


@op(_concat_samples, lambda *arrays, axis=0: np.concatenate(arrays, axis), (0, 1, 2))
def concat(*tensors, axis: int = 0) -> Tensor:
    """The tensors one after the other along `axis`; pass them singly or as one list.

    The dtype is the last of theirs in the order of `forgenb.dtypes`. Backward: each operand's slice of
    `dout`. Saves nothing.

    Raises
    ------
    ShapeError
        If they differ in another axis than `axis`, or have no such axis.
    ArgumentError
        If there is none.
    """
    operands = _operands("concat", tensors)
    first = operands[0]
    axis = one_axis("concat", first.ndim, axis)
    rest = first.shape[:axis], first.shape[axis + 1 :]
    for other in operands[1:]:
        if other.ndim != first.ndim or (other.shape[:axis], other.shape[axis + 1 :]) != rest:
            raise ShapeError(
                f"concat along axis {axis} got shapes {first.shape} and {other.shape}: other axes must agree"
            )
    edges = tuple(accumulate((t.shape[axis] for t in operands), initial=0))
    bounds = tuple(pairwise(edges))
    out = _joined(operands, (*rest[0], edges[-1], *rest[1]), axis, bounds)
    wanted = tuple(t.requires_grad for t in operands)

    def backward(dout):
        return tuple(
            getitem(dout, _along(axis, *ends)) if tracked else None
            for tracked, ends in zip(wanted, bounds, strict=True)
        )

    return record(out, operands, backward)


def _joined(operands: tuple[Tensor, ...], shape: tuple, axis: int, bounds: tuple) -> Tensor:
    out = empty(shape, operands[0].dtype, operands[0].backend)
    for part, (start, stop) in zip(operands, bounds, strict=True):
        extent = (*shape[:axis], stop - start, *shape[axis + 1 :])
        place = out.view(extent, out.strides, start * out.strides[axis])
        run_map(copy_kernel, (part.detach(),), dtype=out.dtype, into=(place,))
    return out


def _stack_samples(rng: np.random.Generator):
    for shape, axis in (((), 0), ((3,), 0), ((3,), 1), ((2, 4), -1), ((0, 2), 1)):
        yield tuple(rng.uniform(-2, 2, shape) for _ in range(3)), {"axis": axis}


@op(_stack_samples, lambda *arrays, axis=0: np.stack(arrays, axis), (0, 1, 2))
def stack(*tensors, axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis, placed at `axis` of the result; pass them singly or as one list.

    Backward: each operand's slice of `dout` (see `concat`). Saves nothing.

    Raises
    ------
    ShapeError
        If shapes differ.
    ArgumentError
        If there is no tensor.
    """
    operands = _operands("stack", tensors)
    axis = one_axis("stack", operands[0].ndim + 1, axis)
    for other in operands[1:]:
        if other.shape != operands[0].shape:
            raise ShapeError(f"stack got shapes {operands[0].shape} and {other.shape}: they must be equal")
    return concat(*(expand_dims(t, axis) for t in operands), axis=axis)


def _split_samples(rng: np.random.Generator):
    for shape, sections, axis in (
        ((6,), 3, 0),
        ((2, 9), 3, -1),
        ((5, 2), (1, 4), 0),
        ((2, 4, 3), (0, 3), 1),
        ((0, 2), 3, 0),
    ):
        yield (rng.uniform(-2, 2, shape),), {"sections": sections, "axis": axis}


@op(_split_samples, lambda x, sections, axis=0: tuple(np.split(x, sections, axis)), outputs=3)
def split(x, sections, axis: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive parts along `axis`: `sections` equal ones, or cut before each index that it lists.

    One node with several outputs. Backward: the gradients one after the other (see `concat`), zeros for a
    part that was not used. Saves nothing.

    Raises
    ------
    ShapeError
        If there is no such axis, or its size is not a multiple of `sections`.
    """
    x = as_tensor(x)
    axis = one_axis("split", x.ndim, axis)
    bounds = _bounds(x.shape, sections, axis)
    shapes = tuple((*x.shape[:axis], stop - start, *x.shape[axis + 1 :]) for start, stop in bounds)
    dtype, backend = x.dtype, x.backend

    def backward(*douts):
        pieces = [zeros(s, dtype, backend) if d is None else d for d, s in zip(douts, shapes, strict=True)]
        return (concat(*pieces, axis=axis),)

    outs = tuple(
        x.view(shape, x.strides, start * x.strides[axis] if start < stop else 0)
        for shape, (start, stop) in zip(shapes, bounds, strict=True)
    )
    return record(outs, (x,), backward)


def _bounds(shape: tuple, sections, axis: int) -> tuple[tuple[int, int], ...]:
    size = shape[axis]
    found = wholes("split", "sections", sections)
    if np.ndim(sections) == 0:
        (sections,) = found
        if sections < 1 or size % sections:
            raise ShapeError(
                f"split of axis {axis} of shape {shape} into {sections} equal parts: {size} is not a multiple"
            )
        step = size // int(sections)
        return tuple((i * step, i * step + step) for i in range(sections))
    cuts = [0, *(slice(0, c).indices(size)[1] for c in found), size]
    return tuple((start, max(start, stop)) for start, stop in pairwise(cuts))
