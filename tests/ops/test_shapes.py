"""diagonal, triangles, pad, roll, and elements along an axis: NumPy's meaning in any layout, gradients, errors."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, DTypeError, IndexRangeError, ShapeError

DTYPES = ["bool", "int32", "int64", "float16", "float32", "float64"]


def counting(*shape):
    return np.arange(np.prod(shape)).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_kept(dtype):
    x = (counting(3, 4) % 3).astype(dtype)
    t = fnb.tensor(x)
    for found, wanted in (
        (t.diagonal(1), np.diagonal(x, 1)),
        (ops.tril(t), np.tril(x)),
        (ops.triu(t, -1), np.triu(x, -1)),
        (ops.pad(t, 1), np.pad(x, 1)),
        (ops.pad(t, 2, "reflect"), np.pad(x, 2, "reflect")),
        (ops.roll(t, 5), np.roll(x, 5)),
        (ops.take_along_axis(t, [[1], [0], [3]]), x[[[0], [1], [2]], [[1], [0], [3]]]),
    ):
        assert found.dtype.name == dtype
        np.testing.assert_array_equal(found.numpy(), wanted)


def test_a_diagonal_is_a_view_of_any_layout():
    x = counting(4, 3, 5).astype("float64")
    t = fnb.tensor(x)
    assert t.diagonal().memory is t.memory
    turned = ops.transpose(t, (2, 0, 1))[::-1]
    np.testing.assert_array_equal(turned.diagonal(-1, 2, 0).numpy(), x.transpose(2, 0, 1)[::-1].diagonal(-1, 2, 0))


def test_a_trace_has_the_identity_as_gradient():
    x = fnb.tensor(np.ones((3, 3)), requires_grad=True)
    x.diagonal().sum().backward()
    assert x.grad.tolist() == np.eye(3).tolist()


def test_a_triangle_has_no_infinities_of_the_other():
    x = fnb.tensor([[1.0, np.inf], [2.0, 3.0]], requires_grad=True)
    out = ops.tril(x)
    out.sum().backward()
    assert (out.tolist(), x.grad.tolist()) == ([[1, 0], [2, 3]], [[1, 0], [1, 1]])


def test_copies_in_a_margin_share_in_the_gradient():
    x = fnb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    ops.pad(x, 2, "reflect").sum().backward()
    assert x.grad.tolist() == [2, 3, 2]
    x.grad = None
    ops.pad(x, (1, 2), constant_values=9.0).sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


def test_pad_of_nothing_and_by_nothing():
    assert ops.pad(fnb.tensor(5.0), 3).tolist() == 5
    assert ops.pad(fnb.tensor([1.0]), 0, "edge").tolist() == [1]


@pytest.mark.parametrize("width", [-1, (1, 2, 3), 1.5, ((1, 2), (3, 4), (5, 6))])
def test_widths_that_are_refused(width):
    with pytest.raises(ArgumentError, match="pad got pad_width=.*a pair for each axis"):
        ops.pad(fnb.tensor([[1.0]]), width)


def test_modes_that_are_refused():
    with pytest.raises(ArgumentError, match="pad got mode='mean': it knows constant, edge"):
        ops.pad(fnb.tensor([1.0]), 1, "mean")
    with pytest.raises(ShapeError, match="axis 0 has no element to copy"):
        ops.pad(fnb.tensor(np.zeros(0)), 1, "edge")


def test_roll_adds_up_shifts_of_one_axis():
    x = counting(4, 3)
    assert ops.roll(fnb.tensor(x), (1, 2), (0, 0)).tolist() == np.roll(x, (1, 2), (0, 0)).tolist()
    assert ops.roll(fnb.tensor(x), (1, 2)).tolist() == np.roll(x, (1, 2)).tolist()
    with pytest.raises(ArgumentError, match="one shift for all axes, or one for each"):
        ops.roll(fnb.tensor(x), (1, 2, 3), (0, 1))
    with pytest.raises(ShapeError, match="roll got axis=2"):
        ops.roll(fnb.tensor(x), 1, 2)


def test_numbers_along_an_axis_broadcast():
    x = np.random.default_rng(0).uniform(size=(3, 4))
    order = np.argsort(x, axis=1)
    np.testing.assert_array_equal(ops.take_along_axis(fnb.tensor(x), order, 1).numpy(), np.sort(x, axis=1))
    t = fnb.tensor(x, requires_grad=True)
    ops.take_along_axis(t, fnb.tensor([[1, 1, -1]]), axis=1).sum().backward()
    assert t.grad.tolist() == [[0, 2, 0, 1]] * 3
    t = fnb.tensor(x[:1], requires_grad=True)
    ops.take_along_axis(t, np.array([[0], [3], [3]]), axis=1).sum().backward()
    assert t.grad.tolist() == [[1, 0, 0, 2]]


def test_adding_up_along_an_axis():
    ids, src = [[0, 2, 0]], fnb.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    out = ops.scatter_add_along_axis(ids, src, 4)
    assert out.tolist() == [[4, 0, 2, 0]]
    (out * fnb.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert src.grad.tolist() == [[1, 3, 1]]


def test_what_does_not_fit_along_an_axis():
    x = fnb.tensor(np.zeros((2, 3)))
    with pytest.raises(IndexRangeError, match="take_along_axis got id 3 at position 0"):
        ops.take_along_axis(x, [[3]])
    with pytest.raises(DTypeError, match="whole numbers"):
        ops.take_along_axis(x, [[0.5]])
    with pytest.raises(ShapeError, match="same number of dimensions"):
        ops.take_along_axis(x, [0], 1)
    with pytest.raises(ShapeError, match="take_along_axis got axis=2 where there are 2 dimensions"):
        ops.take_along_axis(x, [[0]], 2)
    with pytest.raises(ShapeError, match="axes other than 1 must agree or be 1"):
        ops.take_along_axis(x, [[0]] * 3)
    with pytest.raises(ShapeError, match=r"numbers of shape \(1, 2\) for src of shape \(1, 3\)"):
        ops.scatter_add_along_axis([[0, 1]], x[:1], 3)
    with pytest.raises(IndexRangeError, match="scatter_add_along_axis got id 5"):
        ops.scatter_add_along_axis([[0, 1, 5]], x[:1], 3)


def test_diagonals_that_do_not_exist():
    with pytest.raises(ShapeError, match=r"diagonal got axes \(0, -2\) where there are 2 dimensions: it needs two"):
        ops.diagonal(fnb.tensor([[1.0]]), 0, 0, -2)
    with pytest.raises(ShapeError, match="diagonal got axis2=2 where there are 2 dimensions: the axis must exist"):
        ops.diagonal(fnb.tensor([[1.0]]), 0, 0, 2)
    with pytest.raises(ShapeError, match="a diagonal of shape \\(2,\\)"):
        ops.undiagonal(fnb.tensor([1.0]), (2, 2))
    for f in (ops.tril, ops.triu):
        with pytest.raises(ShapeError, match="without dimensions"):
            f(fnb.tensor(1.0))
