"""Launch kernels on tensors: broadcasting, dtypes, output memory and argument blocks, decided once.

Ops call these functions and nothing below them. `run_map` launches a scalar function over broadcast
operands of any strides; `run_rows` launches a row program on contiguous operands.

Imports the seam, kernels, tensors and the copy kernel; no rule of a gradient belongs here.
"""

from __future__ import annotations

from functools import cache, lru_cache
from numbers import Number
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from ..backend import seam
from ..backend.ready import Ready
from ..creation import tensor
from ..dtypes import BOOL, DEFAULT, FLOAT16, INT64, NAMES, compute_dtype, result_dtype
from ..errors import ArgumentError, BackendError, ShapeError
from ..kernel import PANEL, Kernel, map_block, row_block
from ..layout import Layout, contiguous_strides, count, layout_of
from ..tensor import Tensor, from_array, full, laid_out
from .copying import copy_kernel, copy_transposed, swapped_sizes

CHUNK = 16384
"""Elements of a chunk: a constant, so that results never depend on the number of threads."""

MOST_PLANS = 4096
_FIXED = {"int": INT64, "bool": BOOL, "uint": np.dtype("uint32")}


def as_tensor(value, like=None) -> Tensor:
    """`value` as a tensor, beside `like` where that is one; a Python scalar takes its dtype too (weak promotion)."""
    if isinstance(value, Tensor):
        return value
    if not isinstance(like, Tensor):
        return tensor(value)
    if isinstance(value, Number) and not isinstance(value, np.generic):
        kind = _kind(value)
        keeps = like.dtype.kind == "f" or kind == "b" or (kind == "i" and like.dtype.kind != "b")
        dtype = like.dtype if keeps else (DEFAULT if kind == "f" else INT64)
        try:
            array = np.asarray(value, dtype)
            return from_array(array, like.backend) if like.backend.host else full((), value, dtype, like.backend)
        except (OverflowError, TypeError):
            kind = type(value).__name__
            raise ArgumentError(f"a number of type {kind} does not fit into dtype {dtype.name}") from None
    if hasattr(value, "as_operand"):  # a number that changes from run to run
        return value.as_operand(like)
    return tensor(value, backend=like.backend.name if like is not None else None)


def together(*values) -> tuple[Tensor, ...]:
    """All of `values` as tensors; those that are none yet go to the backend of the first that is."""
    like = next((v for v in values if isinstance(v, Tensor)), None)
    return tuple(as_tensor(v, like) for v in values)


def _kind(number: object) -> str:
    """NumPy's letter for the kind of a Python number; an int is one however large."""
    return "i" if type(number) is int else np.asarray(number).dtype.kind


def pair(x, y) -> tuple[Tensor, Tensor]:
    """Two operands as tensors; of two float dtypes the lesser is converted, so that gradients find their way back."""
    if type(x) is type(y) is Tensor and x.layout.dtype is y.layout.dtype:
        return x, y
    if not isinstance(x, Tensor):
        x = as_tensor(x, y) if isinstance(y, Tensor) else as_tensor(x)
    if not isinstance(y, Tensor):
        y = as_tensor(y, x)
    if x.dtype is not y.dtype and x.dtype.kind == y.dtype.kind == "f":
        from .casts import astype

        common = result_dtype(x.dtype, y.dtype)
        x, y = (t if t.dtype is common else astype(t, common) for t in (x, y))
    return x, y


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


def refuse_shared(name: str, place: Tensor) -> None:
    """Refuse to write into a broadcast view.

    Raises
    ------
    ArgumentError
        Naming the op.
    """
    if any(step == 0 and extent > 1 for step, extent in zip(place.strides, place.shape, strict=True)):
        raise ArgumentError(
            f"{name} into a broadcast view of shape {place.shape}: elements share memory, write a copy()"
        )


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


@lru_cache(maxsize=4096)
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


def run_map(kernel: Kernel, inputs: tuple, scalars: tuple = (), dtype=None, into: tuple | None = None, out_dtype=None):
    """Launch a map kernel over broadcast inputs.

    Parameters
    ----------
    kernel : Kernel
        Its operands that are read are `inputs`, in order.
    inputs : tuple of Tensor
        Any strides; all on one backend.
    scalars : tuple of float or int
        The kernel's host scalars.
    dtype : dtype, optional
        The result dtype of `real` operands; otherwise by the table of `forgenb.dtypes`.
    into : tuple of Tensor, optional
        Tensors to write in place of new ones (also for operands that are updated in place).
    out_dtype : dtype, optional
        The dtype of new outputs, where it is not `dtype`.

    Returns
    -------
    Tensor or tuple of Tensor
        One per result of the kernel.
    """
    if len(inputs) == 2:
        x, y = inputs
        key: tuple = (kernel, x.layout, y.layout)
    else:
        x, y = inputs[0], None
        key = (kernel, *map(_LAYOUT, inputs))
    if into is not None:
        key += tuple(map(_LAYOUT, into))
    if not dtype is out_dtype is None:
        key += (dtype, out_dtype)
    plan = _PLANS.get(key) or _planned(key, len(inputs), dtype, out_dtype)
    recorder = seam.RECORDER.get()
    if plan.unrolled and recorder is None:
        return _run_unrolled(plan, scalars, into, x, y)
    if into is None:
        into = tuple([laid_out(layout) for layout in plan.outputs])
    operands = [into[i] if written else inputs[i] for written, i in plan.order]
    if recorder is not None:
        recorder.map(
            kernel, plan.real, plan.storage, plan.shape, scalars, plan.limit, plan.dims, operands, plan.strides
        )
    elif plan.extent:
        ready = plan.ready or plan.prepare()
        addresses = [t.memory.address + t.offset * t.layout.itemsize for t in operands]
        seam.launch_ready(ready, ready.with_scalars(scalars), *addresses)
    return into[0] if len(into) == 1 else into


