"""Modules that hold others: in a row, one after the other, or around a path past them.

Imports `module` and errors; nothing here has parameters of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import ArgumentError
from ..ops.movement import reshape
from ..tensor import Tensor
from .module import Module


class ModuleList(Module):
    """Modules in a row, named by their position."""

    def __init__(self, modules=()):
        self._items: list[Module] = list(modules)
        for item in self._items:
            if not isinstance(item, Module):
                raise ArgumentError(f"{type(self).__name__} holds modules, got {type(item).__name__}")

    def _children(self) -> Iterator[tuple[str, Module]]:
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


class Residual(Module):
    """What a module computes, added to its input: ``Residual(f)(x)`` is ``x + f(x)``.

    Parameters
    ----------
    module : Module
        Its result must have the shape of its input.

    References
    ----------
    He et al., "Deep residual learning for image recognition", 2016.
    """

    def __init__(self, module: Module):
        if not isinstance(module, Module):
            raise ArgumentError(f"Residual holds a module, got {type(module).__name__}")
        self.module = module

    def forward(self, x: Tensor) -> Tensor:
        """``x + module(x)``."""
        return x + self.module(x)


class Flatten(Module):
    """All axes but the first as one: ``[n, ...]`` to ``[n, m]``."""

    def forward(self, x: Tensor) -> Tensor:
        """A view where `x` is contiguous."""
        return reshape(x, (x.shape[0], -1) if x.size else (x.shape[0], 0))
