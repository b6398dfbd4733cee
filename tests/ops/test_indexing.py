"""Indexing against NumPy: values, views, gradients, errors."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, DTypeError, IndexRangeError, ShapeError
from forgenb.ops.indexing import KEYS

DTYPES = ("bool", "int32", "int64", "float16", "float32", "float64")


def numbered(shape, dtype="float64"):
    return np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype)


def gradient(f, x):
    leaf = fnb.tensor(x, requires_grad=True)
    f(leaf).backward()
    return leaf.grad.numpy()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "key"), KEYS, ids=str)
def test_basic_keys_as_in_numpy(shape, key, dtype):
    x = numbered(shape, dtype)
    got = fnb.tensor(x)[key]
    assert got.shape == x[key].shape
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got.copy().numpy(), x[key])


def test_a_basic_key_makes_a_view():
    x = fnb.tensor(numbered((3, 4)))
    before = fnb.stats()
    view = x[::-1, 1::2]
    assert fnb.stats().since(before).allocations == 0
    x[2, 1] = -5
    assert view.tolist()[0][0] == -5


@pytest.mark.parametrize("step", [-1, -2, -3])
@pytest.mark.parametrize("n", [1, 5, 700, 40_000])
def test_negative_strides_in_every_place_of_a_map(n, step):
    x, y = numbered((n,)), numbered((2, n))
    a, b = fnb.tensor(x)[::step], fnb.tensor(y)[::-1, ::step]
    np.testing.assert_array_equal((a + b).numpy(), x[::step] + y[::-1, ::step])
    np.testing.assert_array_equal((b * 2.0 + a).numpy(), y[::-1, ::step] * 2 + x[::step])
    np.testing.assert_allclose(b.sum(axis=1).numpy(), y[::-1, ::step].sum(axis=1))
    target = fnb.tensor(y)
    target[::-1, ::step] = a
    y[::-1, ::step] = x[::step]
    np.testing.assert_array_equal(target.numpy(), y)


def test_views_of_views():
    x = numbered((6, 5))
    np.testing.assert_array_equal(fnb.tensor(x)[::-2][1:, ::-1].T[2].numpy(), x[::-2][1:, ::-1].T[2])


def test_overlapping_views_add_up():
    assert gradient(lambda x: (x[:3] * x[1:]).sum(), numbered(4)).tolist() == [2, 4, 6, 3]


def test_second_order_through_a_view():
    x = fnb.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    part = x[::-2]
    (part * part * part).sum().backward(create_graph=True)
    first = x.grad
    x.grad = None
    first.sum().backward()
    assert x.grad.tolist() == [0, 12, 0, 24]


@pytest.mark.parametrize("ids", [[2, 0, 2], np.array([[0, -1], [1, 1]]), [], np.int64([1])], ids=str)
@pytest.mark.parametrize("wrap", [lambda i: i, fnb.tensor], ids=["host", "tensor"])
def test_index_arrays_pick_rows(ids, wrap):
    x = numbered((3, 4))
    where = np.asarray(ids, np.int64)
    got = fnb.tensor(x)[wrap(where) if wrap is fnb.tensor else ids]
    np.testing.assert_array_equal(got.numpy(), x[where])
    seed = numbered(x[where].shape)
    want = np.zeros_like(x)
    np.add.at(want, where, seed)
    np.testing.assert_array_equal(gradient(lambda t: (t[where] * fnb.tensor(seed)).sum(), x), want)


def test_two_index_arrays_pick_pairs():
    x = numbered((3, 4, 2))
    key = (np.array([[0], [-1]]), np.array([1, 3]))
    np.testing.assert_array_equal(fnb.tensor(x)[key].numpy(), x[key])
    np.testing.assert_array_equal(fnb.tensor(x)[1, [0, 2]].numpy(), x[1, [0, 2]])


@pytest.mark.parametrize("shape", [(3,), (3, 4)])
def test_masks_pick_where_true(shape):
    x = numbered((3, 4))
    mask = numbered(shape) % 2 == 0
    np.testing.assert_array_equal(fnb.tensor(x)[mask].numpy(), x[mask])
    np.testing.assert_array_equal(fnb.tensor(x)[fnb.tensor(mask)].numpy(), x[mask])
    np.testing.assert_array_equal(fnb.tensor(x)[np.zeros(shape, bool)].numpy(), x[np.zeros(shape, bool)])


def test_whole_numbers_of_every_kind_are_indices():
    x = fnb.tensor(numbered(3))
    assert [x[i].item() for i in (1, np.int32(1), np.array(1), fnb.tensor(1))] == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("key", "error", "match"),
    [
        (3, IndexRangeError, r"index 3 is out of range for axis 0 of shape \(3, 4\)"),
        ((0, -5), IndexRangeError, "index -5 is out of range for axis 1"),
        ((0, 0, 0), IndexRangeError, "3 indices for shape"),
        (([0], [0], [0]), IndexRangeError, "3 index arrays for shape"),
        ([0, 3], IndexRangeError, "id 3 at position 1, but axis 0 has size 3"),
        (([0], [-5]), IndexRangeError, "id -5 at position 0, but axis 1 has size 4"),
        (True, ArgumentError, "scalar True"),
        (1.5, ArgumentError, "1.5 of type float"),
        ("a", ArgumentError, "of type str"),
        (slice(None, None, 0), ArgumentError, "the step is not 0"),
        (slice(0.5), ArgumentError, "bounds are whole numbers"),
        ((Ellipsis, Ellipsis), ArgumentError, "more than once"),
        ((slice(None), [0]), ArgumentError, "come first"),
        ([0.5], DTypeError, "dtype float64"),
        ([True, False], ShapeError, r"mask of shape \(2,\)"),
        (([0, 1], [0, 1, 2]), ShapeError, "do not broadcast"),
    ],
    ids=str,
)
def test_bad_keys(key, error, match):
    with pytest.raises(error, match=match):
        fnb.tensor(numbered((3, 4)))[key]


def test_indexing_errors_are_also_pythons():
    assert issubclass(IndexRangeError, IndexError)
    with pytest.raises(IndexError):
        fnb.tensor(1.0)[0]


def test_iteration_gives_tracked_rows():
    x = fnb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    first, second = x
    (first * second).sum().backward()
    assert x.grad.tolist() == [[3, 4], [1, 2]]
    assert [row.tolist() for row in fnb.tensor(np.zeros((0, 2)))] == []
    assert len(x) == 2
    with pytest.raises(TypeError, match="cannot be iterated"):
        list(fnb.tensor(1.0))


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
def test_flip(axis):
    x = numbered((2, 3, 4))
    np.testing.assert_array_equal(ops.flip(fnb.tensor(x), axis).numpy(), np.flip(x, axis))


def test_unslice_refuses_another_shape():
    with pytest.raises(ShapeError, match=r"shape \(2,\) for a key that selects \(3,\)"):
        ops.unslice(fnb.tensor([1.0, 2.0]), (3,), slice(None))
