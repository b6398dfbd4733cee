"""`Module`: a tree of parameters with one canonical order, which the optimiser and checkpoints share.

Imports tensors, errors and the copies of `forgenb.ops`; no layer and no file format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ..backend import get_backend
from ..errors import ArgumentError, CheckpointError, ShapeError
from ..ops.apply import run_map
from ..ops.copying import copy_kernel
from ..tape import no_grad
from ..tensor import Parameter, Tensor, from_array


class Module:
    """Base of everything that has parameters.

    Parameters and modules that are assigned to attributes are found in the order of assignment. A parameter
    that stands in two places is listed once, under its first name. Calling a module calls `forward`.

    Attributes
    ----------
    training : bool
        What `train` and `eval` set; dropout asks it.

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

    def _children(self) -> Iterator[tuple[str, Parameter | Module]]:
        for name, value in vars(self).items():
            if isinstance(value, (Parameter, Module)):
                yield name, value

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """(dotted name, parameter) of this module and those inside, each once, in canonical order."""
        seen: set[int] = set()
        for name, parameter in self._walk(""):
            if id(parameter) not in seen:
                seen.add(id(parameter))
                yield name, parameter

    def _walk(self, prefix: str) -> Iterator[tuple[str, Parameter]]:
        for name, child in self._children():
            if isinstance(child, Parameter):
                yield prefix + name, child
            else:
                yield from child._walk(f"{prefix}{name}.")

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

    def to(self, backend: str) -> Module:
        """Move every parameter to another backend, in place; returns the module.

        Parameters stay the objects that they are, with their names, order and gradients, so an optimiser that
        holds them goes on holding them. Its own state, such as Adam's moments, is made at its first step
        where the parameter then lives, and does not follow: move first, or load its state again afterwards.

        Raises
        ------
        BackendError
            If there is no such backend, or it cannot be used; nothing was moved then.
        """
        get_backend(backend)
        for parameter in self.parameters():
            move(parameter, backend)
        return self

    def zero_grad(self) -> None:
        """Clear the gradients of all parameters that are not frozen."""
        for parameter in self.parameters():
            if parameter.requires_grad:
                parameter.grad = None

    def state_dict(self) -> dict[str, np.ndarray]:
        """A copy of every parameter by name."""
        return {name: parameter.numpy().copy() for name, parameter in self.named_parameters()}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Write `state` into the parameters, in place: all of it, or nothing.

        Raises
        ------
        CheckpointError
            If names are missing or unknown, or a dtype differs; all differences are listed.
        ShapeError
            If only shapes differ.
        """
        owned = dict(self.named_parameters())
        check_state({name: (p.shape, p.dtype) for name, p in owned.items()}, state)
        for name, parameter in owned.items():
            overwrite(parameter, state[name])


class ModuleList(Module):
    """Modules in a row, named by their position."""

    def __init__(self, modules=()):
        self._items: list[Module] = list(modules)
        for item in self._items:
            if not isinstance(item, Module):
                raise ArgumentError(f"{type(self).__name__} holds modules, got {type(item).__name__}")

    def _children(self) -> Iterator[tuple[str, Parameter | Module]]:
        yield from ((str(i), module) for i, module in enumerate(self._items))

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._items)

    def __getitem__(self, index: int) -> Module:
        return self._items[index]


class Sequential(ModuleList):
    """Modules that are called one after the other: ``Sequential(a, b)(x)`` is ``b(a(x))``."""

    def __init__(self, *modules: Module):
        super().__init__(modules)

    def forward(self, x):
        """Pass `x` through all of them."""
        for module in self:
            x = module(x)
        return x


def check_state(wanted: Mapping[str, tuple], state: Mapping[str, np.ndarray]) -> None:
    """Compare names, shapes and dtypes with those `wanted`; raise one error that lists all differences."""
    names = [f"{name} is missing" for name in wanted if name not in state]
    names += [f"{name} is unknown here" for name in state if name not in wanted]
    shapes = []
    for name, (shape, dtype) in wanted.items():
        found = np.asarray(state[name]) if name in state else None
        if found is not None and found.shape != shape:
            shapes.append(f"{name} has shape {found.shape}, needed is {shape}")
        elif found is not None and found.dtype != dtype:
            names.append(f"{name} has dtype {found.dtype}, needed is {dtype.name}")
    if names or shapes:
        kind = CheckpointError if names else ShapeError
        raise kind(f"the state does not fit: {'; '.join(names + shapes)}. Nothing was loaded.")


def move(parameter: Parameter, backend: str) -> None:
    """Give a parameter, and its gradient, memory on `backend`; a graph that it is in cannot be swept any more."""
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
    source = from_array(np.asarray(values, target.dtype), target.backend)
    run_map(copy_kernel, (source,), into=(target,))
    target.changed()
