"""The sizes at which forge-ml 0.1.0 holds its backends against each other, here in float32 against NumPy in float64.

There the bars are absolute, 1e-4 forward and 1e-3 backward, whatever the size of a gradient. Here they are 1e-5 of the
largest element of a result.
"""

import itertools

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.ops import TABLE

BAR = 1e-5


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).uniform(-2, 2, shape).astype(np.float32)


def ids(n, below):
    return np.random.default_rng(n).integers(0, below, n)


def assert_close(found, wanted):
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() <= BAR * np.abs(wanted).max()


def reference(name, *arrays, **keywords):
    """The op by NumPy in float64."""
    return TABLE[name].reference(*(a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays), **keywords)


WEIGHTS = reference("softmax", draw(12, 21, 21), causal=True).astype(np.float32)
CASES = [
    *(("add", (draw(n), draw(n, seed=1)), {}) for n in (1, 255, 256, 1000, 70_000)),
    ("gelu", (draw(4097),), {}),
    ("gelu_grad", (draw(4097), draw(4097, seed=1)), {}),
    ("matmul", (draw(12, 21, 64), draw(12, 64, 21)), {"alpha": 0.125}),
    ("softmax", (draw(1, 7, 7),), {}),
    ("softmax", (draw(12, 21, 21),), {"causal": True}),
    ("softmax", (draw(12, 300, 300),), {"causal": True}),
    ("softmax_grad", (WEIGHTS, draw(12, 21, 21)), {"causal": True}),
    ("layernorm", (draw(37, 768), draw(768), draw(768, seed=1)), {}),
    ("layernorm_grad", (draw(37, 300), draw(300), draw(37, 300, seed=1)), {}),
    ("embedding", (ids(9, 1000), draw(1000, 48), draw(32, 48)), {"pos": 3}),
    ("scatter_add", (ids(200, 8), draw(200, 32)), {"rows": 8}),
    ("sumsq", (draw(129, 517),), {}),
    ("cross_entropy", (draw(13, 97), ids(13, 97)), {}),
]


@pytest.mark.parametrize(("name", "arrays", "keywords"), CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_an_op_at_its_size(name, arrays, keywords):
    found = getattr(ops, name)(*map(fnb.tensor, arrays), **keywords)
    wanted = reference(name, *arrays, **keywords)
    pairs = zip(found, wanted, strict=True) if isinstance(found, tuple) else [(found, wanted)]
    for one, other in pairs:
        assert_close(one.numpy(), np.asarray(other))


@pytest.mark.parametrize(("m", "k", "n"), [(1, 768, 785), (17, 33, 5), (16, 16, 16), (64, 64, 100)])
def test_products_in_every_layout_with_and_without_a_bias(m, k, n):
    a, b, bias = draw(m, k), draw(k, n), draw(n)
    for trans_a, trans_b, given in itertools.product((False, True), (False, True), (None, bias)):
        sides = a.T.copy() if trans_a else a, b.T.copy() if trans_b else b
        found = ops.matmul(*sides, given, trans_a, trans_b, 0.5).numpy()
        assert_close(found, 0.5 * a.astype(np.float64) @ b + (0 if given is None else given))


def test_heads_of_four_columns_come_back():
    x = fnb.tensor(draw(21, 3 * 48))
    q, k, v = ops.split_heads(x, 12)
    assert q.shape == (12, 21, 4)
    np.testing.assert_array_equal(ops.unsplit_heads(q, k, v).numpy(), x.numpy())
    np.testing.assert_array_equal(ops.merge_heads(q).numpy(), x.numpy()[:, :48])


def test_masked_places_have_neither_weight_nor_gradient_and_rows_add_up():
    x = fnb.tensor(draw(12, 21, 21), requires_grad=True)
    out = ops.softmax(x, causal=True)
    (out * draw(12, 21, 21, seed=1)).sum().backward()
    later = np.triu(np.ones((21, 21), bool), 1)
    assert not out.numpy()[:, later].any()
    assert not x.grad.numpy()[:, later].any()
    np.testing.assert_allclose(out.numpy().sum(-1), 1, rtol=0, atol=1e-6)
    np.testing.assert_allclose(x.grad.numpy().sum(-1), 0, rtol=0, atol=1e-6)


def test_gradients_of_a_loss_add_up_to_nothing_in_each_row():
    x, targets = fnb.tensor(draw(13, 97), requires_grad=True), ids(13, 97)
    row = draw(13, 97)[0].astype(np.float64)
    first = ops.cross_entropy(fnb.tensor(draw(13, 97)[:1]), targets[:1]).item()
    assert first == pytest.approx(np.log(np.exp(row).sum()) - row[targets[0]], rel=1e-6)
    ops.cross_entropy(x, targets).backward()
    np.testing.assert_allclose(x.grad.numpy().sum(-1), 0, rtol=0, atol=1e-7)


def test_more_rows_than_a_grid_of_65535_blocks():
    x, dout = draw(64 * 6 * 256, 3), draw(64 * 6 * 256, 3, seed=1)
    tracked = fnb.tensor(x, requires_grad=True)
    out = ops.softmax(tracked)
    out.backward(fnb.tensor(dout))
    wanted = reference("softmax", x)
    assert_close(out.numpy(), wanted)
    assert_close(tracked.grad.numpy(), reference("softmax_grad", wanted, dout))


def test_the_slope_of_gelu_is_that_of_differences():
    """In float64, where differences are good to 1e-9; there in float32, to 2e-2."""
    x, step = np.random.default_rng(0).uniform(-4, 4, 1000), 1e-5
    found = ops.gelu_grad(x, np.ones(1000)).numpy()
    up, down = (ops.gelu(x + side).numpy() for side in (step, -step))
    np.testing.assert_allclose(found, (up - down) / (2 * step), rtol=0, atol=1e-9)
