"""What is checked: a function of tensors at one point, and the gradients that its backward gives there.

A module becomes a function of its inputs and its parameters, a compiled step one whose gradient is recorded too.
Imports tensors, the tape and `grad`; differences and comparisons are other files.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..creation import tensor
from ..dtypes import FLOAT64
from ..errors import ArgumentError, DTypeError, TapeError
from ..functional import grad
from ..random import generator
from ..tape import no_grad, recording
from ..tensor import Tensor
from .modules import as_function, module_of

NEARBY = 1e-3
"""How far from the point, relative to each value, the function is called in between, to catch values kept too long."""
EARLIER, LATER = 0, 1

Arrays = list[np.ndarray]


class Subject:
    """A function of tensors, the values to check it at, and a label for each.

    `run` gives the outputs, `step` is the function whose ops are recorded: the same, but for a compiled step, where
    `recorded` is what compiles another one. `linear` says that outputs which nothing tracks are constants, as the
    gradients of a linear function are, and no mistake.
    """

    def __init__(self, f: Any, inputs: Sequence, seed: int):
        given = [_as_input(number, value) for number, value in enumerate(inputs)]
        self.linear = False
        self.labels = [f"input {number}" for number in range(len(given))]
        self.values: Arrays = [np.array(t.numpy()) for t in given]
        self.backends = [t.backend.name for t in given]
        self.recorded: Any = type(f) if hasattr(f, "step") and hasattr(f, "routines") else None
        self.step: Callable = f.step if self.recorded else f
        if module_of(self.step) is not None:
            self._with_parameters(seed)
        self.run: Callable = self.recorded(self.step, f.name) if self.recorded else self.step
        self.floats = [n for n, value in enumerate(self.values) if value.dtype.kind == "f"]

    def _with_parameters(self, seed: int) -> None:
        """Make the parameters of a module inputs too, with values that no initialiser gives."""
        self.step, parameters = as_function(self.step, len(self.values))
        for name, t in parameters:
            self.labels.append(f"parameter {name!r}")
            self.backends.append(t.backend.name)
            size = max(1, t.size // t.shape[0]) if t.ndim > 1 else 1
            self.values.append(signed(generator(seed, f"gradcheck {name}"), t.shape) / np.sqrt(size))

    def with_gradients(self, step: Callable) -> Subject:
        """The same inputs with gradients as the function of them."""
        made = copy.copy(self)
        made.step, made.linear = step, True
        made.run = self.recorded(step, "step of a check") if self.recorded else step
        return made

    def tensors(self, values: Arrays, tracked: bool) -> list[Tensor]:
        """The inputs as fresh tensors, the float ones leaves if `tracked`."""
        return [
            tensor(value, requires_grad=tracked and value.dtype.kind == "f", backend=backend)
            for value, backend in zip(values, self.backends, strict=True)
        ]

    def evaluate(self, values: Arrays) -> Arrays:
        """The float outputs at these values, in float64."""
        with no_grad():
            found = outputs_of(self.run(*self.tensors(values, tracked=False)))
        return [np.array(t.numpy(), np.float64) for t in found]

    def nearby(self, which: int) -> Arrays:
        """The values moved a little, each by a part of its own that depends on `which`."""
        rng = generator(which, "gradcheck nearby")
        parts = [NEARBY * signed(rng, value.shape) for value in self.values]
        moved = zip(self.values, parts, strict=True)
        return [value * (1 + part) if value.dtype.kind == "f" else value for value, part in moved]

    def pullback(self) -> tuple[Arrays, Callable[[Arrays], list[np.ndarray | None]]]:
        """The outputs, and what backward makes of cotangents: one gradient, or None, per float input."""
        return self._recorded_pullback() if self.recorded else self._eager_pullback()

    def _eager_pullback(self):
        """The function is called before and after, elsewhere, so that a rule that keeps values too long is wrong."""
        leaves = self.tensors(self.values, tracked=True)
        with recording(True):
            with np.errstate(all="ignore"):
                self.step(*self.tensors(self.nearby(EARLIER), tracked=True))
            outputs = outputs_of(self.step(*leaves))
            with np.errstate(all="ignore"):
                self.step(*self.tensors(self.nearby(LATER), tracked=True))
        if not self.linear and not any(t.requires_grad for t in outputs):
            raise TapeError(
                "gradcheck: no output of the function is tracked, although its inputs are: an op in it "
                "leaves the tape, or it ignores its inputs"
            )

        def pull(cotangents: Arrays):
            for number in self.floats:
                leaves[number].grad = None
            for t, w in zip(outputs, cotangents, strict=True):
                if t.requires_grad:
                    t.backward(tensor(w.astype(t.dtype), backend=t.backend.name), retain_graph=True)
            found = (leaves[number].grad for number in self.floats)
            return [None if g is None else np.array(g.numpy()) for g in found]

        return [np.array(t.numpy(), np.float64) for t in outputs], pull

    def _recorded_pullback(self):
        """Forward and backward as one recorded step, whose inputs are the values and the cotangents."""
        count = len(self.values)

        def slopes(*given):
            return contracted(self.step, given[count:], tuple(self.floats))(*given[:count])

        step = self.recorded(slopes, "gradients of the step")

        def pull(cotangents: Arrays):
            seeds = [tensor(w, backend=self.backends[0]) for w in cotangents]
            return [np.array(g.numpy()) for g in step(*self.tensors(self.values, tracked=False), *seeds)]

        return self.evaluate(self.values), pull


def contracted(f: Callable, cotangents: Sequence, argnums: tuple[int, ...]) -> Callable:
    """The gradients of the sum of cotangents times outputs, as a function of the inputs that can be differentiated."""

    def total(*inputs):
        terms = [(t * w).sum() for t, w in zip(outputs_of(f(*inputs)), cotangents, strict=True)]
        return sum(terms[1:], start=terms[0])

    return grad(total, argnums)


def outputs_of(result) -> list[Tensor]:
    """The float tensors among the results of a function, in tuples of tuples too.

    Raises
    ------
    ArgumentError
        If one is no tensor.
    """
    several = _flat(result)
    for t in several:
        if not isinstance(t, Tensor):
            raise ArgumentError(
                f"gradcheck needs a function that returns a tensor or a tuple of them, got {type(t).__name__}: return "
                "what the ops give"
            )
    return [t for t in several if t.dtype.kind == "f"]


def _flat(result) -> list:
    return [t for part in result for t in _flat(part)] if isinstance(result, (tuple, list)) else [result]


def signed(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of either sign and none near 0, so that no error is weighted away."""
    return np.asarray(rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape))


def _as_input(number: int, value) -> Tensor:
    made = value if isinstance(value, Tensor) else tensor(np.asarray(value))
    if made.dtype.kind == "f" and made.dtype is not FLOAT64:
        raise DTypeError(
            f"gradcheck got input {number} of dtype {made.dtype.name}: differences need float64, in a "
            "shorter dtype rounding hides what they should show; convert the inputs with astype('float64')"
        )
    return made
