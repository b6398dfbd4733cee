"""Sums of a million numbers: the same bits on any number of threads, and values where adding one by one goes wrong."""

import math

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops

N = 1_000_003
EPS = float(np.finfo("float32").eps) / 2


def drawn(*shape):
    return np.random.default_rng(0).uniform(-1, 1, shape).astype("float32")


def leaf(*shape):
    return fnb.tensor(drawn(*shape), requires_grad=True)


def layernorm():
    x, gamma = leaf(N), leaf(N)
    return ops.layernorm(x, gamma, fnb.tensor(drawn(N))), x, gamma


def layernorm_of_rows():
    x, gamma = leaf(N, 3), leaf(3)
    return ops.layernorm(x, gamma, fnb.tensor(drawn(3))), x, gamma


def cross_entropy():
    x = leaf(N, 3)
    return ops.cross_entropy(x, np.arange(N) % 3), x


def of_one(f):
    def made():
        x = leaf(N)
        return f(x), x

    return made


WORK = {
    "sum": of_one(ops.sum),
    "mean": of_one(ops.mean),
    "norm": of_one(ops.norm),
    "layernorm": layernorm,
    "layernorm of rows": layernorm_of_rows,
    "mse_loss": of_one(lambda x: ops.mse_loss(x, np.zeros(N, "float32"))),
    "cross_entropy": cross_entropy,
}


@pytest.mark.parametrize("work", WORK)
def test_any_number_of_threads_gives_the_same_bits(work):
    before, found = fnb.settings.threads, set()
    try:
        for number in (1, 2, 4, 8):
            fnb.settings.threads = number
            out, *leaves = WORK[work]()
            (out * out).sum().backward()
            found.add((out.numpy().tobytes(), *(t.grad.numpy().tobytes() for t in leaves)))
    finally:
        fnb.settings.threads = before
    assert len(found) == 1


TRAPS = {
    "a ramp that cancels": np.arange(N) - N // 2,
    "tiny numbers after a big one": np.concatenate([[1e8], np.ones(N - 1)]),
    "tiny numbers between big ones that cancel": np.concatenate([[1e8], np.ones(N - 2), [-1e8]]),
    "equal numbers that are no binary fractions": np.full(N, 0.1),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_for_sums_that_add_one_by_one(trap):
    """Sums are made of blocks in a tree: off by 16 roundings of the sum of sizes, where one by one it is hundreds."""
    x = TRAPS[trap].astype("float32")
    exact, sizes = math.fsum(x.tolist()), math.fsum(np.abs(x).tolist())
    one_by_one = float(np.cumsum(x)[-1])
    assert abs(one_by_one - exact) > 30 * EPS * sizes
    t = fnb.tensor(x)
    found = [t.sum().item(), t.mean().item() * N, ops.stack([t, t], axis=1).sum(0).tolist()[1]]
    np.testing.assert_allclose(found, exact, rtol=0, atol=16 * EPS * sizes)


def test_statistics_of_a_long_row_far_from_zero():
    x = 100 + drawn(N)
    wide = x.astype("float64")
    wanted = (wide - wide.mean()) / np.sqrt(wide.var() + 1e-5)
    one, zero = (fnb.tensor(np.full(N, v, "float32")) for v in (1, 0))
    found = ops.layernorm(fnb.tensor(x), one, zero).numpy()
    np.testing.assert_allclose(found, wanted, atol=16 * EPS * 100 / wide.std())  # as above, of a mean of 100
    np.testing.assert_allclose(ops.var(fnb.tensor(x)).item(), wide.var(), rtol=1e-6)


def test_half_precision_is_summed_in_single():
    ones = fnb.tensor(np.ones(100_000, "float16"))
    assert (ones.mean().item(), ones.mean().dtype.name) == (1.0, "float16")
    assert ops.mse_loss(ones, ones * 0.0).item() == 1.0
    assert ops.norm(ones[:40_000]).item() == 200.0
