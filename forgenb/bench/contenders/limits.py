"""What the machine reaches at most, through forgenb itself: products in float32, and copies of large arrays."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import forgenb as fnb
from forgenb.ops.matmul import matmul

__all__ = ["limits"]

SHAPES = ((1024, 1024, 1024), (2048, 384, 1536))
REPEATS = 12
COPIED = 1 << 24
"""Elements of the copy, 64 MiB of them: more than caches hold."""


def limits() -> dict[str, float]:
    """GFLOP/s of the better of two shapes of `matmul`, and GB/s read and written by ``assign_``: the best of 12."""
    return {"sgemm_gflops": max(map(_product, SHAPES)), "copy_gb_s": _copy()}


def _product(shape: tuple[int, int, int]) -> float:
    m, k, n = shape
    r = np.random.default_rng(0)
    a, b = (fnb.tensor(r.normal(0, 1, size).astype(np.float32)) for size in ((m, k), (k, n)))
    return 2 * m * k * n / _best(lambda: matmul(a, b)) / 1e9


def _copy() -> float:
    source, target = (fnb.tensor(np.full(COPIED, value, np.float32)) for value in (1, 0))
    return 2 * 4 * COPIED / _best(lambda: target.assign_(source)) / 1e9


def _best(run: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times)
