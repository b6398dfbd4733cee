"""NumPy to the left of a tensor, and NumPy's functions by element."""

import operator

import numpy as np
import pytest
from scipy import special

import forgenb as fnb
from forgenb.errors import InteropError

ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow)
COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
LEFT = (np.array([1.5, 2.0]), np.float64(1.5), np.array([[2.0], [3.0]]))


@pytest.fixture(params=["cpu", "python"])
def t(request):
    return fnb.tensor(np.array([2.0, 3.0]), requires_grad=True, backend=request.param)


@pytest.mark.parametrize("left", LEFT, ids=lambda v: str(np.shape(v)))
@pytest.mark.parametrize("operation", ARITHMETIC)
def test_arithmetic_with_numpy_on_the_left_records(operation, left, t):
    out = operation(left, t)
    assert isinstance(out, fnb.Tensor)
    assert out.backend is t.backend
    np.testing.assert_allclose(out.numpy(), operation(left, t.numpy()), rtol=1e-14)
    out.sum().backward()
    step = 1e-6
    slope = (operation(left, t.numpy() + step) - operation(left, t.numpy() - step)) / (2 * step)
    np.testing.assert_allclose(t.grad.numpy(), np.broadcast_to(slope, out.shape).reshape(-1, 2).sum(0), rtol=1e-8)


@pytest.mark.parametrize("operation", COMPARISONS)
def test_comparisons_with_numpy_on_the_left(operation, t):
    for left in LEFT:
        found = operation(left, t)
        assert isinstance(found, fnb.Tensor)
        assert found.tolist() == operation(left, t.numpy()).tolist()


def test_a_matrix_of_numpy_on_the_left(t):
    matrix = np.arange(6.0).reshape(3, 2)
    out = matrix @ t
    out.sum().backward()
    np.testing.assert_allclose(out.numpy(), matrix @ t.numpy())
    np.testing.assert_allclose(t.grad.numpy(), matrix.sum(0))


def test_dtypes_are_those_of_the_other_order():
    t = fnb.tensor([1.0, 2.0])
    for left in (np.float32(2), np.float64(2), np.int64(2), np.ones(2, "float16"), np.ones(2, "int32")):
        assert (left * t).dtype == (t * left).dtype


@pytest.mark.parametrize("operation", [operator.and_, operator.or_, operator.xor])
def test_operators_on_truths(operation):
    x, y = np.array([True, True, False]), np.array([True, False, False])
    assert operation(x, fnb.tensor(y)).tolist() == operation(x, y).tolist()
    assert operation(np.True_, fnb.tensor(y)).tolist() == operation(True, y).tolist()
    assert np.invert(fnb.tensor(y)).tolist() == (~y).tolist()


def test_a_second_derivative_goes_through_numpy():
    f = fnb.grad(fnb.grad(lambda x: np.sin(x) * np.float64(2)))
    np.testing.assert_allclose(f(fnb.tensor(np.float64(0.7))).numpy(), -2 * np.sin(0.7), rtol=1e-12)


@pytest.mark.parametrize("tracked", [True, False])
def test_an_array_is_not_added_to_in_place(tracked):
    t, array = fnb.tensor([1.0, 2.0], requires_grad=tracked), np.zeros(2)
    with pytest.raises(InteropError, match=r"np.add of a tensor is fnb.ops.add, .* out=.* array = array \+ t"):
        array += t
    assert array.tolist() == [0, 0]
    t += np.ones(2)
    assert isinstance(t, fnb.Tensor)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda t: np.exp(t, out=np.zeros(2)), "does not take out=: give the result a name"),
        (lambda t: np.add(1.0, t, where=[True, False]), "does not take where=.*fnb.ops.where"),
        (lambda t: np.exp(t, dtype="float32"), r"does not take dtype=.*t\.astype"),
        (lambda t: np.add.reduce(t), "np.add.reduce of a tensor has no op in forgenb: use fnb.ops.sum"),
        (lambda t: np.maximum.reduce(t), "use fnb.ops.max, or t.numpy"),
        (lambda t: np.multiply.outer(t, t), "use fnb.ops.outer"),
        (lambda t: np.add.at(np.zeros(2), [0], t), "use fnb.ops.scatter_add_"),
        (lambda t: np.subtract.accumulate(t), r"np.subtract.accumulate .* compose it of fnb.ops, or use t.numpy\(\)"),
        (lambda t: np.isnan(t), r"np.isnan of a tensor has no op in forgenb: .*t.numpy\(\)"),
        (lambda t: np.ones(2) // t, r"np.floor_divide .* use fnb.ops.floor\(x / y\)"),
        (lambda t: np.divmod(t, 2.0), "np.divmod"),
        (lambda t: special.expit(t), "expit of a tensor has no op in forgenb: use fnb.ops.sigmoid"),
        (lambda t: special.erf(t), "use fnb.ops.erf"),
    ],
)
@pytest.mark.parametrize("tracked", [True, False])
def test_what_has_no_op_names_what_to_use(call, match, tracked):
    with pytest.raises(InteropError, match=match):
        call(fnb.tensor([1.0, 2.0], requires_grad=tracked))


class Other:
    """An array of somebody else, which knows what to do with tensors."""

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        return "theirs"

    def __array_function__(self, function, kinds, args, keywords):
        return "theirs"


def test_others_are_asked_too():
    t = fnb.tensor([1.0])
    assert np.add(t, Other()) == np.add(Other(), t) == "theirs"
    assert np.concatenate([t, Other()]) == "theirs"
