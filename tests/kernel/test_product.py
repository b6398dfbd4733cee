"""The product as a kernel: every layout, batch, transpose, bias and scale that `gemm` takes, on python and compiled."""

import itertools

import numpy as np
import pytest
from forgenb_cpu.templates import operand_types

import forgenb as fnb
from forgenb.backend import get_backend, seam
from forgenb.kernel.product import dot, product_block, product_kernel

CASES = list(itertools.product((False, True), (False, True), ("none", "bias", "beta"), ((1, 1), (2, 3))))


def operand(rng, rows, columns, batch, spare):
    """A flat array with gaps, its matrices ``[outer, inner, rows, columns]``, leading dimension and batch strides."""
    leading = columns + spare
    inner = rows * leading + spare
    outer = batch[1] * inner + spare
    flat = rng.uniform(-1, 1, batch[0] * outer + spare)
    steps = tuple(s * flat.itemsize for s in (outer, inner, leading, 1))
    return flat, np.lib.stride_tricks.as_strided(flat, (*batch, rows, columns), steps), leading, (outer, inner)


def product(run, dtype, trans_a, trans_b, extra, batch, spare=2):
    """What `run` (a gemm) writes, what NumPy gives, and the bytes between the results before and after."""
    rng = np.random.default_rng(5)
    m, n, k = 3, 4, 5
    a_flat, a, lda, a_batch = operand(rng, *((k, m) if trans_a else (m, k)), batch, spare)
    b_flat, b, ldb, b_batch = operand(rng, *((n, k) if trans_b else (k, n)), batch, spare)
    out_flat, out, ldo, out_batch = operand(rng, m, n, batch, spare)
    bias = rng.uniform(-1, 1, n)
    wanted = 0.5 * ((a.swapaxes(2, 3) if trans_a else a) @ (b.swapaxes(2, 3) if trans_b else b))
    wanted += {"none": 0.0, "bias": bias, "beta": 2.0 * out}[extra]
    tensors = [fnb.tensor(t.astype(dtype)) for t in (a_flat, b_flat, out_flat, bias)]
    places = [t.address for t in tensors]
    places[3] = places[3] if extra == "bias" else 0
    steps = (lda, ldb, ldo), (*a_batch, *b_batch, *out_batch)
    scales = (0.5, 2.0 if extra == "beta" else 0.0)
    run(dtype, (m, n, k), (trans_a, trans_b), scales, tuple(places), steps, batch)
    result = tensors[2].numpy()
    strides = tuple(s * result.itemsize for s in (*out_batch, ldo, 1))
    found = np.lib.stride_tricks.as_strided(result, out.shape, strides)
    mask = np.ones(out_flat.shape, bool)
    np.lib.stride_tricks.as_strided(mask, out.shape, (*out_batch, ldo, 1))[...] = False
    np.testing.assert_array_equal(result[mask], out_flat.astype(dtype)[mask])
    return found, wanted


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("trans_a", "trans_b", "extra", "batch"), CASES)
def test_the_python_backends_product(dtype, trans_a, trans_b, extra, batch):
    with fnb.use("python"):
        run = get_backend("python").gemm
        found, wanted = product(run, dtype, trans_a, trans_b, extra, batch)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6 if dtype == "float32" else 1e-14)


@pytest.mark.parametrize(("trans_a", "trans_b", "extra", "batch"), CASES)
def test_the_kernel_compiled_gives_the_same(trans_a, trans_b, extra, batch):
    cpu = get_backend("cpu")

    def run(real, *arguments):
        rows, block = product_block(real, *arguments)
        seam.launch(cpu, product_kernel, real, (), rows, rows, block)

    with fnb.use("cpu"):
        found, wanted = product(run, "float32", trans_a, trans_b, extra, batch)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)
    assert operand_types(product_kernel, "float32") == ["float32"] * 4


def test_matrices_that_run_backwards():
    x = np.arange(12.0).reshape(3, 2, 2)
    with fnb.use("python"):
        t = fnb.tensor(x)
        np.testing.assert_array_equal((t[::-1] @ t).numpy(), x[::-1] @ x)


def test_nothing_to_sum_gives_the_bias():
    with fnb.use("python"):
        a, b, bias = (fnb.tensor(np.ones(s)) for s in ((2, 0), (0, 3), (3,)))
        assert fnb.ops.matmul(a, b, bias).tolist() == [[1.0] * 3] * 2
        assert fnb.ops.matmul(a, b).tolist() == [[0.0] * 3] * 2


def test_long_sums_keep_their_accuracy():
    n = 20_000
    values, ones = np.full(n, 0.1, np.float32), np.ones(n, np.float32)
    exact, running = n * float(np.float32(0.1)), np.cumsum(values)[-1]
    found = float(dot(values, 0, 1, ones, 0, 1, n))
    assert abs(found - exact) < 2e-5 * exact < abs(running - exact)


def test_unwritten_results_do_not_leak_into_sums():
    with fnb.use("python"):
        out = fnb.tensor([[1.0, 2.0]]) @ fnb.tensor([[1.0], [1.0]])
    assert out.tolist() == [[3.0]]
