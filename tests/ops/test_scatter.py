"""take, scatter_add and scatter_add_: NumPy's meaning, fixed order, exact sums, ids checked first."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.backend import get_backend
from forgenb.errors import DTypeError, IndexRangeError, ShapeError, TapeError

DTYPES = ("bool", "int32", "int64", "float16", "float32", "float64")


@pytest.fixture
def threads():
    backend = get_backend("cpu")
    before = backend.threads

    def use(number):
        backend.threads = number

    yield use
    backend.threads = before


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_take_along_an_axis(axis, dtype):
    x = np.arange(24).reshape(2, 3, 4).astype(dtype)
    ids = np.array([[1, 0], [-1, 1]])
    got = ops.take(fnb.tensor(x), ids, axis)
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got.numpy(), np.take(x, ids, axis))


def test_take_of_views():
    rng = np.random.default_rng(0)
    x, ids = rng.normal(size=(6, 5)), rng.integers(-5, 5, (3, 4))
    np.testing.assert_array_equal(ops.take(fnb.tensor(x).T[:, ::-1], fnb.tensor(ids).T).numpy(), x.T[:, ::-1][ids.T])
    np.testing.assert_array_equal(
        ops.take(ops.broadcast_to(fnb.tensor(x[0]), (5, 5)), ids).numpy(), x[0] * np.ones((3, 4, 5))
    )


def test_second_order_of_take():
    x = fnb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    picked = x.take([0, 2, 2])
    (picked * picked * picked).sum().backward(create_graph=True)
    first = x.grad
    x.grad = None
    first.sum().backward()
    assert x.grad.tolist() == [6, 0, 36]


@pytest.mark.parametrize("dtype", DTYPES)
def test_scatter_adds_where_ids_repeat(dtype):
    src = np.arange(12).reshape(6, 2).astype(dtype)
    ids = [3, 1, 3, 3, -4, 1]
    want = np.zeros((5, 2))
    np.add.at(want, ids, src)
    got = ops.scatter_add(ids, fnb.tensor(src), 5)
    np.testing.assert_array_equal(got.numpy(), want.astype(dtype))
    dst = fnb.tensor(np.ones((5, 2), dtype))
    assert ops.scatter_add_(dst, ids, fnb.tensor(src)) is dst
    np.testing.assert_array_equal(dst.numpy(), (want + 1).astype(dtype))


def test_scatter_into_a_view_touches_its_elements_only():
    base = fnb.tensor(np.zeros((4, 6), np.float32))
    ops.scatter_add_(base[::-2, 1::3], [0, 0, 1], fnb.tensor(np.ones((3, 2), np.float32)))
    want = np.zeros((4, 6))
    want[3, 1::3], want[1, 1::3] = 2, 1
    np.testing.assert_array_equal(base.numpy(), want)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 4096, 10_000])
def test_any_number_of_threads_gives_the_same_bits(n, threads):
    rng = np.random.default_rng(n)
    ids, src = rng.integers(0, 7, n) ** 2, fnb.tensor(rng.normal(size=(n, 33)).astype(np.float32))
    results = []
    for number in (1, 2, 5):
        threads(number)
        results += [ops.scatter_add(ids, src, 40).numpy().tobytes() for _ in range(3)]
    assert len(set(results)) == 1
    want = np.zeros((40, 33))
    np.add.at(want, ids, src.numpy())
    np.testing.assert_allclose(np.frombuffer(results[0], np.float32).reshape(40, 33), want, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("number", [1, 2, 8])
def test_a_million_contributions_to_one_row_add_up_exactly(number, threads):
    threads(number)
    table = fnb.tensor(np.zeros((3, 2), np.float32), requires_grad=True)
    ops.take(table, np.zeros(1_000_000, np.int64)).sum().backward()
    assert table.grad.tolist() == [[1e6, 1e6], [0, 0], [0, 0]]


def test_a_million_thirds_keep_their_digits():
    src = fnb.tensor(np.full((1_000_000, 1), 1 / 3, np.float32))
    got = ops.scatter_add(np.zeros(1_000_000, np.int64), src, 1).item()
    assert abs(got / (1e6 * float(np.float32(1 / 3))) - 1) < 2e-5


def test_contributions_keep_their_order():
    src = fnb.tensor(np.array([[1e8], [1.0], [-1e8]], np.float32))
    assert ops.scatter_add([0, 0, 0], src, 1).item() == 0
    assert ops.scatter_add([0, 0, 0], src[::-1], 1).item() == 0
    assert ops.scatter_add([0, 0, 0], ops.take(src, [0, 2, 1]), 1).item() == 1


@pytest.mark.parametrize(
    ("ids", "match"),
    [
        ([0, 5], "id 5 at position 1, but axis 0 has size 5"),
        ([[-6]], "id -6 at position 0"),
        ([2**62], "ids must lie in"),
    ],
)
def test_ids_out_of_range_launch_nothing(ids, match):
    x, ids = fnb.tensor(np.zeros((5, 2))), np.array(ids)
    before = fnb.stats()
    for call in (
        lambda: ops.take(x, ids),
        lambda: ops.scatter_add(ids, fnb.tensor(np.zeros((*ids.shape, 2))), 5),
        lambda: ops.scatter_add_(x, ids, fnb.tensor(np.zeros((*ids.shape, 2)))),
    ):
        with pytest.raises(IndexRangeError, match=match):
            call()
    assert fnb.stats().since(before).launches == 0


def test_no_row_can_be_taken_from_an_empty_axis():
    with pytest.raises(IndexRangeError, match="axis 0 has size 0"):
        ops.take(fnb.tensor(np.zeros((0, 3))), [0])


@pytest.mark.parametrize("ids", [[0.5], [True, False], fnb.tensor([1.0])], ids=str)
def test_ids_are_whole_numbers(ids):
    with pytest.raises(DTypeError, match="whole numbers"):
        ops.take(fnb.tensor(np.zeros((5, 2))), ids)


def test_wrong_shapes_and_dtypes():
    x = fnb.tensor(np.zeros((5, 2)))
    with pytest.raises(ShapeError, match="axis=2"):
        ops.take(x, [0], 2)
    with pytest.raises(ShapeError, match="must begin with it"):
        ops.scatter_add([0, 1], x, 5)
    with pytest.raises(ShapeError, match="one shape and one dtype"):
        ops.scatter_add_(x, [0], fnb.tensor(np.zeros((1, 3))))
    with pytest.raises(DTypeError, match="dtype float32"):
        ops.scatter_add_(x, [0], fnb.tensor([[1.0, 2.0]]))
    with pytest.raises(ShapeError, match="without dimensions"):
        ops.scatter_add_(fnb.tensor(1.0), 0, 1.0)
    with pytest.raises(ShapeError, match="without dimensions"):
        ops.sum_rows(1.0)


def test_scatter_in_place_bumps_the_version_and_refuses_tracked_tensors():
    x = fnb.tensor([[1.0], [2.0]])
    w = fnb.tensor([[1.0], [1.0]], requires_grad=True)
    product = (w * x).sum()
    ops.scatter_add_(x, [1], fnb.tensor([[1.0]]))
    with pytest.raises(TapeError, match="changed in place"):
        product.backward()
    for dst, src in ((w, x), (x, w)):
        with pytest.raises(TapeError, match="use scatter_add, or no_grad"):
            ops.scatter_add_(dst, [0, 1], src)
    with fnb.no_grad():
        assert ops.scatter_add_(w, [0, 1], x).tolist() == [[2], [4]]


def test_ids_changed_after_forward_are_noticed():
    x, ids = fnb.tensor([1.0, 2.0], requires_grad=True), fnb.tensor([0, 1])
    total = ops.take(x, ids).sum()
    ids[0] = 1
    with pytest.raises(TapeError, match="changed in place"):
        total.backward()


def test_sum_rows():
    x = fnb.tensor(np.arange(24.0).reshape(2, 3, 4), requires_grad=True)
    out = ops.sum_rows(x)
    assert out.tolist() == [60, 66, 72, 78]
    (out * fnb.tensor(np.arange(4.0))).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.broadcast_to(np.arange(4.0), (2, 3, 4)))


def test_a_table_of_more_than_128_mib_is_looked_up_and_has_a_gradient():
    rows, n = 2**18 + 3, 129
    table = fnb.tensor(np.zeros((rows, n), np.float32), requires_grad=True)
    assert table.size * 4 > 2**27
    with fnb.no_grad():
        table[-1] = 2.0
    ids = [rows - 1, 0, rows - 1]
    out = ops.embedding(ids, table)
    assert out.numpy()[:, 0].tolist() == [2, 0, 2]
    out.sum().backward()
    found = table.grad.numpy()
    assert found[-1].tolist() == [2.0] * n
    assert found[0].tolist() == [1.0] * n
    assert not found[1:-1].any()
