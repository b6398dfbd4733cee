"""What all optimisers share: the list of parameters, clipping in the step, and state that can be saved.

Imports tensors, `clip` and the check of states of `forgenb.nn`; an update rule has a file of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from ..dtypes import compute_dtype
from ..errors import ArgumentError
from ..nn.module import check_state, overwrite
from ..tensor import Parameter, Tensor, from_array
from .clip import clip_factor, global_norm


class Optimizer:
    """Base of the optimisers; a subclass names its `slots` and writes `update`.

    Parameters
    ----------
    params : iterable of Parameter or (name, Parameter)
        As ``model.parameters()`` or ``model.named_parameters()`` gives them. Without names, a parameter's
        own or its position names its state.
    lr : float
        The learning rate, an attribute that a schedule may set before any step.

    Attributes
    ----------
    steps : int
        How many steps were taken.

    Notes
    -----
    A step leaves a parameter without a gradient exactly as it is, frozen or unused: no decay, no momentum,
    no count. Gradients are read and never written. Host numbers such as bias corrections are computed in
    float64, once for each parameter.
    """

    slots: tuple[str, ...] = ()

    def __init__(self, params: Iterable, lr: float):
        self.lr = checked("lr", lr)
        self.params: dict[str, Parameter] = {}
        self.steps = 0
        self._counts: dict[str, int] = {}
        self._state: dict[str, tuple[Tensor, ...]] = {}
        known: set[int] = set()
        for position, item in enumerate(params):
            name, parameter = item if isinstance(item, tuple) else (None, item)
            if not isinstance(parameter, Parameter):
                raise ArgumentError(f"an optimiser updates fnb.Parameter objects, got {type(parameter).__name__}")
            name = name or parameter.name or f"{position}"
            if name in self.params or id(parameter) in known:
                raise ArgumentError(f"the optimiser got parameter {name!r} twice: each needs one name and one place")
            known.add(id(parameter))
            self.params[name] = parameter
        if not self.params:
            raise ArgumentError("the optimiser got no parameters")

    def step(self, clip_norm: float | None = None) -> float | None:
        """Update every parameter that has a gradient, in place.

        Parameters
        ----------
        clip_norm : float, optional
            Where the norm of all gradients together is above this, the step uses them times
            ``clip_norm / norm``.

        Returns
        -------
        float or None
            With `clip_norm`, the norm before clipping. Where that is not finite nothing is updated, so that
            a training loop can stop with the parameters of the step before.
        """
        live = [(name, p, p.grad) for name, p in self.params.items() if p.grad is not None]
        norm, factor = None, 1.0
        if clip_norm is not None:
            norm = global_norm([grad for _, _, grad in live])
            factor = clip_factor(norm, clip_norm)
            if not math.isfinite(norm):
                return norm
        for name, p, grad in live:
            if name not in self._state:
                self._state[name] = tuple(zeros_like(p) for _ in self.slots)
            count = self._counts[name] = self._counts.get(name, 0) + 1
            self.update(p, grad, self._state[name], count, factor)
            p.changed()
        self.steps += 1
        return norm

    def update(self, p: Parameter, grad: Tensor, state: tuple[Tensor, ...], count: int, factor: float) -> None:
        """Write the new `p` and `state`; `count` is 1 at p's first step, `factor` scales the gradient."""
        raise NotImplementedError(f"{type(self).__name__} defines no update")

    def zero_grad(self) -> None:
        """Clear the gradients."""
        for p in self.params.values():
            if p.requires_grad:
                p.grad = None

    def unused(self) -> list[str]:
        """Names of the parameters that want a gradient and have none since it was last cleared."""
        return [name for name, p in self.params.items() if p.requires_grad and p.grad is None]

    def state_dict(self) -> dict[str, np.ndarray]:
        """A copy of the state: ``step``, and for each parameter with one ``count/NAME`` and ``SLOT/NAME``."""
        found = {"step": np.array(self.steps)}
        for name, state in self._state.items():
            found[f"count/{name}"] = np.array(self._counts[name])
            for slot, t in zip(self.slots, state):
                found[f"{slot}/{name}"] = t.numpy().copy()
        return found

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over a saved state: all of it, or nothing. Continuing from it gives the same bits.

        Raises
        ------
        CheckpointError, ShapeError
            If entries are missing, unknown, or of another shape or dtype.
        """
        names = [name for name in self.params if f"count/{name}" in state]
        scalar = ((), np.dtype("int64"))
        wanted: dict[str, tuple] = {"step": scalar} | {f"count/{name}": scalar for name in names}
        for name in names:
            p = self.params[name]
            wanted |= {f"{slot}/{name}": (p.shape, compute_dtype(p.dtype)) for slot in self.slots}
        check_state(wanted, state)
        self.steps = int(state["step"])
        self._counts = {name: int(state[f"count/{name}"]) for name in names}
        self._state = {name: tuple(zeros_like(self.params[name]) for _ in self.slots) for name in names}
        for name, tensors in self._state.items():
            for slot, t in zip(self.slots, tensors):
                overwrite(t, state[f"{slot}/{name}"])


def zeros_like(p: Tensor) -> Tensor:
    """State of `p`'s shape, float32 where `p` is float16."""
    return from_array(np.zeros(p.shape, compute_dtype(p.dtype)), p.backend)


def checked(name: str, value: float, high: float = math.inf) -> float:
    """`value` where ``0 <= value < high``, else an ArgumentError."""
    if not 0 <= value < high:
        raise ArgumentError(
            f"{name} must be at least 0" + (f" and below {high}" if high < math.inf else "") + f", got {value!r}"
        )
    return value
