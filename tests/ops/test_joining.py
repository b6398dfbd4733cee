"""concat, stack and split: NumPy's meaning, dtypes, gradients with absent parts, errors."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, ShapeError

DTYPES = ("bool", "int32", "int64", "float16", "float32", "float64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat_of_any_layout(axis, dtype):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    parts = x[::-1], x.T[:3, ::-1].repeat(2, 1)[:, :4], np.broadcast_to(x[:1], (3, 4))
    tensors = fnb.tensor(x)[::-1], fnb.tensor(parts[1]), ops.broadcast_to(fnb.tensor(x)[:1], (3, 4))
    got = ops.concat(tensors, axis=axis)
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got.numpy(), np.concatenate(parts, axis))


def test_one_list_or_single_tensors():
    a, b = fnb.tensor([1.0]), fnb.tensor([2.0, 3.0])
    assert ops.concat([a, b]).tolist() == ops.concat(a, b).tolist() == [1, 2, 3]
    assert ops.stack([a, a], axis=1).tolist() == ops.stack(a, a, axis=1).tolist() == [[1, 1]]
    assert ops.concat([a]).tolist() == [1]
    assert ops.concat(a, np.array([5.0], np.float32)).tolist() == [1, 5]


def test_gradients_come_back_in_each_operands_dtype():
    a = fnb.tensor([1.0], requires_grad=True)
    b = fnb.tensor([2.0], dtype="float64", requires_grad=True)
    joined = ops.concat(a, b, fnb.tensor([3]))
    assert joined.dtype == np.float64
    (joined * joined).sum().backward()
    assert (a.grad.tolist(), a.grad.dtype) == ([2], np.float32)
    assert (b.grad.tolist(), b.grad.dtype) == ([4], np.float64)


def test_one_tensor_twice_gets_both_gradients():
    a = fnb.tensor([1.0, 2.0], requires_grad=True)
    (ops.concat(a, a) * fnb.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert a.grad.tolist() == [4, 6]


def test_second_order_of_stack():
    a = fnb.tensor([1.0, 2.0], requires_grad=True)
    s = ops.stack([a, a * a])
    (s * s).sum().backward(create_graph=True)
    first = a.grad
    a.grad = None
    first.sum().backward()
    assert a.grad.tolist() == [14, 50]  # of a**2 + a**4: 2 + 12 a**2


def test_split_gives_views_of_one_node():
    x = fnb.tensor(np.arange(6.0), requires_grad=True)
    before = fnb.stats()
    first, middle, last = ops.split(x, 3)
    assert fnb.stats().since(before).allocations == 0
    assert first.node is last.node
    assert middle.tolist() == [2, 3]


def test_a_part_that_is_not_used_has_gradient_zero():
    x = fnb.tensor(np.arange(10.0).reshape(2, 5), requires_grad=True)
    _, middle, _ = ops.split(x, (1, 3), axis=1)
    (middle * middle).sum().backward()
    assert x.grad.tolist() == [[0, 2, 4, 0, 0], [0, 12, 14, 0, 0]]


@pytest.mark.parametrize("sections", [(2,), (0, 5), (7, 9), (-1,), (4, 2)])
def test_split_at_indices_as_in_numpy(sections):
    x = np.arange(10.0).reshape(5, 2)
    for got, want in zip(ops.split(fnb.tensor(x), sections), np.split(x, sections), strict=True):
        assert got.shape == want.shape
        np.testing.assert_array_equal(got.numpy(), want)


def test_concat_undoes_split():
    x = fnb.tensor(np.arange(24.0).reshape(2, 6, 2))
    np.testing.assert_array_equal(ops.concat(ops.split(x, 3, axis=1), axis=1).numpy(), x.numpy())


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda x: ops.concat(), ArgumentError, "got no tensors"),
        (lambda x: ops.stack([]), ArgumentError, "got no tensors"),
        (lambda x: ops.concat([x, x], 1), ArgumentError, "axis by keyword"),
        (lambda x: ops.concat(x, x[0]), ShapeError, r"shapes \(2, 3\) and \(3,\)"),
        (lambda x: ops.concat(x, x, axis=2), ShapeError, "axis=2"),
        (lambda x: ops.concat(x[0, 0], x[0, 0]), ShapeError, "axis=0 where there are 0"),
        (lambda x: ops.stack(x, x[:1]), ShapeError, "must be equal"),
        (lambda x: ops.stack(x, x, axis=4), ShapeError, "3 dimensions"),
        (lambda x: ops.split(x, 2, axis=1), ShapeError, "3 is not a multiple"),
        (lambda x: ops.split(x, 0), ShapeError, "into 0 equal parts"),
        (lambda x: ops.split(x, 1, axis=-3), ShapeError, "axis=-3"),
    ],
)
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call(fnb.tensor(np.zeros((2, 3))))
