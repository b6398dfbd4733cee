"""What follows from the layouts of a launch's operands: broadcasting, dtypes, collapsed dims, the prepared launch.

A plan is made when a kernel meets these layouts first, with all checks, and found again by the identity of the kernel
and the layouts.

Imports the seam, kernels, dtypes and layouts; values and memory are not known here.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from ..backend import seam
from ..backend.ready import Ready
from ..dtypes import DEFAULT, NAMES, compute_dtype, result_dtype
from ..errors import ArgumentError, BackendError, DTypeError, ShapeError
from ..kernel import KINDS, PANEL, Kernel, MapArguments, map_block, row_block
from ..layout import Layout, count, layout_of

CHUNK = 16384
"""Elements of a chunk: a constant, so that results never depend on the number of threads."""
MOST_PLANS = 4096
"""Plans that are kept; when there are more, all are made anew as they are needed."""

_FIXED = {kind: np.dtype(name) for kind, name in KINDS.items() if name}


def same_backend(name: str, tensors) -> None:
    """Refuse operands of different backends.

    Raises
    ------
    BackendError
        Naming both backends and the call that moves a tensor.
    """
    first = tensors[0].backend
    for other in tensors[1:]:
        if other.backend is not first:
            raise BackendError(
                f"{name} got tensors of backends {first.name!r} and {other.backend.name!r}: move one with "
                f".to({first.name!r})"
            )


def floats_only(name: str, x) -> None:
    """Refuse a tensor that holds no floats.

    Raises
    ------
    DTypeError
        Naming the op and what was given.
    """
    if x.dtype.kind != "f":
        raise DTypeError(f"{name} got dtype {x.dtype.name}: convert to a float dtype with astype")


def one_float(name: str, tensors) -> None:
    """Refuse operands of different backends, or of anything but one float dtype.

    Raises
    ------
    BackendError, DTypeError
        Naming the op and what was given.
    """
    same_backend(name, tensors)
    first = tensors[0].dtype
    if first.kind != "f" or any(t.dtype is not first for t in tensors):
        listed = ", ".join(t.dtype.name for t in tensors)
        raise DTypeError(f"{name} needs one float dtype for all operands, got {listed}: convert with astype")


@lru_cache(maxsize=4096)
def broadcast_shape(name: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """The shape that operands of `shapes` broadcast to.

    Raises
    ------
    ShapeError
        If they do not broadcast, naming the op and the shapes.
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " and ".join(map(str, shapes))
        raise ShapeError(f"{name} got shapes {listed}, which do not broadcast: sizes must match or be 1") from None


def _geometry(shape: tuple, layouts: tuple) -> tuple:
    """Collapsed dims of a loop over `shape`, each operand's strides there, and whether all innermost ones are 1."""
    rows = []
    for own, strides in layouts:
        missing = len(shape) - len(own)
        rows.append([0] * missing + [0 if s == 1 else t for s, t in zip(own, strides, strict=True)])
    dims: list[int] = []
    kept: list[list[int]] = [[] for _ in layouts]
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        if dims and all(r[-1] == row[axis] * extent for r, row in zip(kept, rows, strict=True)):
            dims[-1] *= extent
            for r, row in zip(kept, rows, strict=True):
                r[-1] = row[axis]
        else:
            dims.append(extent)
            for r, row in zip(kept, rows, strict=True):
                r.append(row[axis])
    if not dims:
        dims, kept = [1], [[1] for _ in layouts]
    return tuple(dims), tuple(tuple(r) for r in kept), all(r[-1] == 1 for r in kept)


class MapPlan:
    """Everything about a launch of a map that follows from the layouts of its operands."""

    __slots__ = (
        "backend", "dims", "extent", "kernel", "limit", "order", "outputs", "ready", "real", "shape", "storage",
        "strides", "unrolled",
    )  # fmt: skip

    def __init__(self, kernel: Kernel, dtype, out_dtype, inputs: tuple[Layout, ...], into: tuple[Layout, ...]):
        same_backend(kernel.name, inputs)
        roles = _roles(kernel)
        shape = broadcast_shape(kernel.name.removesuffix("_kernel"), tuple(layout.shape for layout in inputs))
        if dtype is None:
            reals = [inputs[i].dtype for i in roles.reals]
            dtype = result_dtype(*reals) if reals else DEFAULT
        self.kernel, self.backend, self.shape, self.extent = kernel, inputs[0].backend, shape, count(shape)
        self.order = roles.order
        self.outputs = into or tuple(
            layout_of(shape, None, fixed or out_dtype or dtype, self.backend) for fixed in roles.outputs
        )
        operands = [self.outputs[i] if written else inputs[i] for written, i in roles.order]
        self.dims, self.strides, straight = _geometry(shape, tuple((t.shape, t.strides) for t in operands))
        compute = compute_dtype(dtype)
        self.real, self.storage = NAMES[compute], tuple(NAMES[t.dtype] for t in operands)
        in_place = straight and _stored_as_used(kernel, compute, self.storage)
        self.limit = self.dims[-1] if in_place else PANEL
        self.ready: Ready | None = None
        self.unrolled = False  # until it has been launched once

    def prepare(self) -> Ready:
        """The launch itself, compiled when it is wanted first: a step that is only recorded needs none."""
        kernel, ndim = self.kernel, len(self.dims)
        blank = tuple(0 for _ in kernel.scalars)
        values = MapArguments(blank, self.limit, self.dims, tuple((0, steps) for steps in self.strides)).values()
        places = 0, len(blank) + 2 + ndim, 1 + ndim
        launcher = seam.launcher(self.backend, kernel, self.real, self.storage)
        packer = map_block(kernel, ndim)
        self.ready = Ready(self.backend, kernel, launcher, self.extent, CHUNK, packer, values, places)
        self.unrolled = [written for written, _ in self.order] in ([False, True], [False, False, True])
        return self.ready


