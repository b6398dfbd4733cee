"""grad, value_and_grad and custom_op."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError, DTypeError, TapeError


def f64(data):
    return fnb.tensor(data, dtype="float64")


def cube(x):
    return x * x * x


def test_grad_of_plain_numbers_and_tensors():
    assert fnb.grad(cube)(2.0).item() == 12.0
    found = fnb.grad(lambda x: (x * x).sum())(np.array([[1.0, 2.0]]))
    assert (found.tolist(), found.dtype.name) == ([[2.0, 4.0]], "float64")


def test_value_and_grad_gives_both_and_keeps_the_signature():
    both = fnb.value_and_grad(cube)
    value, slope = both(f64(2.0))
    assert (value.item(), slope.item(), both.__name__) == (8.0, 12.0, "cube")
    assert not value.requires_grad
    assert not slope.requires_grad


def test_several_arguments_in_the_order_asked_for():
    f = lambda x, y, scale=1.0: (x * y * y * scale).sum()  # noqa: E731
    x, y = f64([1.0, 2.0]), f64([3.0, 4.0])
    assert fnb.grad(f, 1)(x, y).tolist() == [6.0, 16.0]
    assert fnb.grad(f, -1)(x, y).tolist() == [6.0, 16.0]
    dy, dx = fnb.grad(f, (1, 0))(x, y, scale=2.0)
    assert (dx.tolist(), dy.tolist()) == ([18.0, 32.0], [12.0, 32.0])


def test_derivatives_nest():
    at, derivative = 2.0, cube
    for expected in (12.0, 12.0, 6.0, 0.0):
        derivative = fnb.grad(derivative)
        assert derivative(f64(at)).item() == expected


def test_nesting_through_a_captured_variable():
    mixed = fnb.grad(lambda x: fnb.grad(lambda y: x * x * y * y)(f64(3.0)))
    assert mixed(f64(2.0)).item() == 24.0


def test_perturbations_are_not_confused():
    f = lambda x: x * fnb.grad(lambda y: x + y)(f64(1.0))  # noqa: E731
    assert fnb.grad(f)(f64(1.0)).item() == 1.0


def test_a_gradient_by_tracked_arguments_can_be_swept():
    x = fnb.tensor(2.0, dtype="float64", requires_grad=True)
    slope = fnb.grad(cube)(x)
    assert x.grad is None
    slope.backward()
    assert x.grad.item() == 12.0


def test_no_leaf_gets_a_gradient_and_no_outer_graph_is_consumed():
    w = fnb.tensor(3.0, dtype="float64", requires_grad=True)
    squared = w * w
    assert fnb.grad(lambda x: x * squared)(f64(2.0)).item() == 9.0
    assert w.grad is None
    squared.backward()
    assert w.grad.item() == 6.0


def test_grad_works_under_no_grad_and_is_then_plain():
    x = fnb.tensor(2.0, dtype="float64", requires_grad=True)
    with fnb.no_grad():
        slope = fnb.grad(cube)(x)
    assert slope.item() == 12.0
    assert not slope.requires_grad


def test_a_gradient_is_zero_where_the_function_does_not_depend():
    assert fnb.grad(lambda x, y: (x * x).sum(), 1)(f64(1.0), f64([2.0, 3.0])).tolist() == [0.0, 0.0]
    assert fnb.grad(lambda x: f64(1.0))(f64([2.0])).tolist() == [0.0]


def test_gradients_do_not_share_memory():
    dx, dy = fnb.grad(lambda x, y: (x + y).sum(), (0, 1))(f64([1.0, 2.0]), f64([1.0, 2.0]))
    assert dx.memory is not dy.memory


def test_the_same_tensor_twice_is_two_variables():
    x = f64(3.0)
    dx, dy = fnb.grad(lambda a, b: a * a * b, (0, 1))(x, x)
    assert (dx.item(), dy.item()) == (18.0, 9.0)


def test_misuse_is_refused():
    with pytest.raises(ArgumentError, match="one element, got shape \\(2,\\): sum it first"):
        fnb.grad(lambda x: x * 2.0)(f64([1.0, 2.0]))
    with pytest.raises(ArgumentError, match="one element, got float"):
        fnb.grad(lambda x: 1.0)(f64(1.0))
    with pytest.raises(ArgumentError, match="argnums=2 does not fit a call with 1 positional"):
        fnb.grad(cube, 2)(f64(1.0))
    with pytest.raises(DTypeError, match="int64 cannot require a gradient"):
        fnb.grad(cube)(fnb.tensor(3))


# Ops of the user's own


def test_a_custom_op_uses_its_rule_and_its_name():
    def double(x):
        assert not x.requires_grad
        return x * 2.0

    op = fnb.custom_op(double, lambda dout, x: dout * 7.0)
    x = fnb.tensor([1.0, 2.0], requires_grad=True)
    y = op(x)
    assert (y.tolist(), y.node.name, op.__name__) == ([2.0, 4.0], "double", "double")
    y.sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]


def test_a_custom_op_takes_options_and_several_inputs():
    def power(x, y, n=1):
        return fnb.tensor(x.numpy() ** n * y.numpy())

    def rule(dout, x, y, n=1):
        return dout * y * fnb.tensor(n * x.numpy() ** (n - 1)), None

    op = fnb.custom_op(power, rule)
    x, y = (fnb.tensor(np.array([2.0, 3.0]), requires_grad=True) for _ in range(2))
    op(x, y, n=3).sum().backward()
    assert (x.grad.tolist(), y.grad) == ([24.0, 81.0], None)


def test_a_custom_op_with_two_outputs():
    op = fnb.custom_op(
        lambda x: (x + 1.0, x * 3.0),
        lambda da, db, x: sum(d * k for d, k in ((da, 1.0), (db, 3.0)) if d is not None),
    )
    x = fnb.tensor([1.0], requires_grad=True)
    with fnb.Tape() as tape:
        a, b = op(x)
        a.retain_grad()
        root = a.sum()
    assert tape.backward(root)[1][0].tolist() == [1.0]
    assert x.grad.tolist() == [1.0]
    assert b.tolist() == [3.0]


def test_a_custom_rule_can_be_differentiated_again():
    square = fnb.custom_op(lambda x: x * x, lambda dout, x: 2.0 * x * dout)
    assert fnb.grad(fnb.grad(lambda x: square(x) * x))(f64(2.0)).item() == 12.0


def test_a_custom_rule_without_a_second_derivative_says_so():
    by_numpy = lambda dout, x: fnb.tensor(2.0 * x.numpy() * dout.numpy())  # noqa: E731
    said = fnb.custom_op(lambda x: x * x, by_numpy, second=False)
    assert fnb.grad(said)(f64(3.0)).item() == 6.0
    with pytest.raises(TapeError, match="the backward of custom_op has no backward rule"):
        fnb.grad(fnb.grad(said))(f64(3.0))
    silent = fnb.custom_op(lambda x: x * x, by_numpy)
    assert fnb.grad(lambda x: silent(x) * 2.0)(f64(3.0)).item() == 12.0
    with pytest.raises(TapeError, match="backward of custom_op returned a gradient that is off the tape.*second=False"):
        fnb.grad(fnb.grad(lambda x: silent(x) * x))(f64(3.0))


def test_gradients_of_a_custom_rule_stay_its_own():
    kept = fnb.tensor([5.0, 5.0])
    op = fnb.custom_op(lambda x, y: x + y, lambda dout, x, y: (kept, kept))
    x, y = (fnb.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    (op(x, y) + op(x, x)).sum().backward()
    assert x.grad.tolist() == [15.0, 15.0]
    assert y.grad.tolist() == [5.0, 5.0]
    assert kept.tolist() == [5.0, 5.0]
    assert kept.memory not in (x.grad.memory, y.grad.memory)


def test_a_custom_op_on_untracked_inputs_records_nothing():
    op = fnb.custom_op(lambda x: x * 2.0, lambda dout, x: dout)
    assert not op(fnb.tensor(1.0)).requires_grad
    assert op(1.0).item() == 2.0


def test_wrong_forwards_and_rules_are_refused():
    x = fnb.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ArgumentError, match="forward of custom_op must return tensors, got ndarray"):
        fnb.custom_op(lambda x: x.numpy(), lambda dout, x: dout)(x)
    cases = [
        (lambda dout, x: (dout, dout), "must return 1 tensor or None, got Tensor, Tensor"),
        (lambda dout, x: 1.0, "must return 1 tensor or None, got float"),
        (lambda dout, x: dout.sum(), "gave input 0 a gradient of shape \\(\\)"),
    ]
    for rule, message in cases:
        with pytest.raises(TapeError, match=message):
            fnb.custom_op(lambda x: x * 1.0, rule)(x).sum().backward()


def test_a_custom_op_notices_inputs_that_were_changed_in_place():
    op = fnb.custom_op(lambda x, y: x * y, lambda dout, x, y: (dout * y, dout * x))
    x, y = fnb.tensor([1.0], requires_grad=True), fnb.tensor([2.0])
    out = op(x, y)
    y.add_in_place(fnb.tensor([1.0]))
    with pytest.raises(TapeError, match="custom_op saved a tensor of shape \\(1,\\).*changed in place"):
        out.backward()
