"""Writing in place: NumPy's meaning, casts, versions, and what is refused."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, IndexRangeError, ShapeError, TapeError

DTYPES = ("bool", "int32", "int64", "float16", "float32", "float64")
KEYS = (
    (slice(None), 2.5), (0, [1.0, 0.0, 2.0, 3.0]), ((slice(None, None, -1), slice(1, None, 2)), [[1.0, 2.0]]),
    (Ellipsis, 1),    ((2, 3), True), ((slice(0, 0),), 5.0), ((None, slice(1)), np.ones((1, 1, 4))),
)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("key", "value"), KEYS, ids=str)
def test_assignment_as_in_numpy(key, value, dtype):
    want = np.arange(12).reshape(3, 4).astype(dtype)
    got = fnb.tensor(want)
    want[key] = value
    got[key] = value
    np.testing.assert_array_equal(got.numpy(), want)
    assert got.dtype == want.dtype


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_values_are_cast(source, target):
    value = np.array([0, 1, 3.75, 2]).astype(source)
    want = np.zeros(4, target)
    want[...] = value
    assert fnb.tensor(np.zeros(4, target)).assign_(fnb.tensor(value)).tolist() == want.tolist()


def test_an_assignment_writes_the_value_and_not_the_gradient():
    w = fnb.Parameter(fnb.tensor([1.0, 2.0]))
    (w * w).sum().backward()
    with fnb.no_grad():
        w[1] = 5.0
    assert w.tolist() == [1, 5]
    assert w.grad.tolist() == [2, 4]
    w.grad[0] = 7.0
    assert w.grad.tolist() == [7, 4]
    assert w.tolist() == [1, 5]


def test_a_value_that_overlaps_its_target_is_copied_first():
    for key, value in (
        (slice(1, None), slice(None, -1)),
        (slice(None, -1), slice(1, None)),
        (slice(None), slice(None, None, -1)),
    ):
        want = np.arange(1000.0)
        got = fnb.tensor(want)
        got[key] = got[value]
        want[key] = want[value].copy()
        np.testing.assert_array_equal(got.numpy(), want)


def test_views_share_what_is_written():
    x = fnb.tensor(np.zeros((2, 3)))
    x[1][::2] = 4.0
    x.T.assign_(x.T + 1.0)
    assert x.tolist() == [[1, 1, 1], [5, 1, 5]]


def test_a_saved_value_that_changes_is_noticed_in_backward():
    w, x = fnb.tensor([2.0], requires_grad=True), fnb.tensor([3.0])
    total = (w * x).sum()
    x[0] = 4.0
    with pytest.raises(TapeError, match="changed in place"):
        total.backward()


def test_augmented_assignment_of_an_entry():
    x = fnb.tensor([1.0, 2.0])
    x[1] += 5.0
    assert x.tolist() == [1, 7]


def test_tracked_tensors_are_refused_unless_off_the_tape():
    w, x = fnb.tensor([1.0, 2.0], requires_grad=True), fnb.tensor([0.0, 0.0])
    for target in (w, w * 2.0, w[:1]):
        with pytest.raises(TapeError, match="inside no_grad"):
            target[...] = 0.0
        with pytest.raises(TapeError, match="concat, stack"):
            target.assign_(0.0)
    with pytest.raises(TapeError, match="would lose its gradient"):
        x[0] = w[0]
    x[0] = w[0].detach()
    with fnb.no_grad():
        w[0] = 5.0
        w.assign_(w + x)
    assert w.tolist() == [6, 2]
    assert w.requires_grad


@pytest.mark.parametrize(
    ("key", "value", "error", "match"),
    [
        (0, [1.0, 2.0], ShapeError, r"shape \(2,\), which does not broadcast to shape \(3,\)"),
        (0, [[1.0, 2.0, 3.0]], ShapeError, "does not broadcast"),
        (5, 1.0, IndexRangeError, "index 5"),
        ([0, 1], 1.0, ArgumentError, "scatter_add_"),
        ("x", 1.0, ArgumentError, "of type str"),
    ],
    ids=str,
)
def test_errors(key, value, error, match):
    with pytest.raises(error, match=match):
        fnb.tensor(np.zeros((2, 3)))[key] = value


def test_a_broadcast_view_is_not_written_to():
    with pytest.raises(ArgumentError, match="share memory"):
        ops.broadcast_to(fnb.tensor([1.0]), (3,)).assign_(2.0)


class TestCache:
    def test_rows_are_appended_head_by_head(self):
        cache, want = fnb.tensor(np.zeros((2, 5, 3), np.float32)), np.zeros((2, 5, 3))
        length = 0
        for t in (2, 1, 0, 2):
            src = np.full((2, t, 3), t + length, np.float32)
            assert ops.kv_append(cache, fnb.tensor(src), length) is cache
            want[:, length : length + t] = src
            length += t
        np.testing.assert_array_equal(cache.numpy(), want)
        with pytest.raises(ShapeError, match="1 rows at length 5 does not fit the cache's capacity 5"):
            ops.kv_append(cache, fnb.tensor(np.zeros((2, 1, 3), np.float32)), length)

    def test_only_the_new_rows_are_written(self):
        cache = fnb.tensor(np.full((2, 4, 2), np.nan))
        ops.kv_append(cache, fnb.tensor(np.ones((2, 2, 2))), 1)
        assert np.isnan(cache.numpy()[:, [0, 3]]).all()

    def test_the_version_is_bumped(self):
        cache = fnb.tensor(np.zeros((1, 2, 1)))
        before = cache.memory.version
        ops.kv_append(cache, np.ones((1, 1, 1)), 0)
        assert cache.memory.version == before + 1

    @pytest.mark.parametrize("shape", [(1, 1, 3), (2, 1, 4), (2, 3)])
    def test_wrong_shapes(self, shape):
        with pytest.raises(ShapeError, match="kv_append got cache"):
            ops.kv_append(fnb.tensor(np.zeros((2, 5, 3))), np.zeros(shape), 0)

    def test_tracked_tensors_are_refused(self):
        src = fnb.tensor(np.ones((1, 1, 1)), requires_grad=True)
        with pytest.raises(TapeError, match="kv_append"):
            ops.kv_append(fnb.tensor(np.zeros((1, 2, 1))), src, 0)


@pytest.mark.usefixtures("each_backend")
def test_what_is_added_in_place_is_read_before_it_is_written():
    x = fnb.tensor(np.arange(40, dtype="float32"))
    x.add_in_place(x[::-1])
    assert x.tolist() == [39.0] * 40
    x.add_in_place(x)
    assert x.tolist() == [78.0] * 40


def test_a_copied_column_keeps_what_is_added_to_it():
    """A slice copy followed by += loses the addition in compiled parallel loops elsewhere (numba/numba#5942)."""
    x = fnb.tensor(np.zeros((10, 2)))
    x[:, 0] = fnb.tensor(np.arange(10.0))
    x[:, 1] = x[:, 0]
    x[:, 1] = x[:, 1] + 1.0
    assert x.numpy()[:, 1].tolist() == list(range(1, 11))
