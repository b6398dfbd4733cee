"""Launch kernels on tensors: operands, output memory, and the plan of the launch.

Ops call these functions and nothing below them. `run_map` launches a scalar function over broadcast
operands of any strides; `run_rows` launches a row program on contiguous operands.

Imports the seam, kernels, tensors, plans and the copy kernel; no rule of a gradient belongs here.
"""

from __future__ import annotations

from numbers import Number
from operator import attrgetter
from typing import Any

import numpy as np

from ..backend import seam
from ..creation import beside, tensor
from ..dtypes import DEFAULT, FLOAT16, result_dtype, scalar_dtype
from ..errors import ArgumentError
from ..kernel import Kernel
from ..layout import contiguous_strides
from ..tensor import Tensor, from_array, full, laid_out
from .copying import copy_kernel, copy_transposed, swapped_sizes
from .plans import MAPS, ROWS, MapPlan, planned_map, planned_rows

_LAYOUT = attrgetter("layout")


def as_tensor(value, like=None) -> Tensor:
    """`value` as a tensor, beside `like` where that is one; a Python scalar takes its dtype too (weak promotion)."""
    if isinstance(value, Tensor):
        return value
    if not isinstance(like, Tensor):
        return tensor(value)
    if isinstance(value, Number) and not isinstance(value, np.generic):
        dtype = scalar_dtype(_kind(value), like.dtype)
        try:
            array = np.asarray(value, dtype)
            return from_array(array, like.backend) if like.backend.host else full((), value, dtype, like.backend)
        except (OverflowError, TypeError):
            kind = type(value).__name__
            raise ArgumentError(f"a number of type {kind} does not fit into dtype {dtype.name}") from None
    if hasattr(value, "as_operand"):  # a number that changes from run to run
        return value.as_operand(like)
    return beside(value, like)


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
    plan = MAPS.get(key) or planned_map(key, len(inputs), dtype, out_dtype)
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


def _run_unrolled(plan: MapPlan, scalars: tuple, into: tuple | None, x: Tensor, y: Tensor | None) -> Tensor:
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
    key = (kernel, sizes, dtype, work, *map(_LAYOUT, operands))
    plan = ROWS.get(key) or planned_rows(key)
    recorder = seam.RECORDER.get()
    if recorder is not None:
        recorder.rows(kernel, plan.real, sizes, scalars, plan.chunk, operands)
    elif sizes[0]:
        ready = plan.ready or plan.prepare()
        addresses = [t.memory.address + t.offset * t.layout.itemsize for t in operands]
        seam.launch_ready(ready, ready.with_scalars(scalars), *addresses)


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


def apart(x: Tensor, target: Tensor) -> Tensor:
    """`x`, or a copy where it is another view of the memory that `target` is about to write (off the tape)."""
    if x.memory is not target.memory or (x.layout is target.layout and x.offset == target.offset):
        return x
    return copied(x)


def widened(x: Tensor) -> Tensor:
    """Row-major, and float32 where the storage is float16: what row kernels can work on."""
    return copied(x, DEFAULT) if x.dtype is FLOAT16 else contiguous(x)


def narrowed(x: Tensor, dtype: np.dtype) -> Tensor:
    """`x` in `dtype`, the way back from `widened`; `x` itself where it has it (off the tape)."""
    return x if x.dtype == dtype else copied(x, dtype)


def row_major(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Contiguous `x` seen with another shape of equal size (off the tape)."""
    return x.view(shape, contiguous_strides(shape))
