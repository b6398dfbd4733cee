"""Heads: the layout, round trips, one fused gradient, errors."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, ShapeError
from forgenb.ops.heads import SIZES


def packed(b, t, h, hd, dtype="float32"):
    return np.arange(b * t * 3 * h * hd).reshape(b * t, 3 * h * hd).astype(dtype)


def test_layout_by_hand():
    """Two elements of one token, two heads of width 1: columns q0 q1 k0 k1 v0 v1."""
    q, k, v = ops.split_heads(fnb.tensor([[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]]), heads=2, batch=2)
    assert q.tolist() == [[[1]], [[2]], [[7]], [[8]]]
    assert k.tolist() == [[[3]], [[4]], [[9]], [[10]]]
    assert v.tolist() == [[[5]], [[6]], [[11]], [[12]]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "int32", "bool"])
@pytest.mark.parametrize(("b", "t", "h", "hd"), [*SIZES, (2, 16, 4, 33)])
def test_round_trips(b, t, h, hd, dtype):
    x = packed(b, t, h, hd, dtype)
    thirds = ops.split_heads(fnb.tensor(x), h, b)
    assert [third.shape for third in thirds] == [(b * h, t, hd)] * 3
    np.testing.assert_array_equal(ops.unsplit_heads(*thirds, b).numpy(), x)
    merged = ops.concat([ops.merge_heads(third, b) for third in thirds], axis=1)
    np.testing.assert_array_equal(merged.numpy(), x)
    np.testing.assert_array_equal(ops.unmerge_heads(ops.merge_heads(thirds[0], b), h, b).numpy(), thirds[0].numpy())
    total = sum(ops.unsplit_head(third, which, b).numpy().astype("f8") for which, third in enumerate(thirds))
    np.testing.assert_array_equal(total, x)


def test_views_are_read_in_their_own_order():
    x = packed(2, 3, 2, 4).T.copy()
    for got, want in zip(ops.split_heads(fnb.tensor(x).T, 2, 2), ops.split_heads(fnb.tensor(x.T), 2, 2), strict=True):
        np.testing.assert_array_equal(got.numpy(), want.numpy())


@pytest.mark.parametrize("used", [(0,), (1,), (2,), (0, 2), (0, 1, 2)], ids=str)
def test_absent_gradients_count_as_zero_and_one_kernel_packs_them(used):
    x = fnb.tensor(packed(2, 3, 2, 4), requires_grad=True)
    thirds = ops.split_heads(x, 2, 2)
    total = sum(((thirds[i] * float(i + 1)).sum() for i in used), fnb.tensor(0.0))
    total.backward()
    want = np.repeat([i + 1.0 if i in used else 0.0 for i in range(3)], 8)
    np.testing.assert_array_equal(x.grad.numpy(), np.tile(want, (6, 1)))


def test_second_order():
    x = fnb.tensor(packed(1, 2, 1, 2, "float64"), requires_grad=True)
    q, k, _ = ops.split_heads(x, 1)
    (q * q * k).sum().backward(create_graph=True)
    first = x.grad
    x.grad = None
    first.sum().backward()
    q, k = (third.numpy().reshape(2, 2) for third in (q, k))
    np.testing.assert_array_equal(x.grad.numpy(), np.concatenate([2 * k + 2 * q, 2 * q, 0 * q], axis=1))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda x: ops.split_heads(x, 0), ArgumentError, "heads=0 and batch=1"),
        (lambda x: ops.split_heads(x, 2, 0), ArgumentError, "heads=2 and batch=0"),
        (lambda x: ops.split_heads(x, 2, 4), ShapeError, "batch must divide the rows"),
        (lambda x: ops.split_heads(x, 3), ShapeError, "12 columns .* 3 .* times heads=3"),
        (lambda x: ops.split_heads(x[0], 2), ShapeError, r"shape \(12,\)"),
        (lambda x: ops.merge_heads(x), ShapeError, r"shape \(6, 12\)"),
        (lambda x: ops.merge_heads(ops.reshape(x, (6, 3, 4)), 4), ShapeError, "6 matrices"),
        (lambda x: ops.merge_heads(ops.reshape(x, (6, 3, 4)), 0), ArgumentError, "batch=0"),
        (lambda x: ops.unmerge_heads(x, 5), ShapeError, "heads=5 must divide the columns"),
        (lambda x: ops.unsplit_head(ops.reshape(x, (6, 3, 4)), 3), ArgumentError, "which=3"),
        (lambda x: ops.unsplit_heads(None, None, None), ArgumentError, "None for q, k and v"),
        (
            lambda x: ops.unsplit_heads(ops.reshape(x, (6, 3, 4)), ops.reshape(x, (6, 4, 3)), None),
            ShapeError,
            "must be equal",
        ),
    ],
)
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call(fnb.tensor(np.zeros((6, 12), np.float32)))
