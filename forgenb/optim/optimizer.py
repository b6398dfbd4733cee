"""What all optimisers share: the list of parameters, clipping in the step, and state that can be saved.

Imports tensors, `clip` and the check of states of `forgenb.nn`; an update rule has a file of its own.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Container, Iterable, Mapping

import numpy as np

from ..dtypes import compute_dtype
from ..errors import ArgumentError, CheckpointError
from ..nn.module import check_state, overwrite
from ..ops.apply import apart, copied
from ..routine import after_each_run, frozen, late, on_each_run, outside_recording
from ..tensor import Parameter, Tensor, from_array, full_like
from .clip import clipping
from .groups import Group, flattened
from .groups import checked as checked
from .scaling import LossScaler

NODE = operator.attrgetter("node")


class Optimizer:
    """Base of the optimisers; a subclass names its `slots` and writes `update`.

    Parameters
    ----------
    params : iterable of Parameter, (name, Parameter) or Group
        As ``model.parameters()`` or ``model.named_parameters()`` gives them. Without names, a parameter's
        own or its position names its state.
    lr : float
        The learning rate, an attribute that a schedule may set before any step.

    Attributes
    ----------
    groups : list of Group
        Those that were given, and one for all that stood in none.
    steps : int
        How many steps were taken.

    Notes
    -----
    A step leaves a parameter without a gradient exactly as it is, frozen or unused: no decay, no momentum,
    no count. Gradients are read and never written. Host numbers such as bias corrections are computed in
    float64, once for each parameter.
    """

    slots: tuple[str, ...] = ()
    weight_decay = 0.0

    def __init__(self, params: Iterable, lr: float):
        self.lr = checked("lr", lr)
        self.params: dict[str, Parameter] = {}
        self.steps = 0
        self._counts: dict[str, int] = {}
        self._moved: list[str] = []
        self._state: dict[str, tuple[Tensor, ...]] = {}
        known: set[int] = set()
        self._group: dict[str, Group] = {}
        for position, (group, item) in enumerate(flattened(params)):
            name, parameter = item if isinstance(item, tuple) else (None, item)
            if not isinstance(parameter, Parameter):
                raise ArgumentError(f"an optimiser updates fnb.Parameter objects, got {type(parameter).__name__}")
            name = name or parameter.name or f"{position}"
            if name in self.params or id(parameter) in known:
                raise ArgumentError(f"the optimiser got parameter {name!r} twice: each needs one name and one place")
            known.add(id(parameter))
            self.params[name], self._group[name] = parameter, group
        if not self.params:
            raise ArgumentError("the optimiser got no parameters")
        self.groups = list(dict.fromkeys(self._group.values()))

    def step(self, clip_norm: float | None = None, scaler: LossScaler | None = None) -> float | None:
        """Update every parameter that has a gradient, in place.

        Parameters
        ----------
        clip_norm : float, optional
            Where the norm of all gradients together is above this, the step uses them times
            ``clip_norm / norm``.
        scaler : LossScaler, optional
            The gradients are those of a loss that it scaled: the step uses them divided by its scale, and then
            tells it whether they were finite.

        Returns
        -------
        float or None
            With `clip_norm` or `scaler`, the norm before clipping. Where that is not finite nothing is updated, so
            that a training loop can stop with the parameters of the step before.
        """
        self._watch_frozen()
        live = [(name, p, p.grad) for name, p in self.params.items() if p.grad is not None]
        norm = None
        measured = clip_norm is not None or scaler is not None
        if measured and live:
            limit, unit = math.inf if clip_norm is None else clip_norm, 1.0 if scaler is None else scaler.unit()
            norm, factor = clipping([grad for _, _, grad in live], limit, unit)
        else:
            factor = full_like(next(iter(self.params.values())).view((), ()), 1)
        names = [name for name, _, _ in live]
        self._make_state(names)
        on_each_run(lambda: self._advance(names, 1))
        self._watch_counts(names)
        numbers: dict[tuple, tuple] = {}
        factors = {factor.dtype: factor}
        for name, p, grad in live:
            dtype = compute_dtype(p.dtype)
            if dtype not in factors:
                factors[dtype] = copied(factor, dtype)
            group = self._group[name]
            key = (self._counts.get(name, 0), p.decay, group)
            if key not in numbers:
                count = late(functools.partial(self._counts.__getitem__, name))
                numbers[key] = self.numbers(count, self._rate(group), self._decay(group) if p.decay else 0.0)
            self.update(p, apart(grad, p), self._state[name], factors[dtype], numbers[key])
            p.changed()
        if norm is None:
            return 0.0 if measured else None
        return after_each_run(lambda: self._checked_norm(norm, names, scaler), norm)

    def _watch_frozen(self) -> None:
        """Let a recording notice what is frozen later; where nothing is, a run only looks at the nodes."""
        params = tuple(self.params.values())
        nodes, names = tuple(map(NODE, params)), self._frozen()

        def read() -> tuple[str, ...]:
            return names if tuple(map(NODE, params)) == nodes else self._frozen()

        frozen("which parameters are frozen", read)

    def _frozen(self) -> tuple[str, ...]:
        return tuple(name for name, p in self.params.items() if not p.requires_grad)

    def _watch_counts(self, names: list[str]) -> None:
        """Let a recording notice where parameters that share their numbers have no longer taken as many steps."""
        alike: dict[int, list[str]] = {}
        for name in names:
            alike.setdefault(self._counts.get(name, 0), []).append(name)

        def read() -> bool:
            if self._moved is names:  # the last step was of this recording, and all of them took it
                return True
            return all(len({self._counts.get(name, 0) for name in group}) == 1 for group in alike.values())

        frozen("whether parameters have taken as many steps as each other", read)

    def _make_state(self, names: list[str]) -> None:
        """Zeros for parameters that step for the first time; they are memory of their own, never scratch."""
        for name in names:
            if name not in self._state:
                with outside_recording():
                    self._state[name] = tuple(zeros_like(self.params[name]) for _ in self.slots)

    def _advance(self, names: list[str], by: int) -> None:
        for name in names:
            self._counts[name] = self._counts.get(name, 0) + by
        self.steps += by
        self._moved = names

    def _checked_norm(self, norm: Tensor, names: list[str], scaler: LossScaler | None) -> float:
        """The norm as a number; a step that changed nothing, since it was not finite, is not counted."""
        value = float(norm.item())
        if not math.isfinite(value):
            self._advance(names, -1)
        if scaler is not None:
            scaler.update(math.isfinite(value))
        return value

    def _rate(self, group: Group):
        def now():
            return self.lr if group.lr is None else group.lr

        return late(now, now())

    def _decay(self, group: Group) -> float:
        return self.weight_decay if group.weight_decay is None else group.weight_decay

    def numbers(self, count, lr, decay: float) -> tuple:
        """The host numbers of `update`; `count` is 1 at a parameter's first step, `decay` 0 where none applies."""
        raise NotImplementedError(f"{type(self).__name__} defines no numbers")

    def update(self, p: Parameter, grad: Tensor, state: tuple[Tensor, ...], factor: Tensor, numbers: tuple) -> None:
        """Write the new `p` and `state`; `factor` (no dimensions) scales the gradient, and negative stops the step."""
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
            if not self._counts.get(name):
                continue
            found[f"count/{name}"] = np.array(self._counts[name])
            for slot, t in zip(self.slots, state):
                found[f"{slot}/{name}"] = t.numpy().copy()
        return found

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over a saved state: all of it, or nothing. Continuing from it gives the same bits.

        Raises
        ------
        CheckpointError, ShapeError
            If entries are missing, unknown, or of another shape or dtype, or a count is none.
        """
        own = {name: (p.shape, p.dtype) for name, p in self.params.items()}
        check_state(state_layouts(own, self.slots, state), state)
        counts = {name: int(state[f"count/{name}"]) for name in self.params if f"count/{name}" in state}
        steps = int(state["step"])
        wrong = [f"count/{name} is {count}" for name, count in counts.items() if not 1 <= count <= steps]
        if steps < 0 or wrong:
            raise CheckpointError(
                f"the state does not fit: step is {steps}, at least 0 is needed, and counts from 1 to it; "
                f"{'; '.join(wrong) or 'no count differs'}. Nothing was loaded."
            )
        self._make_state([*counts])
        for name, tensors in self._state.items():  # in place, since recorded steps write there
            for slot, t in zip(self.slots, tensors):
                overwrite(t, state[f"{slot}/{name}"] if name in counts else np.zeros(t.shape, t.dtype))
        self._counts.clear()
        self._counts.update(counts)
        self.steps, self._moved = steps, []


def state_layouts(params: Mapping[str, tuple], slots: tuple[str, ...], stored: Container[str]) -> dict[str, tuple]:
    """What the state of an optimiser must hold: name -> (shape, dtype).

    Parameters
    ----------
    params : mapping
        Name -> (shape, dtype) of every parameter.
    slots : tuple of str
        Those of the optimiser.
    stored : container of str
        The names of a state: a parameter of which it has a count has taken steps, and needs its slots too.
    """
    scalar = ((), np.dtype("int64"))
    wanted: dict[str, tuple] = {"step": scalar}
    for name, (shape, dtype) in params.items():
        if f"count/{name}" in stored:
            wanted[f"count/{name}"] = scalar
            wanted |= {f"{slot}/{name}": (shape, compute_dtype(dtype)) for slot in slots}
    return wanted


def zeros_like(p: Tensor) -> Tensor:
    """State of `p`'s shape, float32 where `p` is float16."""
    return from_array(np.zeros(p.shape, compute_dtype(p.dtype)), p.backend)
