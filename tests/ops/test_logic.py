"""Logic: what counts as true, the operators on masks, any and all."""

import operator

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import DTypeError

DTYPES = ["bool", "int32", "int64", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_functions_take_any_dtype(name, dtype):
    x, y = np.array([[0, 1], [1, 0]]).astype(dtype), np.array([0, 2]).astype(dtype)
    found = getattr(ops, name)(fnb.tensor(x), fnb.tensor(y))
    assert found.dtype.name == "bool"
    assert found.tolist() == getattr(np, name)(x, y).tolist()
    assert ops.logical_not(fnb.tensor(x)).tolist() == np.logical_not(x).tolist()


@pytest.mark.parametrize("combine", [operator.and_, operator.or_, operator.xor])
def test_operators_on_masks_from_either_side(combine):
    x, y = np.array([True, True, False]), np.array([[True], [False]])
    assert combine(fnb.tensor(x), fnb.tensor(y)).tolist() == combine(x, y).tolist()
    assert combine(fnb.tensor(x), True).tolist() == combine(x, True).tolist()
    assert combine(y, fnb.tensor(x)).tolist() == combine(y, x).tolist()
    assert (~fnb.tensor(x)).tolist() == [False, False, True]


def test_operators_refuse_what_is_no_mask():
    x = fnb.tensor([1, 2])
    with pytest.raises(DTypeError, match=r"& got a tensor of dtype int64: it works on bool tensors.*logical_and"):
        x & x
    with pytest.raises(DTypeError, match="~ got a tensor of dtype float32"):
        ~fnb.tensor([1.0])


def test_nan_is_true():
    x = fnb.tensor([[np.nan, 0.0], [0.0, 0.0]])
    assert (x.any().item(), x.all().item()) == (True, False)
    assert x.any(axis=1).tolist() == [True, False]
    assert x.any(axis=(0, 1), keepdims=True).tolist() == [[True]]
    assert x.all(axis=0).dtype.name == "bool"


def test_masks_are_off_the_tape():
    x = fnb.tensor([1.0, -1.0], requires_grad=True)
    assert not ((x > 0) & (x < 2)).requires_grad
    assert not x.any().requires_grad