def _run_unrolled(plan: _MapPlan, scalars: tuple, into: tuple | None, x: Tensor, y: Tensor | None) -> Tensor:
    """`run_map` of one or two inputs into one output, without loops: small ops spend most of their time in here."""
    ready: Any = plan.ready
    block = ready.with_scalars(scalars) if scalars else ready.block
    first = x.memory.address + x.offset * x.layout.itemsize
    second = None if y is None else y.memory.address + y.offset * y.layout.itemsize
    if into is None:
        layout = plan.outputs[0]
        return Tensor(seam.launch_new(ready, block, layout.nbytes, first, second), 0, layout)
    (out,) = into
    third = out.memory.address + out.offset * out.layout.itemsize
    if second is None:
        seam.launch_ready(ready, block, first, third)
    else:
        seam.launch_ready(ready, block, first, second, third)
    return out


def _planned(key: tuple, inputs: int, dtype, out_dtype) -> _MapPlan:
    """A plan for operands of layouts that were not seen before; `key` has the kernel and these."""
    kernel, *layouts = key
    into = layouts[inputs:] if dtype is out_dtype is None else layouts[inputs:-2]
    if len(_PLANS) >= MOST_PLANS:
        _PLANS.clear()
    plan = _PLANS[key] = _MapPlan(kernel, dtype, out_dtype, tuple(layouts[:inputs]), tuple(into))
    return plan


class _MapPlan:
    """Everything about a launch of a map that follows from the layouts of its operands."""

    __slots__ = (
        "backend", "dims", "extent", "kernel", "limit", "order", "outputs", "ready", "real", "shape", "storage",
        "strides", "unrolled",
    )  # fmt: skip

    def __init__(self, kernel: Kernel, dtype, out_dtype, inputs: tuple[Layout, ...], into: tuple[Layout, ...]):
        same_backend(kernel.name, inputs)
        roles = _roles(kernel)
        shape = broadcast_shape(kernel.name, tuple(layout.shape for layout in inputs))
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
        values = [*(0 for _ in kernel.scalars), ndim, self.limit, *self.dims]
        places = 0, len(values), 1 + ndim
        for steps in self.strides:
            values += [0, *steps]
        launcher = seam.launcher(self.backend, kernel, self.real, self.storage)
        packer = map_block(kernel, ndim)
        self.ready = Ready(self.backend, kernel, launcher, self.extent, CHUNK, packer, values, places)
        self.unrolled = [written for written, _ in self.order] in ([False, True], [False, False, True])
        return self.ready


_LAYOUT = attrgetter("layout")
_PLANS: dict[tuple, _MapPlan] = {}


@lru_cache(maxsize=4096)
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


def run_rows(kernel: Kernel, sizes: tuple, operands: tuple, scalars: tuple = (), dtype=None, work: int = 0) -> None:
    """Launch a row kernel on contiguous operands.

    Parameters
    ----------
    kernel : Kernel
        A row program.
    sizes : tuple of int
        One per symbol of the declaration; the first is the number of rows.
    operands : tuple of Tensor
        Contiguous, in the declaration's order, of the kernel's dtype or the declared kind.
    scalars : tuple
        Host scalars.
    dtype : dtype, optional
        The float type; otherwise that of the first `real` operand.
    work : int
        Elements that one row touches, where it is not the product of the other sizes.
    """
    for operand, t in zip(kernel.operands, operands, strict=True):
        if not t.contiguous:
            raise ArgumentError(
                f"row kernel {kernel.name}: operand {operand.name} of shape {t.shape} is not contiguous"
            )
        if dtype is None and operand.kind == "real":
            dtype = t.dtype
    cost = work or max(1, count(sizes[1:]))
    real, chunk = NAMES[dtype or DEFAULT], max(1, CHUNK // cost)
    recorder = seam.RECORDER.get()
    if recorder is not None:
        recorder.rows(kernel, real, sizes, scalars, chunk, operands)
        return
    addresses = [t.memory.address + t.offset * t.dtype.itemsize for t in operands]
    packed = row_block(kernel).pack(*sizes, *scalars, *addresses)
    seam.launch(operands[0].backend, kernel, real, (), sizes[0], chunk, packed)


def contiguous(x: Tensor) -> Tensor:
    """`x`, or a copy of it in row-major order (off the tape)."""
    return x if x.contiguous else copied(x)


def copied(x: Tensor, dtype: np.dtype | None = None) -> Tensor:
    """A fresh row-major copy of `x`, in another dtype if asked for (off the tape)."""
    if (dtype is None or dtype is x.dtype) and not x.contiguous and x.dtype.kind == "f" and x.dtype is not FLOAT16:
        sizes = swapped_sizes(x.shape, x.strides)
        if sizes is not None:
            return copy_transposed(x, sizes)
    compute = result_dtype(x.dtype, dtype) if dtype is not None else x.dtype
    return run_map(copy_kernel, (x.detach(),), dtype=compute, out_dtype=dtype or x.dtype)


def widened(x: Tensor) -> Tensor:
    """Row-major, and float32 where the storage is float16: what row kernels can work on."""
    return copied(x, DEFAULT) if x.dtype is FLOAT16 else contiguous(x)


def row_major(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Contiguous `x` seen with another shape of equal size (off the tape)."""
    return x.view(shape, contiguous_strides(shape))
