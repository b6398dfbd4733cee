"""Products by the register tile and by SciPy's BLAS: right at every edge, the same bits for any number of threads."""

import itertools

import numpy as np
import pytest
from forgenb_cpu.plugin import blas_from_environment

import forgenb as fnb
from forgenb.errors import ArgumentError

SIZES = (1, 3, 8, 12, 13, 33, 100), (1, 5, 16, 31, 33, 70), (0, 1, 7, 257, 600)
TOLERANCE = {"float32": 2e-5, "float64": 1e-13}


@pytest.fixture(params=["tile", "scipy"])
def backend(request):
    found = fnb.tensor(0.0).backend
    before, found.blas = found.blas, request.param
    yield found
    found.blas = before


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
        wanted = wanted if bias is None else wanted + bias
        largest = max(1.0, np.abs(wanted).max())
        np.testing.assert_allclose(out, wanted, rtol=0, atol=TOLERANCE[dtype] * largest)


def test_bits_for_any_number_of_threads(backend):
    rng = np.random.default_rng(1)
    a, b = (fnb.tensor(rng.standard_normal(s).astype("float32")) for s in ((300, 700), (700, 500)))
    before, found = backend.threads, []
    try:
        for threads in (1, 2, 3):
            backend.threads = threads
            found.append((a @ b).numpy().copy())
    finally:
        backend.threads = before
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_a_choice_that_does_not_exist_is_refused(monkeypatch):
    monkeypatch.setenv("FORGENB_BLAS", "fast")
    with pytest.raises(ArgumentError, match="FORGENB_BLAS must be auto, tile or scipy, got 'fast'"):
        blas_from_environment()
    monkeypatch.setenv("FORGENB_BLAS", "scipy")
    assert blas_from_environment() == "scipy"
