"""Section E: a check of gradients that rejects what is wrong; P53, weight decay, is with the optimisers."""

import contextlib
import sys

import pytest
from support.small import small

import forgenb as fnb
from forgenb.errors import ForgeError
from forgenb.gradcheck.diagnosis import Diagnosis
from forgenb.ops import TABLE
from forgenb.tape import recording
from forgenb.testing.samples import call, cotangent, differentiable, several

NAMES = [name for name, row in TABLE.items() if row.differentiable and not row.in_place]
FLAT = ["sign", "floor"]
"""Ops whose gradient is 0 wherever they have one, so that any multiple of it is right."""
NUMBERS = ["lstm_cell_grad", "gru_cell_grad"]
"""Ops in whose formulas only numbers are broadcast, and nobody sees the gradient of a number."""


@pytest.fixture(autouse=True)
def _no_search_for_names(monkeypatch):
    """What is wrong is known here; looking for its name takes longer than finding it wrong."""
    monkeypatch.setattr(sys.modules["forgenb.gradcheck.check"], "diagnose", lambda *given: Diagnosis(None, "", ""))


def problems(name):
    """(function of the inputs that have a gradient, these inputs) for each sample that holds something, by size."""
    for sample in sorted(small(name), key=lambda s: sum(a.size for a in s.arrays)):
        places = differentiable(name, sample)
        if places and all(a.size for a in sample.arrays):

            def f(*moving, sample=sample, places=places):
                tensors = [fnb.tensor(a) for a in sample.arrays]
                for place, value in zip(places, moving, strict=True):
                    tensors[place] = value
                return call(name, tensors, sample)

            yield f, [sample.arrays[place] for place in places]


def spoiled(f, spoil):
    """`f` with a rule that changes the list of its gradients."""

    def backward(*given):
        count = len(several(f(*inputs)))
        leaves = [t.detach() for t in given[count:]]
        for t in leaves:
            t.requires_grad = True
        with recording(True):
            outputs = several(f(*leaves))
        for out, dout in zip(outputs, given, strict=False):
            if dout is not None and out.requires_grad:
                out.backward(dout, retain_graph=True)
        return tuple(spoil([t.grad for t in leaves]))

    def checked(*moving):
        nonlocal inputs
        inputs = moving
        return fnb.custom_op(f, backward)(*moving)

    inputs = ()
    return checked


def gradients_of(f, inputs):
    with fnb.use("python"), contextlib.suppress(ForgeError):  # a gradient of the wrong shape
        for out in several(f(*(fnb.tensor(a, requires_grad=True) for a in inputs))):
            if out.requires_grad:
                out.backward(cotangent(out), retain_graph=True)


def rejects(f, inputs, name):
    with fnb.use("python"):  # compiles nothing
        try:
            fnb.gradcheck(f, *inputs, tolerance=TABLE[name].gradient_tolerance)
        except ForgeError:
            return True
    return False


def times(factor):
    return lambda found: [None if g is None else g * factor for g in found]


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_factor_is_rejected(name):
    """P49: for every op, on one of its samples at least, since dropout may drop all of one."""
    found = list(problems(name))
    assert not rejects(spoiled(found[0][0], times(1.0)), found[0][1], name)
    for factor in (0.0, 1.01):
        assert any(rejects(spoiled(f, times(factor)), inputs, name) for f, inputs in found) == (name not in FLAT)


@pytest.mark.parametrize("name", [name for name in NAMES if len(TABLE[name].differentiable) > 1])
def test_swapped_gradients_are_rejected(name):
    """P49: on one of its samples at least, since both gradients of a sum are the same where nothing broadcasts."""
    found = [(f, inputs) for f, inputs in problems(name) if len(inputs) > 1]
    assert any(rejects(spoiled(f, lambda g: [g[1], g[0], *g[2:]]), inputs, name) for f, inputs in found)


@pytest.mark.parametrize("name", NAMES)
def test_a_sum_that_is_left_out_is_rejected(name, monkeypatch):
    """P49: the sum over the axes along which an operand was broadcast."""
    left_out = []

    def without_sum(t, shape):
        left_out.extend([t.shape] if t.shape != shape else [])
        return t

    for module in [m for label, m in sys.modules.items() if label.startswith("forgenb.") and hasattr(m, "sum_to")]:
        monkeypatch.setattr(module, "sum_to", without_sum)
    for f, inputs in problems(name):
        gradients_of(f, inputs)
        if left_out:
            assert rejects(f, inputs, name) == (name not in NUMBERS)
            break