class RowPlan:
    """Everything about a launch of a row kernel that follows from its sizes and the layouts of its operands."""

    __slots__ = ("backend", "chunk", "kernel", "ready", "real", "sizes")

    def __init__(self, kernel: Kernel, sizes: tuple[int, ...], dtype, work: int, operands: tuple[Layout, ...]):
        for operand, layout in zip(kernel.operands, operands, strict=True):
            if not layout.contiguous:
                raise ArgumentError(
                    f"row kernel {kernel.name}: operand {operand.name} of shape {layout.shape} is not contiguous"
                )
            if dtype is None and operand.kind == "real":
                dtype = layout.dtype
        _one_dtype(kernel, dtype or DEFAULT, operands)
        self.kernel, self.sizes, self.backend = kernel, sizes, operands[0].backend
        self.real = NAMES[dtype or DEFAULT]
        self.chunk = max(1, CHUNK // (work or max(1, count(sizes[1:]))))
        self.ready: Ready | None = None

    def prepare(self) -> Ready:
        """The launch itself, compiled when it is wanted first."""
        kernel = self.kernel
        scalar, first = len(self.sizes), len(self.sizes) + len(kernel.scalars)
        values = [*self.sizes, *(0 for _ in (*kernel.scalars, *kernel.operands))]
        launcher = seam.launcher(self.backend, kernel, self.real)
        places = scalar, first, 1
        self.ready = Ready(self.backend, kernel, launcher, self.sizes[0], self.chunk, row_block(kernel), values, places)
        return self.ready


def _one_dtype(kernel: Kernel, real: np.dtype, operands: tuple[Layout, ...]) -> None:
    """Refuse operands that a row kernel would read as numbers of another dtype: it converts nothing.

    Raises
    ------
    DTypeError
        Naming the operand and both dtypes.
    """
    for operand, layout in zip(kernel.operands, operands, strict=True):
        wanted = _FIXED.get(operand.kind, real)
        if layout.dtype is not wanted:
            raise DTypeError(
                f"{kernel.name} got {operand.name} of dtype {layout.dtype.name} beside others of {wanted.name}: it "
                "needs one dtype, so convert with astype"
            )


MAPS: dict[tuple, MapPlan] = {}
ROWS: dict[tuple, RowPlan] = {}


def planned_map(key: tuple, inputs: int, dtype, out_dtype) -> MapPlan:
    """A plan for operands of layouts that were not seen before; `key` has the kernel and these."""
    kernel, *layouts = key
    into = layouts[inputs:] if dtype is out_dtype is None else layouts[inputs:-2]
    if len(MAPS) >= MOST_PLANS:
        MAPS.clear()
    plan = MAPS[key] = MapPlan(kernel, dtype, out_dtype, tuple(layouts[:inputs]), tuple(into))
    return plan


def planned_rows(key: tuple) -> RowPlan:
    """A plan for sizes and layouts that were not seen before."""
    kernel, sizes, dtype, work, *operands = key
    if len(ROWS) >= MOST_PLANS:
        ROWS.clear()
    plan = ROWS[key] = RowPlan(kernel, sizes, dtype, work, tuple(operands))
    return plan


def _stored_as_used(kernel: Kernel, compute: np.dtype, storage: tuple[str, ...]) -> bool:
    """Whether every operand is stored in the dtype that the body works in, so that no panel is converted."""
    return all(NAMES[_FIXED.get(o.kind, compute)] == stored for o, stored in zip(kernel.operands, storage, strict=True))


class _Roles(NamedTuple):
    """Where a kernel's operands come from: (written, position), which inputs are real, and fixed output dtypes."""

    order: tuple[tuple[bool, int], ...]
    reals: tuple[int, ...]
    outputs: tuple[np.dtype | None, ...]


@cache
def _roles(kernel: Kernel) -> _Roles:
    read = [o.name for o in kernel.operands if o.reads]
    order = tuple(
        (True, kernel.results.index(o.name)) if o.writes else (False, read.index(o.name)) for o in kernel.operands
    )
    reals = tuple(read.index(o.name) for o in kernel.operands if o.reads and o.kind == "real")
    kinds = {o.name: o.kind for o in kernel.operands}
    return _Roles(order, reals, tuple(_FIXED.get(kinds[name]) for name in kernel.results))
