"""Convolutions and poolings beyond the table: bits, groups of samples, second derivatives, ties, messages."""

import sys

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, BackendError, DTypeError, ShapeError, TapeError
from forgenb.ops.conv import conv2d_input_grad_reference, conv2d_reference, conv2d_weight_grad_reference

CONV = sys.modules["forgenb.ops.conv"]


def draw(*shape, dtype="float64", tracked=False):
    values = np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype(dtype)
    return fnb.tensor(values, requires_grad=tracked)


def step(dtype="float32"):
    """Output and gradients of a convolution that is cut into several launches and products."""
    x, w, b = (
        draw(9, 6, 17, 14, dtype=dtype, tracked=True),
        draw(8, 3, 3, 3, dtype=dtype, tracked=True),
        draw(8, dtype=dtype, tracked=True),
    )
    y = ops.conv2d(x, w, b, padding=1, groups=2)
    y.backward(draw(*y.shape, dtype=dtype))
    return [np.ascontiguousarray(t.numpy()) for t in (y, x.grad, w.grad, b.grad)]


def test_any_number_of_threads_gives_the_same_bits():
    backend = fnb.tensor(0.0).backend
    before, found = backend.threads, []
    try:
        for number in (1, 2, 4, 8):
            backend.threads = number
            found.append([a.tobytes() for a in step()])
    finally:
        backend.threads = before
    assert all(other == found[0] for other in found[1:])


