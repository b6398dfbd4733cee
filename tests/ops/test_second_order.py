"""Second derivatives of every row of the op table, from its samples. No op of the table is named here."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.ops import TABLE
from forgenb.sweep import gradients
from forgenb.testing.samples import call, differentiable, samples

DIFFERENTIABLE = [name for name in sorted(TABLE) if TABLE[name].differentiable and not TABLE[name].in_place]
ELEMENTS = 150
TOLERANCE = 1e-6


def draw(rng, shape):
    """Numbers of either sign and none near 0."""
    return rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape)


def chosen(name):
    """Samples with something to differentiate, small enough to be cheap, by size."""
    found = [s for s in samples(name) if differentiable(name, s) and all(a.size for a in s.arrays)]
    found.sort(key=lambda s: sum(a.size for a in s.arrays))
    return [s for s in found if sum(a.size for a in s.arrays) <= ELEMENTS] or found[:1]


class Slope:
    """The first gradient of one sample, as a function of its operands and cotangents, along one random line."""

    def __init__(self, name, sample):
        self.name, self.sample, self.places = name, sample, differentiable(name, sample)
        rng = np.random.default_rng(1)
        outputs = [t for t in call(name, [fnb.tensor(a) for a in sample.arrays], sample) if t.dtype.kind == "f"]
        self.start = [*(sample.arrays[p] for p in self.places), *(draw(rng, t.shape) for t in outputs)]
        self.line = [draw(rng, a.shape) for a in self.start]
        self.weights = [draw(rng, sample.arrays[p].shape) for p in self.places]

    def gradients(self, arrays, create_graph):
        moving = [fnb.tensor(a, requires_grad=True) for a in arrays]
        inputs, cotangents = moving[: len(self.places)], moving[len(self.places) :]
        operands = [fnb.tensor(a) for a in self.sample.arrays]
        for place, value in zip(self.places, inputs, strict=True):
            operands[place] = value
        outputs = [t for t in call(self.name, operands, self.sample) if t.dtype.kind == "f"]
        return moving, gradients(outputs, cotangents, inputs, create_graph)

    def at(self, step):
        _, found = self.gradients([a + step * d for a, d in zip(self.start, self.line, strict=True)], False)
        return sum(np.vdot(g.numpy(), w) for g, w in zip(found, self.weights, strict=True) if g is not None)

    def by_differences(self, h=1e-3):
        wide, narrow = ((self.at(step) - self.at(-step)) / (2 * step) for step in (h, h / 2))
        return (4 * narrow - wide) / 3

    def by_a_second_sweep(self):
        """The derivative along the line, and the size of its terms."""
        moving, found = self.gradients(self.start, True)
        second = gradients(
            [g for g in found if g is not None],
            [fnb.tensor(w) for g, w in zip(found, self.weights, strict=True) if g is not None],
            moving,
            create_graph=False,
        )
        terms = [g.numpy() * d for g, d in zip(second, self.line, strict=True) if g is not None]
        return sum(t.sum() for t in terms), sum(np.abs(t).sum() for t in terms)


def check(name, sample):
    slope = Slope(name, sample)
    found, size = slope.by_a_second_sweep()
    wanted = slope.by_differences()
    assert abs(found - wanted) <= TOLERANCE * max(size, 1e-3), (
        f"{name} of {sample.shapes}: the second sweep gives {found:.9g}, differences of the first {wanted:.9g}"
    )


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_second_derivatives_agree_with_differences_of_the_first(name):
    for sample in chosen(name):
        check(name, sample)
