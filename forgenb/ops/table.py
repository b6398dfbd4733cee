"""The op table: one row per op, from which tests, the conformance suite and the docs are generated.

A row sits under its op. It says how to sample inputs and what NumPy computes; `forgenb.testing.bounds` says how close
is close.

Imports NumPy and dtypes; it names no op, and a row is entered by the op's own file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..dtypes import RULES, Rule


@dataclass(frozen=True)
class Op:
    """One row of the table.

    `samples(rng)` yields ``(arrays, keywords)``: float64 (or integer) NumPy inputs on odd shapes, inside
    the domain and away from kinks. `reference` computes the forward in float64 NumPy, independent of the
    kernels. `differentiable` says which inputs have a gradient, `second` whether that gradient can be differentiated
    again, and so on; if not, a sweep under ``create_graph`` raises a TapeError that names the op, by `refuse_tracked`
    in its gradient. `dtypes` names the rule of `forgenb.dtypes.RULES` that gives the dtype of its results.
    """

    name: str
    function: Callable
    samples: Callable
    reference: Callable
    differentiable: tuple[int, ...] = (0,)
    second: bool = True
    gradient_tolerance: float = 1e-6
    outputs: int = 1
    in_place: bool = False
    dtypes: str = "later"

    @property
    def rule(self) -> Rule:
        """How the dtype of its results follows from those of its operands."""
        return RULES[self.dtypes]


TABLE: dict[str, Op] = {}


def op(samples: Callable, reference: Callable, differentiable: tuple[int, ...] = (0,), name: str = "", **row):
    """Enter the decorated function into the table, under `name` where Python has its own meaning of it."""

    def enter(function: Callable) -> Callable:
        label = name or function.__name__
        if label in TABLE:
            raise ValueError(f"op {label} has two rows in the table")
        TABLE[label] = Op(label, function, samples, reference, differentiable, **row)
        return function

    return enter


SHAPES = ((), (1,), (0,), (7,), (3, 5), (2, 1, 4))
"""Odd shapes for ops that work element by element: 0-d, one, empty, odd, and several dimensions."""

PAIRS = (((), ()), ((3, 1), (1, 4)), ((5,), (2, 5)), ((0, 3), (3,)), ((2, 3, 4), (3, 1)), ((1,), (6,)))
"""Shapes of two operands that broadcast."""


def unary(low: float, high: float, shapes=SHAPES, apart: tuple[float, ...] = ()) -> Callable:
    """Samples of one operand, uniform in [low, high] and at least 0.05 away from the kinks `apart`."""

    def samples(rng: np.random.Generator):
        for shape in shapes:
            yield (_away(rng.uniform(low, high, shape), apart),), {}

    return samples


def binary(
    low: float, high: float, low2: float | None = None, high2: float | None = None, apart: bool = False
) -> Callable:
    """Samples of two broadcast operands; `apart` keeps them different, away from ties."""

    def samples(rng: np.random.Generator):
        for first, second in PAIRS:
            x = rng.uniform(low, high, first)
            y = rng.uniform(low if low2 is None else low2, high if high2 is None else high2, second)
            if apart:
                x = np.round(x * 8) / 8
                y = np.round(y * 8) / 8 + 0.06
            yield (x, y), {}

    return samples


def _away(x: np.ndarray, kinks: tuple[float, ...]) -> np.ndarray:
    for kink in kinks:
        near = np.abs(x - kink) < 0.05
        x = np.where(near, kink + np.where(x >= kink, 0.05, -0.05), x)
    return np.asarray(x)
