"""Conventions beyond the rows of `forgenb.testing.conventions`: other dtypes, shapes and derivatives."""

import numpy as np
import pytest
from support.leaves import gradients

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, ShapeError

nan, inf = np.nan, np.inf


def leaf(*values):
    return fnb.tensor(np.array(values if len(values) > 1 else values[0], np.float64), requires_grad=True)


def test_equal_extrema_share_the_gradient():
    x = fnb.tensor(np.array([[3.0, 1.0, 3.0], [0.0, 0.0, 0.0]]), requires_grad=True)
    assert gradients(lambda t: t.max(axis=1), x) == [[[0.5, 0, 0.5], [1 / 3, 1 / 3, 1 / 3]]]
    assert gradients(lambda t: t.min(axis=1), fnb.tensor(x.numpy(), requires_grad=True))[0][0] == [0, 1, 0]


@pytest.mark.parametrize("place", [0, 1, 600, 1023, 1024, 2499])
@pytest.mark.parametrize("shape", [(2500,), (2500, 3)])
def test_nan_wins_a_maximum_wherever_it_stands(place, shape):
    x = np.random.default_rng(0).uniform(-1, 1, shape)
    x[place] = nan
    for f in (ops.max, ops.min):
        assert np.isnan(f(fnb.tensor(x), axis=0).numpy()).all()
    for f in (ops.argmax, ops.argmin):
        assert (f(fnb.tensor(x), axis=0).numpy() == place).all()


@pytest.mark.parametrize(
    ("f", "x", "out"),
    [
        (ops.exp, [-inf, -1000, 1000, inf], [0, 0, inf, inf]),
        (ops.log, [-1, 0, 1, inf], [nan, -inf, 0, inf]),
        (ops.sqrt, [-1, 0, 4, inf], [nan, 0, 2, inf]),
        (ops.tanh, [-inf, -1000, 0, inf], [-1, -1, 0, 1]),
        (ops.abs, [-inf, -0.0, 0, 3], [inf, 0, 0, 3]),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_limits_and_ends_of_the_domain(f, x, out, dtype):
    found = f(fnb.tensor(np.array(x, dtype))).numpy()
    np.testing.assert_array_equal(found, np.array(out, dtype))
    assert not np.signbit(found[found == 0]).any()


def test_powers_of_zero():
    assert (leaf(0.0) ** 0).item() == 1
    assert (leaf(0.0) ** leaf(0.0)).item() == 1
    assert gradients(lambda x: x**0, leaf(0.0, nan)) == [[0, 0]]
    assert gradients(ops.pow, leaf(0.0), leaf(0.0)) == [0, 0]
    assert gradients(ops.pow, leaf(0.0), leaf(2.0)) == [0, 0]
    for exponent in (1, 2, 3, 1.5):
        assert gradients(lambda x, n=exponent: x**n, leaf(0.0)) == [float(exponent == 1)]
    assert gradients(lambda x: x * x, leaf(0.0)) == gradients(lambda x: x**2, leaf(0.0))


def test_all_derivatives_of_a_straight_line_exist():
    x = leaf(0.0)
    y = x**1
    found = []
    for _ in range(3):
        x.grad = None
        y.backward(create_graph=True)
        y = x.grad
        found.append(y.item())
    assert found == [1, 0, 0]


def test_powers_of_whole_numbers():
    x = fnb.tensor([[-3], [0], [2]])
    y = fnb.tensor([0, 1, 2, 5])
    found = x**y
    assert found.dtype.name == "int64"
    assert found.tolist() == (np.array([[-3], [0], [2]]) ** np.array([0, 1, 2, 5])).tolist()
    assert (x**3).tolist() == [[-27], [0], [8]]
    assert (2**y).tolist() == [1, 2, 4, 32]
    assert (x**0.5).dtype.name == "float32"
    assert (x.astype("float64") ** y).dtype.name == "float64"
    for exponent in (-1, fnb.tensor([1, -2])):
        with pytest.raises(ArgumentError, match=r"negative exponent.*astype\('float32'\)"):
            x**exponent


@pytest.mark.parametrize("f", [ops.exp, ops.log, ops.sqrt, ops.tanh, ops.sigmoid, ops.relu])
@pytest.mark.parametrize("dtype", ["bool", "int32", "int64"])
def test_whole_numbers_are_computed_in_float32(f, dtype):
    x = np.array([1, 0, 1], dtype)
    found = f(fnb.tensor(x))
    assert found.dtype.name == "float32"
    assert found.tolist() == f(fnb.tensor(x.astype("float32"))).tolist()


def test_whole_numbers_stay_whole_where_nothing_is_lost():
    x = fnb.tensor([-3, 0, 5])
    for found, wanted in (
        (abs(x), [3, 0, 5]),
        (ops.square(x), [9, 0, 25]),
        (ops.clip(x, -1, 3), [-1, 0, 3]),
        (ops.maximum(x, 1), [1, 1, 5]),
        (x.max(), 5),
        (x.min(), -3),
    ):
        assert found.dtype.name == "int64"
        assert found.tolist() == wanted
    assert ops.clip(x, -0.5).tolist() == [-0.5, 0, 5]
    assert ops.scale(x, 0.5).tolist() == [-1.5, 0, 2.5]
    assert (x > 0).sum().item() == 1


@pytest.mark.parametrize("bounds", [(2, 1), (nan, 1), (0, nan)])
def test_clip_refuses_bounds_out_of_order(bounds):
    with pytest.raises(ArgumentError, match="low must not exceed high"):
        ops.clip(leaf(1.0), *bounds)


def test_an_index_points_along_one_axis():
    with pytest.raises(ArgumentError, match="argmax got axis=.0,.: it must be the number of one axis"):
        ops.argmax(leaf(1.0, 2.0), axis=(0,))
    with pytest.raises(ShapeError, match="argmin got axis=1"):
        ops.argmin(leaf(1.0, 2.0), axis=1)
    with pytest.raises(ShapeError, match="max got axis=2"):
        ops.max(leaf(1.0, 2.0), axis=2)


@pytest.mark.usefixtures("each_backend")
@pytest.mark.parametrize("f", [ops.softmax, ops.log_softmax])
def test_a_row_with_nothing_in_it_is_nan_and_no_other_is(f):
    x = leaf([[-inf, -inf, -inf], [0.0, -inf, 1.0], [2.0, 2.0, 2.0]])
    out = f(x)
    assert np.isnan(out.numpy()).all(1).tolist() == [True, False, False]
    assert not np.isnan(out.numpy()[1:]).any()
    (ops.softmax(x) * np.arange(9.0).reshape(3, 3)).sum().backward()
    assert np.isnan(x.grad.numpy()).any(1).tolist() == [True, False, False]


@pytest.mark.usefixtures("each_backend")
def test_a_causal_mask_leaves_every_row_something():
    x = leaf(np.full((2, 3, 3), 5.0))
    assert not np.isnan(ops.softmax(x, causal=True).numpy()).any()
    assert ops.softmax(x, causal=True).numpy()[0, 0].tolist() == [1, 0, 0]
    with pytest.raises(ArgumentError, match="every query must see at least its first key"):
        ops.softmax(x, causal=True, off=-1)
