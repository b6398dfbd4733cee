"""A module as a function of its inputs and its parameters, which leaves the module as it was.

A module is anything with `named_parameters`, `named_buffers` and `modules`; the layer of modules is not imported.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from threading import RLock

from ..creation import tensor
from ..tensor import Tensor

_STANDING_IN = RLock()
"""Held while tensors stand in: checks of one module in several threads take turns, call by call."""


def module_of(f: Callable):
    """The module that a function is, or whose method it is; None for any other."""
    owner = getattr(f, "__self__", f)
    return owner if hasattr(owner, "named_parameters") else None


def as_function(f: Callable, inputs: int) -> tuple[Callable, list[tuple[str, Tensor]]]:
    """The function, which takes that many inputs and then parameters, and the parameters that it takes, by name.

    During a call the tensors that the call got stand in the parameters' places. In those of frozen parameters and of
    buffers stand copies in float64, so that one call does not change what the next one finds.
    """
    module = module_of(f)
    taken = [(name, t) for name, t in module.named_parameters() if t.requires_grad]
    frozen = [t for _, t in module.named_parameters() if not t.requires_grad]
    kept = frozen + [t for _, t in module.named_buffers()]

    def function(*given):
        stand_in = {id(t): value for (_, t), value in zip(taken, given[inputs:], strict=True)}
        stand_in |= {id(t): tensor(t, _wide(t), backend=t.backend.name) for t in kept}
        with _STANDING_IN, _replaced(module, stand_in):
            return f(*given[:inputs])

    return function, taken


def _wide(t: Tensor) -> str:
    return "float64" if t.dtype.kind == "f" else t.dtype.name


@contextmanager
def _replaced(module, stand_in: dict[int, Tensor]):
    """Let attributes be other tensors inside a ``with`` block, wherever in the tree of modules they stand."""
    before = []
    for owner in list(module.modules()):
        for name, value in list(vars(owner).items()):
            if id(value) in stand_in:
                before.append((owner, name, value))
                vars(owner)[name] = stand_in[id(value)]
    try:
        yield
    finally:
        for owner, name, value in before:
            vars(owner)[name] = value
