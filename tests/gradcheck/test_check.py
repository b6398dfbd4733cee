"""gradcheck accepts right gradients, names wrong entries, and says where there is no gradient to check."""

import numpy as np
import pytest
from support.wrong_rules import draw, numpy_op, softmax

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, DTypeError, GradcheckError, TapeError
from forgenb.ops.apply import run_map
from forgenb.ops.arithmetic import scale
from forgenb.ops.pointwise import square_kernel
from forgenb.tape import record

x = np.array([0.3, -1.2, 0.7])


def faulty_square(factor):
    """x**2 with a gradient that is wrong by `factor`."""

    def square(t):
        def backward(dout):
            return (scale(dout * t, 2 * factor),)

        return record(run_map(square_kernel, (t,)), (t,), backward)

    return square


def test_right_gradients_pass():
    assert fnb.gradcheck(lambda a, b: ops.tanh(a * b).sum(), x, fnb.tensor(np.array(0.5)))
    assert fnb.gradcheck(lambda a: (ops.exp(a), a * a), x)
    assert fnb.gradcheck(lambda a, ids: a[ids], x, np.array([0, 0, 2]))
    assert fnb.gradcheck(faulty_square(1.0), x)


@pytest.mark.parametrize("factor", [0, -1, 1.01, 1 + 2e-6])
def test_a_wrong_gradient_is_named(factor):
    with pytest.raises(TapeError, match=r"entry \(\d,\) of input 0 backward gives .* and differences give"):
        fnb.gradcheck(faulty_square(factor), x)


@pytest.mark.parametrize("seed", range(5))
def test_rules_that_a_check_with_ones_accepts_are_rejected(seed):
    """A derivative of log(a + 1e5) that is zero, a transpose that is not turned back, a softmax without gradient."""
    for f, rule, shape in (
        (lambda a: np.log(a + 1e5), lambda d, a: 0 * d, (1,)),
        (np.transpose, lambda d, a: d, (3, 3)),
        (softmax, lambda d, a: 0 * d, (2, 3)),
    ):
        with pytest.raises(GradcheckError, match="zero|transpose"):
            fnb.gradcheck(numpy_op(f, rule), draw(*shape, seed=seed), seed=seed)


def test_a_small_gradient_that_is_right_passes():
    assert fnb.gradcheck(numpy_op(lambda a: np.log(a + 1e5), lambda d, a: d / (a + 1e5)), draw(4))


def test_a_rule_that_differs_by_more_than_the_tolerance_at_one_entry_is_found_whatever_the_directions():
    for seed in range(8):
        weight = np.ones(40)
        weight[seed] += 3e-6
        with pytest.raises(GradcheckError, match=rf"entry \({seed},\)"):
            fnb.gradcheck(numpy_op(lambda a: a * 1.0, lambda d, a, w=weight: d * w), np.ones(40), seed=seed)


def test_one_wrong_entry_among_thousands_is_found():
    weight = np.ones(5000)
    weight[4321] = 1.001
    wrong = numpy_op(lambda a: a * 1.0, lambda d, a: d * weight)
    with pytest.raises(GradcheckError, match=r"entry \(4321,\) of input 0"):
        fnb.gradcheck(wrong, np.linspace(-1, 1, 5000))


def test_second_order_is_checked_where_it_is_asked_for():
    assert fnb.gradcheck(lambda a, b: ops.exp(a * b) * a, x, x[::-1], order=2)
    wrong = fnb.custom_op(lambda a: a * a * a, lambda dout, a: dout * 3.0 * (a * a.detach()))
    assert fnb.gradcheck(wrong, x)
    with pytest.raises(GradcheckError, match="second order, at entry .* a factor 2 is missing"):
        fnb.gradcheck(wrong, x, order=2)
    with pytest.raises(ArgumentError, match="order=3: 1 checks gradients, 2"):
        fnb.gradcheck(wrong, x, order=3)


