"""`Module`: a tree of parameters with one canonical order, which the optimiser and checkpoints share.

Imports tensors, errors and the copies of `forgenb.ops`; no layer and no file format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ..backend import get_backend
from ..errors import CheckpointError, ShapeError
from ..ops.apply import run_map
from ..ops.copying import copy_kernel
from ..tape import no_grad
from ..tensor import Parameter, Tensor, from_array, host_values


class Buffer(Tensor):
    """What a module keeps and no optimiser updates, such as running statistics: part of its state, never tracked."""

    __slots__ = ()

    def __init__(self, data: Tensor):
        source = data.copy().detach()
        super().__init__(source.memory, source.offset, source.layout)
        self.name = data.name


class Module:
    """Base of everything that has parameters.

    Parameters, buffers and modules that are assigned to attributes are found in the order of assignment. One
    that stands in two places is listed once, under its first name. Calling a module calls `forward`.

    Attributes
    ----------
    training : bool
        What `train` and `eval` set; dropout and batch normalisation ask it.

    Examples
    --------
    >>> import forgenb as fnb
    >>> class Line(fnb.nn.Module):
    ...     def __init__(self):
    ...         self.slope = fnb.Parameter(fnb.tensor(2.0))
    ...     def forward(self, x):
    ...         return self.slope * x
    >>> Line()(fnb.tensor(3.0)).item(), [name for name, _ in Line().named_parameters()]
    (6.0, ['slope'])
    """

    training = True

    def forward(self, *args, **keywords):
        """What the module computes; a subclass says."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward")

    def __call__(self, *args, **keywords):
        """Run `forward`."""
        return self.forward(*args, **keywords)

    def _children(self) -> Iterator[tuple[str, Parameter | Buffer | Module]]:
        for name, value in vars(self).items():
            if isinstance(value, (Parameter, Buffer, Module)):
                yield name, value

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """(dotted name, parameter) of this module and those inside, each once, in canonical order."""
        return ((name, t) for name, t in self._named_state() if isinstance(t, Parameter))

    def named_buffers(self) -> Iterator[tuple[str, Buffer]]:
        """(dotted name, buffer) of this module and those inside, each once, in canonical order."""
        return ((name, t) for name, t in self._named_state() if isinstance(t, Buffer))

    def _named_state(self) -> Iterator[tuple[str, Parameter | Buffer]]:
        seen: set[int] = set()
        for name, t in self._walk(""):
            if id(t) not in seen:
                seen.add(id(t))
                yield name, t

    def _walk(self, prefix: str) -> Iterator[tuple[str, Parameter | Buffer]]:
        for name, child in self._children():
            if isinstance(child, Module):
                yield from child._walk(f"{prefix}{name}.")
            else:
                yield prefix + name, child

    def parameters(self) -> list[Parameter]:
        """The parameters in canonical order."""
        return [parameter for _, parameter in self.named_parameters()]

    def modules(self) -> Iterator[Module]:
        """Yield this module and all inside it."""
        yield self
        for _, child in self._children():
            if isinstance(child, Module):
                yield from child.modules()

    def train(self, mode: bool = True) -> Module:
        """Set `training` here and inside; returns the module."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        """Stop training behaviour, such as dropout; returns the module."""
        return self.train(False)

    def freeze(self) -> Module:
        """Let no parameter require a gradient, so that no optimiser changes it; returns the module."""
        return self._require_gradients(False)

    def unfreeze(self) -> Module:
        """Let every parameter require a gradient again; returns the module."""
        return self._require_gradients(True)

    def _require_gradients(self, wanted: bool) -> Module:
        for parameter in self.parameters():
            parameter.requires_grad = wanted
        return self

    def to(self, backend: str) -> Module:
        """Move every parameter and buffer to another backend, in place; returns the module.

        Parameters stay the objects that they are, with their names, order and gradients, so an optimiser that
        holds them goes on holding them. Its own state, such as Adam's moments, is made at its first step
        where the parameter then lives, and does not follow: move first, or load its state again afterwards.

        Raises
        ------
        BackendError
            If there is no such backend, or it cannot be used; nothing was moved then.
        """
        get_backend(backend)
        for _, t in self._named_state():
            move(t, backend)
        return self

    def zero_grad(self) -> None:
        """Clear the gradients of all parameters that are not frozen."""
        for parameter in self.parameters():
            if parameter.requires_grad:
                parameter.grad = None

    def state_dict(self) -> dict[str, np.ndarray]:
        """A copy of every parameter and buffer by name."""
        return {name: t.numpy().copy() for name, t in self._named_state()}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Write `state` into the parameters and buffers, in place: all of it, or nothing.

        Raises
        ------
        CheckpointError
            If names are missing or unknown, or a dtype differs; all differences are listed.
        ShapeError
            If only shapes differ.
        """
        owned = dict(self._named_state())
        check_state({name: (t.shape, t.dtype) for name, t in owned.items()}, state)
        for name, t in owned.items():
            overwrite(t, state[name])


def check_state(wanted: Mapping[str, tuple], state: Mapping[str, np.ndarray]) -> None:
    """Compare names, shapes and dtypes with those `wanted`; raise one error that lists all differences."""
    names, shapes = misfits(wanted, {name: _layout(value) for name, value in state.items()})
    if names or shapes:
        kind = CheckpointError if names else ShapeError
        raise kind(f"the state does not fit: {'; '.join(names + shapes)}. Nothing was loaded.")


def misfits(wanted: Mapping[str, tuple], found: Mapping[str, tuple]) -> tuple[list[str], list[str]]:
    """How layouts by name, each a shape and a dtype, differ: in names or dtypes, and in shapes."""
    names = [f"{name} is missing" for name in wanted if name not in found]
    names += [f"{name} is unknown here" for name in found if name not in wanted]
    shapes = []
    for name in [name for name in wanted if name in found]:
        (shape, dtype), (own_shape, own_dtype) = wanted[name], found[name]
        if own_shape != shape:
            shapes.append(f"{name} has shape {own_shape}, needed is {shape}")
        elif own_dtype != dtype:
            label = own_dtype.name if own_dtype.isnative else f"{own_dtype.name} of another byte order"
            names.append(f"{name} has dtype {label}, needed is {dtype.name}")
    return names, shapes


def _layout(value) -> tuple:
    array = host_values(value)
    return array.shape, array.dtype


def move(parameter: Parameter | Buffer, backend: str) -> None:
    """Give a parameter, with its gradient, or a buffer, memory on `backend`; no graph with it can be swept then."""
    with no_grad():
        made = parameter.to(backend)
        grad = parameter.grad
        if made is parameter:
            return
        parameter.memory, parameter.offset, parameter.layout = made.memory, made.offset, made.layout
        if parameter.node is not None:
            parameter.node.layouts = (parameter.layout,)
            parameter.grad = None if grad is None else grad.to(backend)


def overwrite(target: Tensor, values: np.ndarray) -> None:
    """Write an array of the same shape into the memory of `target`, whose version grows."""
    copy_into(target, from_array(host_values(values).astype(target.dtype, copy=False), target.backend))


def copy_into(target: Tensor, source: Tensor) -> None:
    """Write a tensor of the same shape, dtype and backend into the memory of `target`, whose version grows."""
    run_map(copy_kernel, (source,), into=(target,))
    target.changed()
