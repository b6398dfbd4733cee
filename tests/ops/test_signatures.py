"""What each op has compiled: nothing in double precision for float32, and one kernel for operands of any layout."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.backend import seam
from forgenb.ops import TABLE, plans
from forgenb.testing.layouts import LAYOUTS
from forgenb.testing.samples import backward, call, differentiable, samples

NAMES = sorted(TABLE)
MOST = 3
COPY = "copy_kernel", {("float32",) * 3}
"""What closes gaps; the same kernel converts dtypes."""


def read_only(array):
    """A tensor of an array that cannot be written."""
    array = array.copy()
    array.flags.writeable = False
    return fnb.tensor(array)


class Asked(dict):
    """Launchers, and which of them were asked for since `seen` was cleared."""

    def __init__(self, launchers):
        super().__init__(launchers)
        self.seen = {}

    def get(self, key, default=None):
        _, kernel, real, storage = key
        self.seen.setdefault(kernel.name, set()).add((real, *storage))
        return super().get(key, default)


@pytest.fixture
def signatures(monkeypatch):
    """A function from an op and its operands to kernel -> the signatures that its forward and backward ask for."""
    asked = Asked(seam._LAUNCHERS)
    monkeypatch.setattr(seam, "_LAUNCHERS", asked)
    gemm = seam.gemm

    def product(backend, real, *arguments):
        asked.seen.setdefault("gemm", set()).add((real,))
        gemm(backend, real, *arguments)

    monkeypatch.setattr(seam, "gemm", product)

    def of(name, tensors, sample):
        asked.seen = {}
        for plan in (plans.MAPS, plans.ROWS):
            plan.clear()
        for place in differentiable(name, sample):
            tensors[place] = tensors[place].detach()
            tensors[place].requires_grad = True
        before = fnb.stats()
        backward(call(name, tensors, sample))
        run = fnb.stats().since(before)
        assert bool(asked.seen) >= bool(run.launches + run.products), "a launch was not seen"
        return asked.seen

    return of


def floats(name):
    """The first samples in float32, but those that ask for another dtype themselves."""
    return [s.cast("float32") for s in samples(name) if s.reals and "dtype" not in s.keywords][:MOST]


@pytest.mark.parametrize("name", NAMES)
def test_a_call_in_float32_has_no_double(name, signatures):
    for sample in floats(name):
        found = signatures(name, [fnb.tensor(a) for a in sample.arrays], sample)
        assert {k: v for k, v in found.items() if any("float64" in signature for signature in v)} == {}


@pytest.mark.parametrize("name", NAMES)
def test_one_signature_serves_operands_of_any_layout(name, signatures):
    """A copy may come first; but no kernel is compiled again because an operand lies otherwise or cannot be written."""
    for sample in [s for s in floats(name) if any(s.arrays[p].size > 1 for p in s.reals)]:
        straight = signatures(name, [fnb.tensor(a) for a in sample.arrays], sample)
        for place in sample.reals[TABLE[name].in_place :]:
            for label, layout in {**LAYOUTS, "read-only": read_only}.items():
                tensors = [fnb.tensor(a) for a in sample.arrays]
                tensors[place] = layout(sample.arrays[place])
                for kernel, found in signatures(name, tensors, sample).items():
                    allowed = straight.get(kernel, found if len(found) == 1 else set())
                    more = found - allowed
                    assert not more or (kernel, more) == COPY, f"{kernel} for operand {place} {label}"


def test_a_double_would_be_seen(signatures):
    x = samples("add")[1]
    found = signatures("add", [fnb.tensor(a) for a in x.arrays], x)
    assert found["add_kernel"] == {("float64",) * 4}
    assert np.dtype("float64") == x.arrays[0].dtype
