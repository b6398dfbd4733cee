"""The forward derivative: right ones pass, a rule that is wrong as a function of its cotangent is found."""

import numpy as np
import pytest
from support.wrong_rules import draw

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, GradcheckError, TapeError
from forgenb.gradcheck.forward import check_forward
from forgenb.gradcheck.subject import Subject
from forgenb.ops.apply import run_map
from forgenb.ops.pointwise import square_kernel
from forgenb.tape import record


def doubled(t, factor):
    """Twice `t`, with a gradient that is wrong by `factor`."""

    def backward(dout):
        return (dout * (2 * factor),)

    return record((t.detach() * 2.0).detach(), (t,), backward)


def square(factor):
    """x**2 with a right gradient, whose own gradient by the cotangent is wrong by `factor`."""

    def of(t):
        def backward(dout):
            return (doubled(dout, factor) * t.detach(),)

        return record(run_map(square_kernel, (t.detach(),)), (t,), backward)

    return of


@pytest.mark.parametrize(
    "f",
    [lambda a, b: (ops.tanh(a @ b), a * a), lambda a, b: ops.softmax(a)[0] * b.sum(), square(1.0)],
    ids=["products", "softmax", "rule"],
)
def test_right_derivatives_pass(f):
    inputs = (draw(2, 3), draw(3, 2, seed=1))
    assert fnb.gradcheck(f, *inputs[: 1 if f.__name__ == "of" else 2], forward=True)


def test_modules_and_whole_numbers_pass():
    assert fnb.gradcheck(fnb.nn.Linear(3, 2, dtype="float64"), draw(4, 3), forward=True)
    assert fnb.gradcheck(lambda a, ids: a[ids], draw(3), np.array([0, 0, 2]), forward=True)


def test_a_rule_that_is_wrong_in_its_cotangent_only_shows_forward():
    assert fnb.gradcheck(square(1.01), draw(3))
    with pytest.raises(GradcheckError, match=r"entry \(\d,\) of output 0 forward gives .* differences give") as caught:
        fnb.gradcheck(square(1.01), draw(3), forward=True)
    assert caught.value.label == "output 0"
    np.testing.assert_allclose(caught.value.analytic, 1.01 * caught.value.numeric, rtol=1e-9)


def test_an_op_without_a_second_derivative_says_so():
    once = fnb.custom_op(lambda t: t * 3.0, lambda dout, t: dout * 3.0, second=False)
    assert fnb.gradcheck(once, draw(3))
    with pytest.raises(TapeError, match="second"):
        fnb.gradcheck(once, draw(3), forward=True)


def test_a_kink_along_the_direction_is_no_failure():
    with pytest.raises(ArgumentError, match="not differentiable here"):
        check_forward(Subject(ops.abs, (np.array([0.0, 1.0]),), 0), 1e-6, 0)


@pytest.mark.parametrize(
    "op", [ops.softmax, lambda x: ops.layernorm(x, fnb.tensor(np.ones(5)), fnb.tensor(np.zeros(5)))]
)
def test_what_a_function_does_not_depend_on_moves_it_by_rounding_only(op):
    for seed in range(10):
        c = fnb.tensor(draw(3, 5, seed=seed))
        assert fnb.gradcheck(lambda a, c=c: op(c + a), draw(seed=seed), forward=True, seed=seed)
