"""Every row of the op table in a routine: the bits of the eager op and of its gradients. No op is named here."""

import pytest

import forgenb as fnb
from forgenb.ops import TABLE
from forgenb.routine import compile
from forgenb.testing.samples import bits, call, differentiable, samples

MOST = 4


def recordable(name, found):
    """Those whose ids do not count from the end and whose operands and results hold something.

    A routine reads its ids anew in each run, so that they must not be negative.
    """
    found = [s.cast("float32") for s in found if all(a.size for a in s.arrays)]
    found = [s for s in found if s.reals and not any(a.dtype.kind == "i" and (a < 0).any() for a in s.arrays)]
    return [s for s in found if all(t.size for t in call(name, map(fnb.tensor, s.arrays), s))]


def elements(sample):
    """How many numbers all operands have."""
    return sum(a.size for a in sample.arrays)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_a_routine_has_the_bits_of_eager(name, each_backend):
    """Several samples on the CPU; elsewhere the smallest one, but for those of a few elements."""
    found = recordable(name, samples(name))
    if each_backend != "cpu":
        found = sorted(found, key=lambda sample: (elements(sample) < 6, elements(sample)))[:1]
    assert found
    for sample in found[:MOST]:
        places = differentiable(name, sample)

        def step(*arrays, sample=sample, places=places):
            tensors = list(arrays)
            for place in places:
                tensors[place] = tensors[place].detach()
                tensors[place].requires_grad = True
            if TABLE[name].in_place:
                tensors[0] = tensors[0].copy()
            outputs = call(name, tensors, sample)
            for out in outputs:
                if out.requires_grad:
                    (out * out).sum().backward(retain_graph=True)
            return (*outputs, *(tensors[place].grad for place in places))

        wanted = bits(step(*map(fnb.tensor, sample.arrays)))
        run = compile(step)
        for _ in range(2):
            again = run(*sample.arrays)
            assert bits(again if isinstance(again, tuple) else (again,)) == wanted, sample.shapes