def test_groups_of_samples_change_no_more_than_rounding(monkeypatch):
    whole = step("float64")
    for scratch in (1, 6000, 30000):
        monkeypatch.setattr(CONV, "SCRATCH", scratch)
        for one, other in zip(whole, step("float64"), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


def test_scratch_does_not_grow_with_the_batch(monkeypatch):
    monkeypatch.setattr(CONV, "SCRATCH", 20_000)
    largest = []
    for n in (4, 64):
        x, w = draw(n, 4, 16, 16), draw(2, 4, 3, 3)
        before = fnb.stats()
        ops.conv2d(x, w)
        used = fnb.stats().since(before)
        largest.append(used.bytes_allocated - 8 * n * 2 * 14 * 14)
        assert used.products == -(-n // 2)
    assert largest[1] <= 16 * largest[0]


def test_columns_of_single_taps_are_the_planes_themselves():
    x, w = draw(3, 5, 4, 4), draw(2, 5, 1, 1)
    before = fnb.stats()
    out = ops.conv2d(x, w)
    assert fnb.stats().since(before).launches == 0
    np.testing.assert_allclose(out.numpy(), conv2d_reference(x.numpy(), w.numpy()), rtol=1e-12)


def test_a_gradient_of_a_gradient():
    def f(x, w):
        y = ops.conv2d(x, w, stride=2, padding=1)
        return (y * y * y).sum()

    x, w = draw(2, 2, 5, 4), draw(3, 2, 3, 2)

    def slope(x, w):
        return (fnb.grad(f)(x, w) * ops.square(x)).sum()

    assert fnb.gradcheck(slope, x.numpy(), w.numpy())


@pytest.mark.parametrize("pool", [ops.max_pool2d, ops.avg_pool2d])
def test_a_gradient_of_a_gradient_of_a_pool(pool):
    values = np.random.default_rng(1).permutation(40).reshape(1, 2, 5, 4) / 8

    def slope(x):
        return (fnb.grad(lambda t: (pool(t, 3, 1, 1) ** 3).sum())(x) * x).sum()

    assert fnb.gradcheck(slope, values)


def test_a_transposed_convolution_is_the_gradient_by_the_input():
    dout, w = draw(2, 4, 3, 3), draw(4, 3, 3, 3)
    found = ops.conv2d_input_grad(dout, w, (6, 5), stride=2, padding=1)
    np.testing.assert_allclose(
        found.numpy(), conv2d_input_grad_reference(dout.numpy(), w.numpy(), (6, 5), stride=2, padding=1)
    )
    x = draw(2, 3, 6, 5)
    weight = ops.conv2d_weight_grad(x, dout, 3, stride=2, padding=1)
    np.testing.assert_allclose(
        weight.numpy(), conv2d_weight_grad_reference(x.numpy(), dout.numpy(), (3, 3), stride=2, padding=1)
    )


def test_only_the_gradients_that_are_wanted_are_computed():
    x, w = draw(1, 2, 4, 4), draw(3, 2, 2, 2, tracked=True)
    y = ops.conv2d(x, w)
    before = fnb.stats()
    y.sum().backward()
    assert fnb.stats().since(before).products == 1


# Poolings


def test_the_first_of_equal_maxima_has_the_gradient():
    x = fnb.tensor(np.ones((1, 1, 4, 4)), requires_grad=True)
    ops.max_pool2d(x, 2).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy()[0, 0], np.kron(np.ones((2, 2)), [[1, 0], [0, 0]]))


def test_overlapping_windows_add_up():
    x = fnb.tensor(np.array([[[[0.0, 5.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]]]), requires_grad=True)
    out = ops.max_pool2d(x, 2, 1)
    assert out.numpy()[0, 0].tolist() == [[5, 5], [0, 1]]
    out.sum().backward()
    assert x.grad.numpy()[0, 0].tolist() == [[0, 2, 0], [1, 0, 0], [0, 0, 1]]
    y = fnb.tensor(np.ones((1, 1, 3, 3)), requires_grad=True)
    ops.avg_pool2d(y, 2, 1).sum().backward()
    assert y.grad.numpy()[0, 0].tolist() == [[0.25, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 0.25]]


def test_two_maxima_of_one_row_each_have_the_windows_that_they_win():
    """A published case that went wrong elsewhere: windows of two along 5 3 1 2 5."""
    x = fnb.tensor([[[[5.0, 3.0, 1.0, 2.0, 5.0]]]], requires_grad=True)
    out = ops.max_pool2d(x, (1, 2), 1)
    assert out.numpy()[0, 0, 0].tolist() == [5, 3, 2, 5]
    out.sum().backward()
    assert x.grad.numpy()[0, 0, 0].tolist() == [1, 1, 0, 1, 1]


@pytest.mark.parametrize(("stride", "padding", "dilation"), [(1, 0, 1), (2, 1, 1), (1, 2, 2), (3, 0, 1)])
@pytest.mark.parametrize("length", [5, 6, 9])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_convolution_over_one_axis_is_a_sum_over_taps(length, width, stride, padding, dilation):
    x, w, b = draw(2, 3, length), draw(4, 3, width), draw(4)
    padded = np.pad(x.numpy(), ((0, 0), (0, 0), (padding, padding)))
    count = (padded.shape[-1] - dilation * (width - 1) - 1) // stride + 1
    wanted = np.zeros((2, 4, count)) + b.numpy()[:, None]
    for tap in range(width):
        taken = padded[:, :, tap * dilation :][:, :, : (count - 1) * stride + 1 : stride]
        wanted += np.einsum("oc,ncl->nol", w.numpy()[:, :, tap], taken)
    np.testing.assert_allclose(ops.conv1d(x, w, b, stride, padding, dilation).numpy(), wanted, atol=1e-12)


def test_an_average_counts_what_lies_outside_as_zero():
    out = ops.avg_pool2d(fnb.tensor(np.ones((1, 1, 2, 2))), 2, 1, 1)
    assert out.numpy()[0, 0].tolist() == [[0.25, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 0.25]]


# Messages

IMAGE, WEIGHT = (2, 4, 6, 6), (6, 2, 3, 3)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x, w: ops.conv2d(x, w), ShapeError, r"4 channels, a weight of shape \(6, 2, 3, 3\) and groups=1"),
        (lambda x, w: ops.conv2d(x, w, groups=0), ArgumentError, "groups=0: it must be a whole number"),
        (lambda x, w: ops.conv2d(x, w, groups=2, stride=0), ArgumentError, "stride=0: it must be a whole number of at"),
        (lambda x, w: ops.conv2d(x, w, groups=2, padding=(1, -1)), ArgumentError, r"padding=\(1, -1\)"),
        (lambda x, w: ops.conv2d(x, w, groups=2, dilation=1.5), ArgumentError, "dilation=1.5"),
        (lambda x, w: ops.conv2d(x, w, groups=2, dilation=3), ShapeError, "a window of 7 x 7 does not fit"),
        (lambda x, w: ops.conv2d(x[0], w, groups=2), ShapeError, "it needs four axes"),
        (lambda x, w: ops.conv2d(x, w, draw(5), groups=2), ShapeError, r"a bias of shape \(5,\) for 6 output channels"),
        (lambda x, w: ops.conv2d(x, w.astype("float32"), groups=2), DTypeError, "one float dtype"),
        (lambda x, w: ops.conv2d(x.astype("int64"), w, groups=2), DTypeError, "dtype int64: convert"),
        (lambda x, w: ops.conv2d(x, w.to("python"), groups=2), BackendError, "'cpu' and 'python'"),
        (lambda x, w: ops.conv1d(x, w), ShapeError, r"conv1d got shapes \(2, 4, 6, 6\)"),
        (lambda x, w: ops.conv2d_input_grad(x, w, (6, 6)), ShapeError, "for 6 output channels"),
        (lambda x, w: ops.conv2d_input_grad(draw(2, 6, 6, 6), w, (6, 6)), ShapeError, r"must be \[2, 6, 4, 4\]"),
        (lambda x, w: ops.conv2d_weight_grad(x, draw(3, 6, 4, 4), 3), ShapeError, "which do not fit"),
        (lambda x, w: ops.conv2d_weight_grad(x, draw(2, 6, 3, 4), 3), ShapeError, r"must be \[2, 6, 4, 4\]"),
        (lambda x, w: ops.conv2d_weight_grad(x, draw(2, 6, 4, 4, dtype="float32"), 3), DTypeError, "one float dtype"),
        (lambda x, w: ops.max_pool2d(x, 0), ArgumentError, "kernel=0"),
        (lambda x, w: ops.max_pool2d(x, 2, padding=2), ArgumentError, "at most half of the window"),
        (lambda x, w: ops.max_pool2d(x, 7), ShapeError, "a window of 7 x 7 does not fit"),
        (lambda x, w: ops.max_pool2d(x.astype("bool"), 2), DTypeError, "dtype bool: convert"),
        (lambda x, w: ops.avg_pool2d(x[0], 2), ShapeError, "it needs four axes"),
        (lambda x, w: ops.avg_pool2d_grad(x, (9, 9), 2), ShapeError, r"must be \[2, 4, 4, 4\]"),
    ],
)
def test_what_does_not_fit_is_refused(call, kind, message):
    with pytest.raises(kind, match=message):
        call(draw(*IMAGE), draw(*WEIGHT))


def test_a_consumed_graph_is_named():
    y = ops.conv2d(draw(1, 1, 3, 3), draw(1, 1, 2, 2, tracked=True))
    y.sum().backward()
    with pytest.raises(TapeError, match="consumed"):
        y.sum().backward()
