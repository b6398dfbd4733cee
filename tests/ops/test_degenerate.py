"""No elements, no axes, no heads, no batch: a value or one of our errors, on every backend."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, IndexRangeError, ShapeError

pytestmark = pytest.mark.usefixtures("each_backend")

REFUSED = {
    "softmax of no columns": (lambda: ops.softmax(f(3, 0)), ShapeError, "last axis with at least one element"),
    "softmax of a number": (lambda: ops.softmax(f()), ShapeError, r"softmax got shape \(\)"),
    "its gradient": (lambda: ops.softmax_grad(f(3, 0), f(3, 0)), ShapeError, "at least one element"),
    "log_softmax": (lambda: ops.log_softmax(f(3, 0)), ShapeError, "at least one element"),
    "layernorm of no columns": (lambda: ops.layernorm(f(3, 0), f(0), f(0)), ShapeError, r"x of shape \(3, 0\)"),
    "layernorm of a number": (lambda: ops.layernorm(f(), f(), f()), ShapeError, r"x of shape \(\)"),
    "a loss over no classes": (lambda: ops.cross_entropy(f(2, 0), [0, 0]), ShapeError, r"shape \(2, 0\)"),
    "attention of no heads": (lambda: ops.attention(f(1, 2, 6), 0), ShapeError, "heads=0"),
    "no heads to split": (lambda: ops.split_heads(f(2, 6), 0), ArgumentError, "heads=0"),
    "no batch to merge": (lambda: ops.merge_heads(f(4, 2, 3), 0), ArgumentError, "batch=0"),
    "no heads to merge": (lambda: ops.merge_heads(f(0, 2, 3)), ShapeError, "0 matrices"),
    "fewer rows than ids": (lambda: ops.embedding([5], f(5, 2), f(4, 2)), IndexRangeError, "token id 5"),
    "fewer places than ids": (lambda: ops.embedding([0, 1, 2], f(5, 2), f(2, 2)), ShapeError, "2 places"),
    "a start beyond the places": (lambda: ops.embedding([0, 1], f(5, 2), f(2, 2), 1), ShapeError, "pos=1"),
    "an empty table": (lambda: ops.embedding([0], f(0, 2), f(1, 2)), IndexRangeError, "token id 0"),
    "no columns for a cache": (lambda: ops.kv_append(f(2, 3, 2), f(2, 1, 0), 0), ShapeError, r"src \(2, 1, 0\)"),
}


def f(*shape):
    """Ones in float32."""
    return fnb.tensor(np.ones(shape, np.float32))


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused(case):
    call, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(("m", "k", "n"), [(2, 3, 0), (0, 3, 2), (2, 0, 4), (0, 0, 0)])
def test_a_product_of_nothing_is_its_bias_and_has_gradients(m, k, n):
    a, b, bias = (fnb.tensor(np.ones(s, np.float32), requires_grad=True) for s in ((m, k), (k, n), (n,)))
    out = ops.matmul(a, b, bias, alpha=2.0)
    np.testing.assert_array_equal(out.numpy(), np.full((m, n), 1 + 2 * k, np.float32))
    out.sum().backward()
    np.testing.assert_array_equal(a.grad.numpy(), np.full((m, k), 2 * n))
    np.testing.assert_array_equal(b.grad.numpy(), np.full((k, n), 2 * m))
    np.testing.assert_array_equal(bias.grad.numpy(), np.full(n, m))


def test_no_rows_of_a_cache_add_nothing():
    assert ops.matmul(f(2, 3, 0), f(2, 5, 4), b_rows=0).tolist() == np.zeros((2, 3, 4)).tolist()


def test_no_rows_and_no_tokens_are_no_error():
    x = fnb.tensor(np.zeros((0, 3), np.float32), requires_grad=True)
    gain = fnb.tensor(np.ones(3, np.float32), requires_grad=True)
    (ops.layernorm(x, gain, f(3)) + ops.softmax(x)).sum().backward()
    assert x.grad.shape == (0, 3)
    assert gain.grad.tolist() == [0, 0, 0]
    assert ops.embedding(np.zeros((2, 0), np.int64), f(4, 2), f(3, 2)).shape == (2, 0, 2)
    assert ops.attention(f(1, 0, 6), 2).shape == (1, 0, 2)
