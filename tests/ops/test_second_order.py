"""Second derivatives of every row of the op table, from its samples. No op of the table is named here.

A row that says no is to refuse by name. The checks are tried on rows of the test's own, with rules that are wrong.
"""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import TapeError
from forgenb.ops import TABLE
from forgenb.ops.table import op, unary
from forgenb.sweep import gradients
from forgenb.tape import record, refuse_tracked
from forgenb.testing.samples import bits, call, differentiable, samples

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


def check_refusal(name, sample):
    with pytest.raises(TapeError, match=name):
        Slope(name, sample).by_a_second_sweep()


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_second_derivatives_agree_with_differences_of_the_first_or_are_refused(name):
    for sample in chosen(name):
        (check if TABLE[name].second else check_refusal)(name, sample)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_recording_a_sweep_changes_no_bits_of_its_gradients(name):
    for sample in chosen(name)[:2]:
        slope = Slope(name, sample.cast("float32"))
        start = [a.astype("float32") for a in slope.start]
        plain, recorded = (slope.gradients(start, create_graph)[1] for create_graph in (False, True))
        assert bits(plain) == bits(recorded)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_in_float16_second_derivatives_have_its_dtype(name):
    """What is computed in a wider dtype comes back in its own."""
    sample = chosen(name)[0].cast("float16")
    slope = Slope(name, sample)
    moving, found = slope.gradients([a.astype("float16") for a in slope.start], TABLE[name].second)
    second = gradients([g for g in found if g is not None], [g.detach() for g in found if g is not None], moving, False)
    assert {t.dtype.name for t in (*found, *second) if t is not None} <= {"float16"}


# Rows of the test's own


def square_rule(x, dout):
    """The right gradient of a square."""
    return 2.0 * x * dout


def refusing_rule(x, dout):
    refuse_tracked("squared_grad", (x, dout))
    return 2.0 * x * dout


RULES = {
    "right": (square_rule, check, None),
    "an operand off the tape": (lambda x, dout: 2.0 * x.detach() * dout, check, "the second sweep gives"),
    "the cotangent off the tape": (lambda x, dout: 2.0 * x * dout.detach(), check, "the second sweep gives"),
    "refusing": (refusing_rule, check_refusal, None),
    "not refusing": (square_rule, check_refusal, "DID NOT RAISE"),
}


@pytest.mark.parametrize(("rule", "checked", "failure"), RULES.values(), ids=RULES)
def test_the_checks_see_a_rule_that_is_wrong(rule, checked, failure):
    def squared(x):
        """The square."""

        def backward(dout):
            return (rule(x, dout),)

        return record((x * x).detach(), (x,), backward)

    try:
        op(unary(-2, 2, ((3,),)), lambda x: x * x, second=checked is check)(squared)
        if failure is None:
            checked("squared", samples("squared")[0])
        else:
            with pytest.raises((AssertionError, pytest.fail.Exception), match=failure):
                checked("squared", samples("squared")[0])
    finally:
        del TABLE["squared"]
