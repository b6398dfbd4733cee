"""How fast each way to compute products is here: a short measurement for ``forgenb doctor``.

Imports `dispatch` and memory. A backend is asked to launch; nothing of it is changed.
"""

from __future__ import annotations

import contextlib
import time

import numpy as np

from .dispatch import LIBRARIES, choices, product_launch
from .memory import allocate

SHAPE = 768, 512, 128
SECONDS = 0.1


def product_speeds(backend) -> dict[str, float]:
    """GFLOP/s of one float32 product by the tile and by each library that is there, on the threads of `backend`."""
    m, n, k = SHAPE
    memories = [allocate(4 * rows * columns) for rows, columns in ((m, k), (k, n), (m, n))]
    for memory, length in zip(memories, (m * k, k * n, m * n), strict=True):
        backend.upload(memory, np.full(length, 0.5, np.float32))
    places = (*(memory.address for memory in memories), 0)
    shape_and_steps = SHAPE, (False, False), (1.0, 0.0), places, ((k, n, n), (0,) * 6), (1, 1)
    found = {}
    for blas in choices():
        launcher, extent, chunk, values, packer = product_launch(blas, 0, "float32", *shape_and_steps)
        block = packer.pack(*values)
        with LIBRARIES[blas]() if blas in LIBRARIES else contextlib.nullcontext():
            seconds = _fastest(lambda call=(launcher, extent, chunk, block): backend.launch(*call))
        found[blas] = round(2 * m * n * k / seconds / 1e9, 1)
    return found


def _fastest(run) -> float:
    """The shortest of many runs within a moment, after one that warms up."""
    run()
    times: list[float] = []
    latest = time.perf_counter() + SECONDS
    while not times or time.perf_counter() < latest:
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return min(times)
