"""One sample of an op to show: small, with more than one element, and as a function of the operands that have slopes.

Everything runs on the backend that interprets kernels, which has nothing to compile.
"""

import inspect
from typing import NamedTuple

import numpy as np

from forgenb.creation import tensor
from forgenb.ops import TABLE
from forgenb.testing.mutation.rules import BACKEND, rule_of
from forgenb.testing.samples import Sample, call, differentiable, samples

__all__ = ["BACKEND", "Shown", "shown"]

MOST = 64
"""Elements of all operands of a sample that is small."""
CHOSEN = {
    "assign_": 2, "attention": 0, "attention_grad": 3, "broadcast_to": 0, "cached_attention": 2, "einsum": 7,
    "getitem": 10, "gru_cell": 1, "kv_append": 0, "lstm_cell_grad": 1, "pow_number_grad": 3, "squeeze": 2,
    "unslice": 10,
}  # fmt: skip
"""Samples of a row that show more than the first that would do, by their places."""


class Shown(NamedTuple):
    """A sample of an op, the places of its operands with a gradient, and the names of all."""

    op: str
    sample: Sample
    places: list[int]
    names: list[str]

    @property
    def values(self) -> list[np.ndarray]:
        """The operands with a gradient."""
        return [self.sample.arrays[place] for place in self.places]

    @property
    def call(self) -> str:
        """The call as it would be written, with shapes in place of operands."""
        operands = [f"{name}{list(a.shape)}" for name, a in zip(self.names, self.sample.arrays, strict=True)]
        settings = [f"{name}={value!r}" for name, value in self.sample.keywords.items()]
        return f"{self.op}({', '.join([*operands, *settings])})"

    def run(self, *moving):
        """The results for tensors in the places that have a gradient."""
        tensors = [tensor(a) for a in self.sample.arrays]
        for place, value in zip(self.places, moving, strict=True):
            tensors[place] = value
        return call(self.op, tensors, self.sample)


def shown(name: str) -> Shown:
    """A chosen sample of a row, or the first that is small and tells most: a matrix, else a vector, else anything."""
    found = samples(name)
    sample = found[CHOSEN[name]] if name in CHOSEN else min(found, key=lambda s: _dullness(name, s))
    places = differentiable(name, sample)
    if not places and rule_of(name).parts:  # `astype` has a rule, which differences of shorter floats cannot show
        places = [p for p in sample.reals if sample.arrays[p].dtype == np.float64]
    return Shown(name, sample, places, _names(name, len(sample.arrays)))


def _dullness(name: str, sample: Sample) -> tuple[bool, bool, int]:
    sizes = [a.size for a in sample.arrays]
    axes = max(sum(extent > 1 for extent in sample.arrays[p].shape) for p in _looked_at(name, sample))
    return not (min(sizes) and sum(sizes) <= MOST), not sample.reals, -min(axes, 2)


def _looked_at(name: str, sample: Sample) -> list[int]:
    return differentiable(name, sample) or list(range(len(sample.arrays)))


def _names(name: str, count: int) -> list[str]:
    """The parameters that operands are given as; those of ``*tensors`` are numbered."""
    found = []
    for parameter in inspect.signature(TABLE[name].function).parameters.values():
        several = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        found += [f"{parameter.name}[{i}]" for i in range(count)] if several else [parameter.name]
    return found[:count]
