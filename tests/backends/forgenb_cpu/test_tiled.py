"""Products by the register tile and by libraries: right at every edge, the same bits for any number of threads."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from forgenb_cpu import dispatch, stream
from forgenb_cpu.tiled import ROWS, ROWS_ACROSS, tile_blocks
from support.blas import WAYS

import forgenb as fnb

SIZES = (1, 3, 8, 12, 13, 33, 101), (1, 5, 16, 31, 33, 70, 129), (0, 1, 7, 257, 600)
TOLERANCE = {"float32": 2e-5, "float64": 1e-13}


@pytest.fixture(params=WAYS)
def backend(request, monkeypatch):
    """A backend whose products all go one way, whatever their size."""
    found = fnb.tensor(0.0).backend
    monkeypatch.setattr(found, "blas", request.param)
    monkeypatch.setattr(dispatch, "LIBRARY_FLOP", 0)
    monkeypatch.setattr(dispatch, "LIBRARY_SIDE", 0)
    return found


def agree(out, wanted, dtype):
    np.testing.assert_allclose(out, wanted, rtol=0, atol=TOLERANCE[dtype] * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_every_edge(backend, dtype):
    rng = np.random.default_rng(0)
    for (m, n, k), trans_a, trans_b in itertools.product(itertools.product(*SIZES), (False, True), (False, True)):
        a = rng.standard_normal((k, m) if trans_a else (m, k)).astype(dtype)
        b = rng.standard_normal((n, k) if trans_b else (k, n)).astype(dtype)
        bias = rng.standard_normal(n).astype(dtype) if (m + n) % 2 else None
        given = None if bias is None else fnb.tensor(bias)
        out = fnb.ops.matmul(fnb.tensor(a), fnb.tensor(b), given, trans_a, trans_b, 0.5).numpy()
        wanted = 0.5 * (a.T if trans_a else a).astype("f8") @ (b.T if trans_b else b).astype("f8")
        agree(out, wanted if bias is None else wanted + bias, dtype)


@pytest.mark.parametrize(("m", "n"), [(5, 9), (7, 1), (1, 300)])
def test_a_part_of_what_is_there_is_added(backend, m, n):
    rng = np.random.default_rng(2)
    a, b, before = (rng.standard_normal(shape) for shape in ((m, 300), (300, n), (m, n)))
    left, right, out = (fnb.tensor(x) for x in (a, b, before))
    places = left.address, right.address, out.address, 0
    backend.gemm("float64", (m, n, 300), (False, False), (2.0, 0.25), places, ((300, n, n), (0,) * 6), (1, 1))
    agree(out.numpy(), 2 * a @ b + before / 4, "float64")


def test_a_column_of_a_wider_matrix(backend):
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((40, 300)), rng.standard_normal((300, 1))
    left, right, out = fnb.tensor(a), fnb.tensor(b), fnb.tensor(np.zeros((40, 3)))
    places = left.address, right.address, out.address, 0
    backend.gemm("float64", (40, 1, 300), (False, False), (1.0, 0.0), places, ((300, 1, 3), (0,) * 6), (1, 1))
    agree(out.numpy(), np.hstack([a @ b, np.zeros((40, 2))]), "float64")


@pytest.mark.parametrize("scales", [(1.0, 0.0), (2.0, 0.25)])
def test_a_column_times_a_column_of_a_wider_matrix(scales, backend):
    rng = np.random.default_rng(6)
    a, b, before = (rng.standard_normal(shape) for shape in ((41, 300), (300, 3), (41, 1)))
    left, right, out = fnb.tensor(a), fnb.tensor(b), fnb.tensor(before)
    places = left.address, right.address + 8, out.address, 0
    backend.gemm("float64", (41, 1, 300), (False, False), scales, places, ((300, 3, 1), (0,) * 6), (1, 1))
    agree(out.numpy(), scales[0] * a @ b[:, 1:2] + scales[1] * before, "float64")


def test_terms_that_are_not_there_leave_the_sign_of_a_zero(monkeypatch):
    monkeypatch.setattr(fnb.tensor(0.0).backend, "blas", "tile")
    tiny, bias = np.full((2, 17), 1e-30, "float32"), fnb.tensor(np.full(2, -0.0, "float32"))
    for b, across in ((-tiny, True), (-tiny.T, False)):  # each product is too small, and rounds to -0
        out = fnb.ops.matmul(fnb.tensor(tiny[:1]), fnb.tensor(b.copy()), bias, trans_b=across).numpy()
        np.testing.assert_array_equal(out, 0)
        assert np.signbit(out).all()


def test_bits_for_any_number_of_threads(backend):
    rng = np.random.default_rng(1)
    before, found = backend.threads, []
    shapes = ((300, 700), (700, 500)), ((700, 300), (700, 500)), ((300, 700), (500, 700)), ((1, 700), (1500, 700))
    pairs = [[fnb.tensor(rng.standard_normal(s).astype("float32")) for s in both] for both in shapes]
    try:
        for threads in (1, 2, 3):
            backend.threads = threads
            flags = (False, False), (True, False), (False, True), (False, True)
            results = [fnb.ops.matmul(a, b, None, *f) for (a, b), f in zip(pairs, flags, strict=True)]
            found.append([out.numpy().copy() for out in results])
    finally:
        backend.threads = before
    for other in found[1:]:
        for first, again in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(first, again)


def test_bits_wherever_operands_lie(backend):
    rng = np.random.default_rng(5)
    m, n, k = 203, 190, 301
    a, b = (rng.standard_normal(length).astype("float32") for length in (m * k, k * n))
    found = []
    for gap in (0, 1, 5):
        left, right = (fnb.tensor(np.concatenate([np.zeros(gap, "float32"), x])) for x in (a, b))
        out = fnb.tensor(np.zeros((m, n), "float32"))
        places = left.address + 4 * gap, right.address + 4 * gap, out.address, 0
        backend.gemm("float32", (m, n, k), (False, False), (1.0, 0.0), places, ((k, n, n), (0,) * 6), (1, 1))
        found.append(out.numpy())
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


ROW_SHAPES = (300, 1, 300), (1, 300, 300), (1, 37, 601), (1, 2100, 90), (9, 1, 5), (1, 16, 16)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("m", "n", "k"), [(40, 70, 600), (200, 400, 300), *ROW_SHAPES])
def test_the_tile_gives_one_sum_however_operands_lie(m, n, k, dtype, monkeypatch):
    monkeypatch.setattr(fnb.tensor(0.0).backend, "blas", "tile")
    rng = np.random.default_rng(4)
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n)))
    wanted = fnb.ops.matmul(fnb.tensor(a), fnb.tensor(b)).numpy()
    across = fnb.tensor(a.T.copy()), fnb.tensor(b.T.copy())
    np.testing.assert_array_equal(fnb.ops.matmul(*across, None, True, True).numpy(), wanted)
    np.testing.assert_array_equal(fnb.ops.matmul(*across[::-1]).numpy(), wanted.T)


@pytest.mark.parametrize(("n", "k"), [(33_000, 20), (700, 601), (129, 257), (5, 40)])
def test_a_row_alone_has_the_bits_that_it_has_among_others(n, k, monkeypatch):
    monkeypatch.setattr(fnb.tensor(0.0).backend, "blas", "tile")
    rng = np.random.default_rng(7)
    rows, b, bias = (rng.standard_normal(shape).astype("float32") for shape in ((2, k), (k, n), n))
    both = fnb.ops.matmul(fnb.tensor(rows), fnb.tensor(b), fnb.tensor(bias)).numpy()
    agree(both, rows.astype("f8") @ b + bias, "float32")
    for row in range(2):
        alone = fnb.ops.matmul(fnb.tensor(rows[row : row + 1]), fnb.tensor(b), fnb.tensor(bias))
        np.testing.assert_array_equal(alone.numpy(), both[row : row + 1])


GUARDED = """
import ctypes, itertools, mmap
import numpy as np
import forgenb as fnb

