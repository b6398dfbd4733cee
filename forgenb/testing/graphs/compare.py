"""How far two outcomes of one graph are apart, relative to the scale of each tensor."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .graph import Graph, Step
from .run import Outcome

SMALL = 1e-3
"""Least scale: a gradient that is 0 in exact arithmetic, such as that of a sum of a softmax, is rounding alone."""


class Difference(NamedTuple):
    """The largest difference of two outcomes, and where it is."""

    size: float
    where: str


def relative(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest difference of any element, relative to the largest element; infinite for another shape or NaN."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return np.inf
    if found.dtype.kind != "f":
        return 0.0 if np.array_equal(found, wanted) else np.inf
    distance = np.max(np.abs(found - wanted), initial=0.0)
    return float(distance / max(np.max(np.abs(wanted), initial=0.0), SMALL)) if np.isfinite(distance) else np.inf


def difference(graph: Graph, found: Outcome, wanted: Outcome) -> Difference:
    """The largest of all values and gradients; a gradient that one of them lacks counts as zeros."""
    worst = Difference(0.0, "nowhere")
    makers = {number: e for e in graph.entries if isinstance(e, Step) for number in e.results}
    for number, value in found.values.items():
        worst = _larger(
            worst, relative(value, wanted.values[number]), f"value v{number} of {makers.get(number, 'leaf')}"
        )
    for leaf in graph.tracked:
        pair = [o.gradients[leaf.number] for o in (found, wanted)]
        ours, theirs = (np.zeros_like(leaf.array) if g is None else g for g in pair)
        worst = _larger(worst, relative(ours, theirs), f"gradient of v{leaf.number}")
    return worst


def _larger(worst: Difference, size: float, where: str) -> Difference:
    return Difference(size, where) if size > worst.size else worst
