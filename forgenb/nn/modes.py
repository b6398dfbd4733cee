"""A module's mode for a while: set here and inside, and put back as each had it.

Imports `module` and the tape's `no_grad`; nothing here changes a parameter.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..tape import no_grad
from .module import Module

__all__ = ["evaluating", "in_mode"]


@contextmanager
def in_mode(model: object, training: bool) -> Iterator[None]:
    """Set the mode of a module and of those inside it, and put back what each had; nothing for other models."""
    before = [(m, m.training) for m in model.modules()] if isinstance(model, Module) else []
    try:
        for module, _ in before:
            module.training = training
        yield
    finally:
        for module, mode in before:
            module.training = mode


@contextmanager
def evaluating(model: object) -> Iterator[None]:
    """Record nothing, and let a module do what it does after training, inside a ``with`` block."""
    with no_grad(), in_mode(model, training=False):
        yield