def test_second_order_where_there_is_no_rule_says_so_by_name():
    once = fnb.custom_op(lambda a: a * a, lambda dout, a: dout * a * 2.0, second=False)
    with pytest.raises(TapeError, match="custom_op has no backward rule"):
        fnb.gradcheck(once, x, order=2)
    assert fnb.gradcheck(lambda a: ops.layernorm(a, a[0], a[0]), np.arange(6.0).reshape(2, 3) ** 2, order=2)


@pytest.mark.parametrize(
    ("f", "at"),
    [
        (ops.relu, [0.5, 1e-4, -1e-5]),
        (ops.log, [1.0, 1e-6, 1e-3]),
        (ops.sqrt, [2.0, 1e-5]),
        (lambda a: a + 1.0, [1e-8, 2e-8]),
        (ops.square, [1e6, -2e6]),
        (ops.sin, [1e4, 2e4]),
        (lambda a: 1 / a, [1e-4, 3.0]),
        (lambda a: a * 0.0, [1.0, 2.0]),
    ],
)
def test_the_step_fits_the_input(f, at):
    """A kink or pole nearby makes it shrink, rounding makes it grow."""
    assert fnb.gradcheck(f, np.array(at))


def test_a_gradient_that_is_not_a_number_is_wrong():
    with pytest.raises(GradcheckError, match="backward gives nan"):
        fnb.gradcheck(numpy_op(lambda a: a * a, lambda d, a: d * a * [2, np.nan, 2]), x)


def test_the_tolerance_counts():
    assert fnb.gradcheck(faulty_square(1.01), x, tolerance=0.02)


def test_one_wrong_entry_among_many_is_found():
    weight = np.ones(150)
    weight[71] = 1.001

    def f(t):
        def backward(dout):
            return (dout * fnb.tensor(weight),)

        return record(scale(t.detach(), 1.0), (t,), backward)

    with pytest.raises(TapeError, match=r"entry \(71,\) of input 0"):
        fnb.gradcheck(f, np.linspace(-1, 1, 150))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_short_dtypes_are_refused_with_advice(dtype):
    """P51."""
    with pytest.raises(DTypeError, match=rf"input 1 of dtype {dtype}.*float64"):
        fnb.gradcheck(ops.mul, x, x.astype(dtype))


@pytest.mark.parametrize(
    ("f", "at"),
    [
        (ops.relu, 0.0),
        (ops.abs, 0.0),
        (lambda t: ops.maximum(t, 1.0), 1.0),
        (lambda t: ops.clip(t, -1.0, 1.0), -1.0),
        (ops.sqrt, 0.0),
        (ops.log, 0.0),
        (lambda t: ops.where(t >= 0.0, t + 1, t), 0.0),
    ],
)
def test_a_kink_is_neither_passed_nor_failed(f, at):
    """P55."""
    with pytest.raises(
        ArgumentError, match=r"not differentiable here: at entry \(1,\) of input 0 the slope to the right"
    ):
        fnb.gradcheck(f, np.array([0.5, at, 0.25]))
    assert fnb.gradcheck(f, np.array([0.5, 0.35, 0.25]))


def test_an_untracked_result_is_an_error():
    with pytest.raises(TapeError, match="no output of the function is tracked"):
        fnb.gradcheck(lambda t: t.detach() * 2.0, x)


def test_nothing_to_check_is_an_error():
    with pytest.raises(ArgumentError, match="no float input"):
        fnb.gradcheck(lambda ids: ids, np.array([1, 2]))


def test_inputs_are_left_alone():
    t = fnb.tensor(x, requires_grad=True)
    before = np.random.get_state(legacy=False)["state"]["key"].copy()
    assert fnb.gradcheck(ops.square, t)
    assert t.grad is None
    assert t.tolist() == x.tolist()
    assert (np.random.get_state(legacy=False)["state"]["key"] == before).all()