libc = ctypes.CDLL(None)
libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
kept = []

def at_the_end(array):
    "A copy that ends where a page begins that may not be read."
    page = mmap.PAGESIZE
    whole = -(-array.nbytes // page) * page
    memory = mmap.mmap(-1, whole + page)
    kept.append(memory)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert libc.mprotect(start + whole, page, 0) == 0
    address = start + whole - array.nbytes
    ctypes.memmove(address, array.ctypes.data, array.nbytes)
    return address

backend = fnb.tensor(0.0).backend
backend.blas = "tile"
rng = np.random.default_rng(0)
flags = (False, True)
for m, n, k, trans_a, trans_b in itertools.product((1, 5, 13, 120), (1, 5, 16, 33), (1, 7, 300), flags, flags):
    a, b = rng.standard_normal((k, m) if trans_a else (m, k)), rng.standard_normal((n, k) if trans_b else (k, n))
    out, bias = np.zeros((m, n)), rng.standard_normal(n)
    places = [at_the_end(x.astype("float32")) for x in (a, b, out, bias)]
    steps = (a.shape[1], b.shape[1], n), (0,) * 6
    backend.gemm("float32", (m, n, k), (trans_a, trans_b), (1.0, 0.0), tuple(places), steps, (1, 1))
    found = np.ctypeslib.as_array((ctypes.c_float * (m * n)).from_address(places[2])).reshape(m, n)
    wanted = (a.T if trans_a else a) @ (b.T if trans_b else b) + bias
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="guards memory with Linux's mprotect")
def test_nothing_is_read_or_written_beyond_the_operands():
    result = subprocess.run([sys.executable, "-c", GUARDED], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr


NARROW = """
import itertools
import llvmlite.binding as llvm

class Features(llvm.FeatureMap):
    pass

found = Features({name: on and "avx512" not in name for name, on in llvm.get_host_cpu_features().items()})
llvm.get_host_cpu_features = lambda: found
import numpy as np
import forgenb as fnb
from forgenb_cpu.vectors import lanes

backend = fnb.tensor(0.0).backend
assert backend.blas == "scipy" and lanes("float32") == 8
backend.blas = "tile"
rng = np.random.default_rng(0)
flags = (False, True)
for m, n, k, trans_a, trans_b in itertools.product((1, 5, 13, 50), (1, 8, 17), (1, 300), flags, flags):
    a, b = rng.standard_normal((k, m) if trans_a else (m, k)), rng.standard_normal((n, k) if trans_b else (k, n))
    out = fnb.ops.matmul(fnb.tensor(a), fnb.tensor(b), None, trans_a, trans_b).numpy()
    np.testing.assert_allclose(out, (a.T if trans_a else a) @ (b.T if trans_b else b), rtol=0, atol=1e-11)
"""


def test_the_tile_of_processors_without_avx512():
    result = subprocess.run([sys.executable, "-c", NARROW], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("n", "k", "strips"), [(64, 64, 1), (384, 384, 2), (1536, 384, 2), (3072, 768, 4), (9000, 9, 1)]
)
def test_one_row_is_cut_into_few_long_strips(n, k, strips):
    assert stream.strips(n, k, False, "float32")[:3] == (1, 1, strips)


@pytest.mark.parametrize(("n", "k", "strips"), [(64, 64, 1), (100, 4096, 4), (200, 4096, 7), (50257, 768, 16)])
def test_one_row_and_a_matrix_across_are_cut_for_threads_though_strips_are_narrow(n, k, strips):
    assert stream.strips(n, k, True, "float32")[:3] == (1, 1, strips)


@pytest.mark.parametrize("flags", [*itertools.product((False, True), repeat=2)])
@pytest.mark.parametrize("shape", [(1, 1, 1), (200, 16, 16), (2048, 1536, 384), (384, 65, 2048), (5000, 5000, 5000)])
def test_blocks_cover_a_product_and_are_even(shape, flags):
    m, n, k = shape
    bands, height, strips, width = tile_blocks(1, m, n, k, flags, "float32")
    assert (bands - 1) * height < m <= bands * height
    assert (strips - 1) * width < n <= strips * width
    assert height <= (ROWS_ACROSS if flags[0] else ROWS)
    if 2 * m * n * k > 10**8:
        assert bands * strips >= 4
        assert bands * min(height, m) * strips * min(width, n) < 1.3 * m * n
    assert tile_blocks(64, m, n, k, flags, "float32")[1] >= height
