"""Reductions of every awkward length, products, copies of views, ids, warnings: on the lane interpreter."""

import warnings

import numpy as np
import pytest
from support.cuda import installed, lane_backend

import forgenb as fnb
from forgenb.errors import IndexRangeError
from forgenb.layout import contiguous_strides

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 1023, 1025])
@pytest.mark.parametrize("width", [4, 32, 64])
def test_reductions_of_any_length(n, width):
    """A width above 32 takes the way through warps: trees of 32, then in order."""
    x = RNG.uniform(-1, 1, (2, n)).astype(np.float32)
    with installed(lane_backend(width)), fnb.use("cuda"):
        t = fnb.tensor(x)
        np.testing.assert_allclose(t.sum(1).numpy(), x.sum(1, dtype=np.float64), rtol=1e-5, atol=1e-5)
        if n:
            np.testing.assert_array_equal(t.max(1).numpy(), x.max(1))
            np.testing.assert_array_equal(t.min(1).numpy(), x.min(1))


@pytest.mark.parametrize("width", [4, 128])
def test_a_masked_softmax_hands_over_between_lanes(width):
    """Rows longer than a stretch of 64, where the lanes that fill the tail are not those that read it."""
    x = RNG.uniform(-2, 2, (3, 150)).astype(np.float32)
    backend = lane_backend(width)
    backend.machine.watching = True
    results = []
    for place in ("cuda", "cpu"):
        with installed(backend):
            t = fnb.tensor(x, requires_grad=True, backend=place)
            out = fnb.ops.softmax(t, causal=True, off=70)
            (out * out).sum().backward()
            results.append((out.numpy(), t.grad.numpy()))
    for found, wanted in zip(*results, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 5), (5, 4, 3), (3, 0, 2)])
@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
def test_products(cuda, shape, trans_a, trans_b):
    m, k, n = shape
    a, b = RNG.uniform(-1, 1, (2, k, m) if trans_a else (2, m, k)), RNG.uniform(-1, 1, (n, k) if trans_b else (k, n))
    bias = RNG.uniform(-1, 1, n)
    with fnb.use("cuda"):
        found = fnb.ops.matmul(*map(fnb.tensor, (a, b, bias)), trans_a, trans_b, 0.5).numpy()
    left, right = a.swapaxes(1, 2) if trans_a else a, b.T if trans_b else b
    np.testing.assert_allclose(found, 0.5 * left @ right + bias, rtol=1e-12)


def test_a_product_adds_to_what_is_there(cuda):
    a, b, c = (RNG.uniform(-1, 1, shape) for shape in ((3, 4), (4, 5), (3, 5)))
    with fnb.use("cuda"):
        x, y, out = map(fnb.tensor, (a, b, c))
        places = x.address, y.address, out.address, 0
        cuda.gemm("float64", (3, 5, 4), (0, 0), (2.0, 0.5), places, ((4, 5, 5), (0,) * 6), (1, 1))
        np.testing.assert_allclose(out.numpy(), 2 * a @ b + 0.5 * c, rtol=1e-12)


def test_products_do_not_depend_on_what_lies_beside_them(cuda):
    """Tiles that stick out read nothing and count as zero, also beside infinities."""
    a = np.full((3, 3), np.inf, np.float32)
    a[:, :2] = 1
    with fnb.use("cuda"):
        x = fnb.tensor(a)
        left, right = x.view((3, 2), (3, 1)), x.view((2, 3), (1, 3))
        np.testing.assert_array_equal((left @ right).numpy(), np.full((3, 3), 2, np.float32))


@pytest.mark.parametrize("key", [np.s_[1:, 2:], np.s_[::-1, ::2], np.s_[1:2, ::-3], np.s_[:, 5], np.s_[2:2]])
def test_a_view_comes_to_the_host_as_numpy_has_it(cuda, key):
    a = RNG.uniform(-1, 1, (4, 7)).astype(np.float32)
    with fnb.use("cuda"):
        x = fnb.tensor(a)
        host = x[key].numpy()
        np.testing.assert_array_equal(host, a[key])
        assert host.base is None or host.base.nbytes == host.nbytes
        np.testing.assert_array_equal(x[key].copy().numpy(), a[key])
        np.testing.assert_array_equal(x.numpy(), a)


def test_writing_a_view_leaves_its_neighbours(cuda):
    a = RNG.uniform(-1, 1, (4, 7)).astype(np.float32)
    with fnb.use("cuda"):
        x = fnb.tensor(a)
        x[1:, 2:] = 5.0
    a[1:, 2:] = 5
    np.testing.assert_array_equal(x.numpy(), a)


def test_a_copy_is_not_the_device_memory(cuda):
    with fnb.use("cuda"):
        x = fnb.tensor([1.0, 2.0])
        before = x.numpy()
        x[0] = 7.0
    assert before.tolist() == [1, 2]


@pytest.mark.parametrize("dtype", ["float16", "bool", "int32", "int64", "float64"])
def test_storage_dtypes(cuda, dtype):
    a = np.array([[-1.5, 0, 2.25], [3, 7000, -0.0]]).astype(dtype)
    with fnb.use("cuda"):
        x = fnb.tensor(a)
        np.testing.assert_array_equal(x.T.copy().numpy(), a.T)
        np.testing.assert_array_equal(fnb.ops.astype(x, "float32").numpy(), a.astype(np.float32))
    assert x.view((3, 2), contiguous_strides((3, 2))).numpy().tolist() == a.reshape(3, 2).tolist()


@pytest.mark.parametrize("ids", [[0, 5], [-6, 0]])
def test_ids_out_of_range_raise_before_a_launch(cuda, ids):
    with fnb.use("cuda"):
        table, place = fnb.tensor(np.eye(5)), fnb.tensor(np.array(ids))
        before = fnb.stats()
        with pytest.raises(IndexRangeError, match="must lie in"):
            fnb.ops.take(table, place)
        with pytest.raises(IndexRangeError, match="must be in 0"):
            fnb.ops.cross_entropy(fnb.tensor(np.eye(5)[:2]), place)
        assert fnb.stats().since(before).launches == 0


def test_ids_that_are_known_are_not_fetched_again_until_they_change(cuda):
    with fnb.use("cuda"):
        table, ids = fnb.tensor(np.eye(5)), fnb.tensor(np.array([1, 4]))
        fnb.ops.take(table, ids)
        before = fnb.stats()
        fnb.ops.take(table, ids)
        assert fnb.stats().since(before).syncs == 0
        ids.assign_(fnb.tensor(np.array([1, 5])))
        with pytest.raises(IndexRangeError, match="take got id 5"):
            fnb.ops.take(table, ids)
        with pytest.raises(IndexRangeError, match="take got id 4"):
            fnb.ops.take(fnb.tensor(np.eye(4)), fnb.tensor(np.array([1, 4])))


def test_tiny_launches_warn_of_nothing(cuda):
    with warnings.catch_warnings(), fnb.use("cuda"):
        warnings.simplefilter("error")
        x = fnb.tensor([0.0, -1.0], requires_grad=True)
        y = fnb.ops.log(x) / x + fnb.ops.exp(x * 1e30)
        y.sum().backward()
        assert not np.isfinite(x.grad.numpy()).all()


def test_the_source_shows_body_and_launcher(cuda):
    text = cuda.source(fnb.ops.gelu.__globals__["gelu_kernel"], "float32")
    assert "def gelu_kernel" in text
    assert "for position in elements_here(extent):" in text
