"""The tensor: a strided view of backend memory, with a dtype and perhaps a place on the tape.

Arithmetic and methods such as ``+`` and ``sum`` are put on this class by `forgenb.ops.methods`, from the
same functions that ``fnb.ops`` offers; what NumPy, Python and notebooks ask of it by `forgenb.interop`;
`forgenb.members` lists them all. This module may import backend, dtypes and errors, never an op.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .backend import seam
from .backend.planned import PlannedMemory, place_of_call
from .errors import ArgumentError, DTypeError, MemoryModeError, TapeError
from .layout import Layout, layout_of
from .members import Members


class Tensor(Members):
    """A multi-dimensional array on one backend. Make one with `forgenb.tensor`.

    Attributes
    ----------
    layout : Layout
        Shape, strides, dtype and backend, which have properties of their own too.
    name : str or None
        A label for printing.
    """

    __slots__ = ("__weakref__", "index", "layout", "memory", "name", "node", "offset")

    def __init__(self, memory, offset: Any, layout: Layout):
        self.memory = memory
        self.offset = offset
        self.layout = layout
        self.node: Any = None
        self.index = 0
        self.name: str | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, as in NumPy."""
        return self.layout.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements from one to the next along each axis."""
        return self.layout.strides

    @property
    def dtype(self) -> np.dtype:
        """The elements' dtype, as in NumPy."""
        return self.layout.dtype

    @property
    def backend(self) -> Any:
        """The backend's object, in whose memory the elements are."""
        return self.layout.backend

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.layout.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.layout.size

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie in row-major order without gaps."""
        return self.layout.contiguous

    @property
    def address(self) -> int:
        """Address of the first element in the backend's memory."""
        return self.memory.address + self.offset * self.layout.itemsize

    def numpy(self) -> np.ndarray:
        """The elements as NumPy: a read-only view on host backends, a copy elsewhere."""
        found = seam.host_view(self.backend, self.memory, self.dtype, self.offset, self.shape, self.strides)
        found.flags.writeable = False
        return found

    def item(self):
        """The single element as a Python number.

        Raises
        ------
        ArgumentError
            If there is not exactly one element.
        """
        if self.size != 1:
            raise ArgumentError(f"item() needs a tensor of one element, got shape {self.shape}")
        return self.numpy().item()

    def tolist(self):
        """The elements as nested Python lists."""
        return self.numpy().tolist()

    def view(self, shape: tuple, strides: tuple, offset: Any = 0) -> Tensor:
        """The same memory seen with another shape and strides, off the tape; a symbol makes the offset late."""
        own = self.layout
        return Tensor(self.memory, self.offset + offset, layout_of(shape, strides, own.dtype, own.backend))

    def detach(self) -> Tensor:
        """The same memory, off the tape."""
        return Tensor(self.memory, self.offset, self.layout)

    def changed(self) -> None:
        """Say that the elements were written in place."""
        self.memory.version += 1

    def retain(self) -> Tensor:
        """Ask a routine that is being recorded to keep this value, so that it can be read after a run.

        Raises
        ------
        MemoryModeError
            If it was to be inlined, or its routine is planned already and did not keep it.
        """
        return self._decide("retain")

    def materialize(self) -> Tensor:
        """Ask a routine that is being recorded to give this value storage, stored or scratch, and not to inline it.

        Raises
        ------
        MemoryModeError
            If it was to be inlined.
        """
        return self._decide("materialize")

    def inline(self) -> Tensor:
        """Ask a routine that is being recorded to fuse this value into its one consumer, so that it has no storage.

        Raises
        ------
        MemoryModeError
            If it has storage already or was to be kept; or, when the routine is planned, if it cannot be inlined.
        """
        if not isinstance(self.memory, PlannedMemory) or self.memory.mode == "constant":
            raise MemoryModeError(
                f"inline() on a tensor of shape {self.shape} that has its storage already: only what a recorded step "
                "computes can be inlined"
            )
        return self._decide("inline")

    def _decide(self, kind: str) -> Tensor:
        if isinstance(self.memory, PlannedMemory):
            self.memory.decide(kind, place_of_call(2))
        return self

    @property
    def requires_grad(self) -> bool:
        """Whether ops on this tensor are recorded."""
        return self.node is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        from .tape import leaf_node

        if not wanted:
            if self.node is not None and not self.node.leaf:
                raise TapeError("requires_grad=False on the result of an op: use detach()")
            self.node = None
        elif self.node is None:
            if self.dtype.kind != "f":
                raise DTypeError(
                    f"a tensor of dtype {self.dtype.name} cannot require a gradient: only float tensors are "
                    "differentiable, convert it with astype"
                )
            self.node, self.index = leaf_node(self), 0

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward left here, or None. Set it to None to clear it."""
        return None if self.node is None else self.node.grads.get(self.index)

    @grad.setter
    def grad(self, value: Any) -> None:
        if self.node is None:
            raise TapeError("a tensor that is not tracked has no gradient: create it with requires_grad=True")
        if value is None:
            self.node.grads.pop(self.index, None)
            recorder = seam.RECORDER.get()
            if recorder is not None:
                recorder.cleared.add(self.node)
            return
        if not hasattr(value, "backend"):
            found = type(value).__name__
            raise ArgumentError(f"a gradient must be a tensor or None, got {found}: make one with fnb.tensor")
        if (value.shape, value.dtype, value.backend) != (self.shape, self.dtype, self.backend):
            raise ArgumentError(
                f"the gradient of a tensor of shape {self.shape} and dtype {self.dtype.name} cannot have shape "
                f"{value.shape} and dtype {value.dtype.name}"
            )
        self.node.grads[self.index] = value

    def retain_grad(self) -> Tensor:
        """Ask backward to keep the gradient of this inner tensor too; returns the tensor."""
        if self.node is None:
            raise TapeError("retain_grad on a tensor that is not tracked: it will never have a gradient")
        self.node.kept |= {self.index}
        return self

    def backward(self, seed: Tensor | None = None, retain_graph: bool = False, create_graph: bool = False) -> None:
        """Compute the gradient of this tensor with respect to every leaf it depends on.

        Parameters
        ----------
        seed : Tensor, optional
            The cotangent of this tensor, of its shape, dtype and backend. A tensor of one element has the
            default 1; any other needs one.
        retain_graph : bool
            Keep the closures, so that another sweep can run.
        create_graph : bool
            Record the sweep itself, so that gradients can be differentiated, with the same bits. Implies
            `retain_graph`.

        Raises
        ------
        TapeError
            If this tensor is not tracked, the seed does not fit, the graph was consumed, or a value that a
            closure saved was changed in place.
        """
        from .sweep import sweep

        sweep(self, seed, retain_graph, create_graph)

    def __len__(self) -> int:
        if not self.shape:
            raise DTypeError("len() of a tensor without dimensions: it has one number, which item() gives")
        return self.shape[0]


class Parameter(Tensor):
    """A leaf that a module owns and an optimiser updates.

    `decay` says whether weight decay applies to it: by default to matrices, not to vectors.
    """

    __slots__ = ("decay",)

    def __init__(self, data: Tensor, decay: bool | None = None):
        if not isinstance(data, Tensor):
            raise ArgumentError(f"Parameter needs a tensor, got {type(data).__name__}: make one with fnb.tensor")
        source = data if data.contiguous and data.node is None else data.copy().detach()
        super().__init__(source.memory, source.offset, source.layout)
        self.decay = self.ndim >= 2 if decay is None else decay
        self.name = data.name
        self.requires_grad = True


def empty(shape: tuple[int, ...], dtype: np.dtype, backend) -> Tensor:
    """A tensor whose elements are not written yet."""
    return laid_out(layout_of(shape, None, dtype, backend))


def laid_out(layout: Layout) -> Tensor:
    """A tensor of a gapless layout whose elements are not written yet."""
    return Tensor(seam.allocate(layout.backend, layout.nbytes), 0, layout)


def from_array(array: np.ndarray, backend) -> Tensor:
    """A tensor with a copy of a host array."""
    made = empty(array.shape, array.dtype, backend)
    seam.upload(backend, made.memory, array)
    return made


def host_values(value) -> np.ndarray:
    """The elements of a tensor, tracked or not, or of what else is an array on the host."""
    return value.numpy() if isinstance(value, Tensor) else np.asarray(value)


def full_like(like: Tensor, value) -> Tensor:
    """A tensor of `like`'s shape, dtype and backend with one value everywhere."""
    return full(like.shape, value, like.dtype, like.backend)


def full(shape: tuple[int, ...], value, dtype: np.dtype, backend) -> Tensor:
    """A tensor with one value everywhere; on a device a kernel writes it, and nothing is uploaded."""
    if backend.host or (dtype.kind in "iu" and abs(value) > 2**53):
        return from_array(np.full(shape, value, dtype), backend)
    from .ops.copying import filled

    return filled(shape, float(value), dtype, backend)
