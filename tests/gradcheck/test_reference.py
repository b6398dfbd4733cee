"""The complex step of a reference tells what differences cannot, and is not used where NumPy drops imaginary parts."""

import numpy as np
import pytest
from support.wrong_rules import draw, numpy_op, sigmoid, softmax, softmax_rule

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, GradcheckError
from forgenb.gradcheck.reference import complex_gradient
from forgenb.gradcheck.slopes import Slopes
from forgenb.gradcheck.subject import Subject

x = draw(2, 3)


def by_complex_step(f, reference, *inputs):
    subject = Subject(f, inputs, 0)
    outputs, pull = subject.pullback()
    cotangents = [np.ones(y.shape) for y in outputs]
    found = complex_gradient(reference, Slopes(subject, outputs, cotangents), 0, np.random.default_rng(0))
    return found, pull(cotangents)[0]


def test_an_error_too_small_for_differences_is_found():
    wrong = numpy_op(np.sin, lambda d, a: d * np.cos(a) * (1 + 1e-9))
    assert fnb.gradcheck(wrong, x)
    assert fnb.gradcheck(wrong, x, reference=np.sin)
    with pytest.raises(GradcheckError, match="apart by 1e-09 of the largest entry; the tolerance is 1e-12"):
        fnb.gradcheck(wrong, x, tolerance=1e-12, reference=np.sin)


def test_right_rules_are_right_to_the_last_digits():
    assert fnb.gradcheck(ops.softmax, x, tolerance=1e-13, reference=softmax)
    assert fnb.gradcheck(ops.matmul, x, draw(3, 4), tolerance=1e-13, reference=np.matmul)
    assert fnb.gradcheck(lambda a: (ops.exp(a), a * a), x, tolerance=1e-13, reference=lambda a: (np.exp(a), a * a))


def test_large_mistakes_keep_their_names():
    with pytest.raises(GradcheckError, match="a sum inside the rule is a mean"):
        fnb.gradcheck(numpy_op(softmax, softmax_rule(np.mean)), x, tolerance=1e-12, reference=softmax)


@pytest.mark.parametrize(
    ("f", "reference"),
    [(ops.abs, np.abs), (ops.sigmoid, lambda a: sigmoid(np.asarray(a, float))), (ops.exp, lambda a: np.exp(a.real))],
    ids=["drops it", "refuses it", "never looks"],
)
def test_where_the_imaginary_part_is_dropped_differences_decide(f, reference):
    assert by_complex_step(f, reference, x)[0] is None
    assert fnb.gradcheck(f, x, reference=reference)


def test_the_complex_step_itself():
    found, pulled = by_complex_step(ops.tanh, np.tanh, x)
    np.testing.assert_allclose(found, 1 - np.tanh(x) ** 2, rtol=1e-14)
    np.testing.assert_allclose(found, pulled, rtol=1e-13)


@pytest.mark.parametrize("reference", [np.cos, lambda a: np.sin(a)[0]])
def test_another_function_is_refused(reference):
    with pytest.raises(ArgumentError, match="a reference that is another function"):
        fnb.gradcheck(ops.sin, x, reference=reference)
