"""What a backend reaches at most on this machine: matrix products, and copies of arrays larger than caches.

Measured through tensors and ops like everything else, so the figures are those of the BLAS and the threads in use.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..creation import tensor
from ..ops.matmul import matmul
from ..tape import no_grad
from .recorder import outside_recording

__all__ = ["Peaks", "measure_peaks"]

SHAPES = ((16, 16, 16), (64, 64, 64), (256, 256, 256), (768, 128, 512), (1024, 1024, 1024), (2048, 384, 1536))
"""(m, k, n) of the products, in the order of their work."""
COPIES = (1 << 12, 1 << 18, 1 << 24)
"""Elements of the copies. The bandwidth is that of the last: 64 MiB of float32 are more than caches hold."""
SECONDS = 0.25
"""Spent on each size; what takes longer than that once is not tried larger."""


@dataclass(frozen=True)
class Peaks:
    """The limits that a statement is held against.

    Attributes
    ----------
    gflops : float
        GFLOP/s of the best product among a few shapes.
    copy_gb_s : float
        GB/s of a large copy, bytes read and bytes written.
    """

    gflops: float
    copy_gb_s: float


_FOUND: dict[tuple, Peaks] = {}


def measure_peaks(backend, real: str = "float32") -> Peaks:
    """The peaks of a backend with the threads it has now, for floats of type `real`; measured once in a process.

    Each figure is the best of several runs. It takes about two seconds.
    """
    key = backend.name, backend.threads, real
    if key not in _FOUND:
        with no_grad(), outside_recording():
            _FOUND[key] = Peaks(_product(backend.name, real), _copy(backend.name, real))
    return _FOUND[key]


def _product(backend: str, real: str) -> float:
    rates, r = [0.0], np.random.default_rng(0)
    for m, k, n in SHAPES:
        a, b = (tensor(r.normal(0, 1, size).astype(real), backend=backend) for size in ((m, k), (k, n)))
        if len(rates) == 1:
            matmul(a, b)  # loads or compiles it
        seconds = _best(functools.partial(matmul, a, b), a.backend)
        rates.append(2 * m * k * n / seconds / 1e9)
        if seconds > SECONDS:
            break
    return max(rates)


def _copy(backend: str, real: str) -> float:
    rate = 0.0
    for size in COPIES:
        source, target = (tensor(np.full(size, value, real), backend=backend) for value in (1, 0))
        if not rate:
            target.assign_(source)  # loads or compiles it
        seconds = _best(functools.partial(target.assign_, source), source.backend)
        rate = 2 * size * source.dtype.itemsize / seconds / 1e9
        if seconds > SECONDS:
            break
    return rate


def _best(run: Callable[[], object], backend) -> float:
    """Seconds of the fastest run, the first not counted where there are more."""
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while len(times) < 3 or time.perf_counter() < end:
        began = time.perf_counter()
        run()
        backend.synchronize()
        times.append(time.perf_counter() - began)
        if times[-1] > SECONDS:
            break
    return min(times[1:] or times)
