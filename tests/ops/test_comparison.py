"""Comparisons as functions and operators, and conversions between all dtypes."""

import operator

import numpy as np
import pytest

import forgenb as fnb
from forgenb.dtypes import ORDER
from forgenb.errors import BackendError, DTypeError, ShapeError

OPERATORS = [operator.gt, operator.ge, operator.lt, operator.le, operator.eq, operator.ne]
NAMES = [d.name for d in ORDER]


@pytest.mark.parametrize("compare", OPERATORS, ids=lambda f: f.__name__)
def test_whole_numbers_are_compared_exactly(compare):
    x = np.array([2**53, 2**53 + 1, -(2**62), 3])
    y = np.array([2**53 + 1, 2**53 + 1, -(2**62) - 1, 3])
    found = compare(fnb.tensor(x), fnb.tensor(y))
    assert found.dtype.name == "bool"
    assert found.tolist() == compare(x, y).tolist()
    assert compare(fnb.tensor(x), 2**53 + 1).tolist() == compare(x, 2**53 + 1).tolist()


@pytest.mark.parametrize("compare", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", NAMES)
def test_operators_agree_with_numpy_from_either_side(compare, dtype):
    x = np.array([[0, 1, 1], [1, 0, 0]]).astype(dtype)
    y = np.array([1, 0, 1]).astype(dtype)
    t = fnb.tensor(x)
    assert compare(t, fnb.tensor(y)).tolist() == compare(x, y).tolist()
    assert compare(t, 1).tolist() == compare(x, 1).tolist()
    assert compare(1, t).tolist() == compare(1, x).tolist()
    assert compare(y, t).tolist() == compare(y, x).tolist()


@pytest.mark.parametrize("compare", OPERATORS, ids=lambda f: f.__name__)
def test_nan_compares_as_in_numpy(compare):
    x, y = np.array([np.nan, np.nan, 1.0]), np.array([np.nan, 1.0, np.nan])
    assert compare(fnb.tensor(x), fnb.tensor(y)).tolist() == compare(x, y).tolist()


def test_equality_with_what_is_no_number():
    t = fnb.tensor([1.0, 2.0])
    assert (t == None) is False  # noqa: E711, the operator is what is tested
    assert (t != "name") is True


def test_a_tensor_is_hashed_by_identity():
    t, u = fnb.tensor([1.0]), fnb.tensor([1.0])
    assert len({t, u, t}) == 2
    assert {t: "t", u: "u"}[t] == "t"


def test_comparisons_are_off_the_tape():
    x = fnb.tensor([1.0, 2.0], requires_grad=True)
    assert not (x > 1).requires_grad
    with pytest.raises(ShapeError, match="greater_kernel|greater"):
        x > fnb.tensor([1.0, 2.0, 3.0])  # noqa: B015, the error is what is tested


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("n", [5, 1300])
def test_every_dtype_converts_to_every_other(source, target, n):
    x = np.resize(np.array([0, 1, -2.75, 7.5, 100]), n)
    x = (np.abs(x) if target == "bool" or source == "bool" else x).astype(source)
    found = fnb.tensor(x).astype(target)
    assert found.dtype.name == target
    assert found.tolist() == x.astype(target).tolist()


@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
@pytest.mark.parametrize("target", ["float16", "float32", "float64"])
def test_a_gradient_is_converted_back(source, target):
    x = fnb.tensor(np.array([1.0, 2.0], source), requires_grad=True)
    (x.astype(target) * 3).sum().backward()
    assert x.grad.dtype.name == source
    assert x.grad.tolist() == [3, 3]
    assert not x.astype("int64").requires_grad


def test_a_conversion_is_a_copy():
    x = fnb.tensor([1.0, 2.0])
    assert x.astype("float32").memory is not x.memory


@pytest.mark.parametrize("dtype", ["complex64", "uint8", "nothing"])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(DTypeError, match="is not supported: use one of bool, int32"):
        fnb.tensor([1.0]).astype(dtype)


@pytest.mark.parametrize("f", ["add", "sub", "mul", "div", "maximum", "minimum", "pow"])
def test_of_two_float_dtypes_each_operand_gets_its_own_gradient(f):
    x = fnb.tensor(np.array([1.0, 2.0], np.float32), requires_grad=True)
    y = fnb.tensor(np.array([3.0, 0.5]), requires_grad=True)
    out = getattr(fnb.ops, f)(x, y)
    assert out.dtype.name == "float64"
    out.sum().backward()
    assert (x.grad.dtype.name, y.grad.dtype.name) == ("float32", "float64")


def test_where_takes_numbers_and_other_conditions():
    x = fnb.tensor([1.0, -2.0, 3.0], requires_grad=True)
    out = fnb.ops.where(x > 0, x, 0.0)
    out.sum().backward()
    assert out.tolist() == [1, 0, 3]
    assert x.grad.tolist() == [1, 0, 1]
    assert fnb.ops.where(fnb.tensor([2, 0]), 1.5, fnb.tensor([5.0, 6.0])).tolist() == [1.5, 6]
    assert fnb.ops.where(True, x, 0.0).tolist() == x.tolist()


def test_to_the_same_backend_is_the_tensor_itself():
    t = fnb.tensor([1.0])
    assert t.to("cpu") is t
    with pytest.raises(BackendError, match="there is no backend 'cuba'"):
        t.to("cuba")
