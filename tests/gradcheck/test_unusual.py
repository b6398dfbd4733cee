"""gradcheck of functions and inputs that are unusual: no tensors, chance, infinities, extreme sizes, other threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support.wrong_rules import draw, numpy_op

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, GradcheckError
from forgenb.gradcheck.slopes import STEP

x = np.array([0.3, -1.2, 0.7])


def cube(a):
    return a * a * a


@pytest.mark.parametrize(
    "f", [lambda a: None, lambda a: 3.0, lambda a: a.numpy(), lambda a: {"y": a}, lambda a: (cube(a), None)]
)
def test_results_that_are_no_tensors_are_refused(f):
    kind = "NoneType|float|ndarray|dict"
    with pytest.raises(
        ArgumentError, match=f"gradcheck needs a function that returns a tensor .* got ({kind}): return"
    ):
        fnb.gradcheck(f, x)


def test_results_may_be_tuples_of_tuples():
    assert fnb.gradcheck(fnb.nn.LSTM(3, 2), draw(2, 3, 3), forward=True)
    wrong = numpy_op(lambda a: a * a, lambda d, a: d * a)
    with pytest.raises(GradcheckError, match=r"the outputs have \(3,\), \(3,\)"):
        fnb.gradcheck(lambda a: (cube(a), [wrong(a)]), x)


def test_nothing_at_all_passes():
    for order in (1, 2):
        assert fnb.gradcheck(cube, np.zeros((0, 3)), order=order, forward=True)
        assert fnb.gradcheck(lambda a: cube(a)[0:0], x, order=order, forward=True)


@pytest.mark.parametrize("tolerance", [-1e-6, np.nan, np.inf])
def test_a_tolerance_that_no_number_meets_is_refused(tolerance):
    with pytest.raises(ArgumentError, match="gradcheck got tolerance=.* a number of at least 0"):
        fnb.gradcheck(cube, x, tolerance=tolerance)


def test_a_check_records_inside_no_grad():
    with fnb.no_grad():
        assert fnb.gradcheck(cube, x, order=2, forward=True)
        with pytest.raises(GradcheckError, match="backward gives"):
            fnb.gradcheck(numpy_op(lambda a: a * a, lambda d, a: d * a), x)
        assert not (fnb.tensor(x, requires_grad=True) * 2.0).requires_grad


@pytest.mark.parametrize("f", [lambda a: a * 2.0, lambda a: a, lambda a: a[1:].sum()])
def test_a_linear_function_has_a_second_derivative_of_zero(f):
    assert fnb.gradcheck(f, x, order=2)


def test_chance_is_named_and_not_taken_for_a_kink():
    rng = np.random.default_rng(0)
    for f in (lambda a: cube(a) * float(rng.uniform(1, 2)), fnb.nn.Dropout(0.5)):
        with pytest.raises(ArgumentError, match="gives other outputs when it is called again with the same inputs"):
            fnb.gradcheck(f, x)
    assert fnb.gradcheck(lambda a: ops.dropout(a, 0.5, seed=3), x)


def test_an_infinite_gradient_is_not_accepted():
    """An infinite scale would make every error small; an infinite input has no step."""
    with pytest.raises(GradcheckError, match=r"entry \(1,\) of input 0 backward gives -?inf"):
        fnb.gradcheck(lambda a: a * a, np.array([1.0, np.inf]))
    assert fnb.gradcheck(ops.softmax, np.array([1.0, -np.inf, 2.0]), forward=True)


@pytest.mark.parametrize("seed", range(4))
def test_what_rounding_leaves_of_no_gradient_is_no_kink(seed):
    """A softmax does not see a shift, a layer norm no common one, attention no bias of its keys."""
    a, shift = draw(3, 4, seed=seed), draw(3, 1, seed=seed + 50)
    assert fnb.gradcheck(lambda a, b: ops.softmax(a + b), a, shift, seed=seed)
    assert fnb.gradcheck(lambda a, b: ops.layernorm(a + b, np.ones(4), np.zeros(4)), a, shift, seed=seed)
    assert fnb.gradcheck(fnb.nn.MultiHeadAttention(4, 2), draw(1, 3, 4, seed=seed), seed=seed)


def test_a_small_gradient_beside_large_outputs_is_still_checked():
    for f in (lambda a: a * 1e-6 + 1.0, lambda a: (a * 1e-3, fnb.tensor([1e9], dtype="float64"))):
        assert fnb.gradcheck(f, x)
    for rule in (lambda d, a: d * 0.0, lambda d, a: d * 1.0001e-6):
        with pytest.raises(GradcheckError, match="backward gives"):
            fnb.gradcheck(numpy_op(lambda a: a * 1e-6 + 1.0, rule), x)


def test_outputs_beyond_all_numbers_are_reported():
    with pytest.raises(GradcheckError, match="Usual mistakes are tried where all derivatives are finite"):
        fnb.gradcheck(lambda a: a * a, x * 1e200)


def test_a_step_out_of_all_numbers_is_not_accepted():
    """Where one step meets an infinity, rounding relative to it would excuse everything."""
    ends = numpy_op(lambda a: np.where(a > 1 + 0.75 * STEP, np.inf, a), lambda d, a: d * 0.0)
    with pytest.raises(ArgumentError, match="not differentiable here"):
        fnb.gradcheck(ends, np.array([1.0]))


def test_forward_steps_fit_each_input():
    for size in (1e-100, 1e-8, 1e6, 1e100):
        assert fnb.gradcheck(cube, x * size, forward=True)
    assert fnb.gradcheck(lambda a, b: ops.sin(a * 1e-6) * b, x * 1e6, x * 1e-8, forward=True)


def test_forward_leaves_infinite_constants_and_rounding_aside():
    constants = fnb.tensor([-np.inf, 1.0], dtype="float64")
    assert fnb.gradcheck(lambda a: (cube(a), constants), x, forward=True)
    assert fnb.gradcheck(lambda a: a * a + 1e6, x, forward=True)


def test_a_reference_may_write_into_its_arguments():
    def reference(a):
        found = a**3
        a[...] = 0
        return found

    assert fnb.gradcheck(cube, x, tolerance=1e-12, reference=reference)


def test_a_reference_may_be_no_number_where_the_function_is_none():
    with pytest.raises(ArgumentError, match="not differentiable here"):
        fnb.gradcheck(ops.log, np.array([-1.0, 1.0]), reference=np.log)
    with pytest.raises(ArgumentError, match="a reference that is another function"):
        fnb.gradcheck(cube, 2.0, reference=lambda a: None)


def test_one_module_is_checked_in_several_threads():
    module = fnb.nn.Linear(3, 2)
    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(lambda seed: fnb.gradcheck(module, draw(2, 3, seed=seed)), range(12)))
