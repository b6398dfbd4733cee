"""Gradients of the table's ops agree with the complex step of their NumPy references to the last digits.

Differences tell a wrong constant from the right one to about 1e-9; this tells them to 1e-13.
"""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.gradcheck.reference import complex_gradient, furthest
from forgenb.gradcheck.slopes import Slopes
from forgenb.gradcheck.subject import Subject, signed
from forgenb.ops import TABLE
from forgenb.testing.samples import call, differentiable, samples

CLOSE = 1e-13
DIFFERENTIABLE = [name for name in sorted(TABLE) if TABLE[name].differentiable and not TABLE[name].in_place]
REAL_ONLY = {
    "abs", "avg_pool2d_grad", "batchnorm", "bce_with_logits", "bce_with_logits_grad", "conv2d_input_grad", "erf",
    "floor", "gelu", "gelu_erf", "gelu_erf_grad", "gelu_grad", "groupnorm", "groupnorm_grad", "huber", "huber_loss",
    "l1_loss", "layernorm", "layernorm_grad", "logsigmoid", "rope", "scatter_add", "scatter_add_along_axis",
    "sigmoid", "sign", "silu", "silu_grad", "softplus", "std", "undiagonal", "unslice", "var",
}  # fmt: skip
"""References that leave the complex numbers by one operand at least: by comparisons, `abs`, `var` or real buffers."""


def at_places(function, arrays, places):
    """A function of the operands that have a gradient, the others as they are."""

    def moving(*values):
        operands = list(arrays)
        for place, value in zip(places, values, strict=True):
            operands[place] = value
        return function(operands)

    return moving


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_agree_with_the_complex_step(name):
    agreed, refused = 0, 0
    for sample in samples(name)[:3]:
        places = differentiable(name, sample)
        op = at_places(
            lambda o, s=sample: call(name, [fnb.tensor(a) if type(a) is np.ndarray else a for a in o], s),
            sample.arrays,
            places,
        )
        reference = at_places(lambda o, s=sample: TABLE[name].reference(*o, **s.keywords), sample.arrays, places)
        subject = Subject(op, [sample.arrays[p] for p in places], 0)
        if not subject.floats:
            continue
        outputs, pull = subject.pullback()
        rng = np.random.default_rng(0)
        slopes = Slopes(subject, outputs, [signed(rng, y.shape) for y in outputs])
        for number, gradient in zip(subject.floats, pull(slopes.cotangents), strict=True):
            exact = complex_gradient(reference, slopes, number, rng)
            refused += exact is None
            if exact is not None:
                agreed += 1
                assert furthest(number, np.zeros(exact.shape) if gradient is None else gradient, exact, CLOSE) is None
    assert agreed or refused
    assert bool(refused) == (name in REAL_ONLY)
