"""Which lane a thread is, and how the lanes of a row work together, on a GPU.

A row belongs to a warp (blocks of 32 x R threads, a row a warp) or to a block (blocks of up to 1024 x 1 threads).
Sums and maxima go through shuffles within a warp, pairs at distance 16, 8, 4, 2, 1, and then in order over the warps
of the block through shared memory, so that every lane gets the same bits, the same in every run.
"""

import numpy as np
from numba import cuda

from . import conversions, intrinsics

float32, float64, int64 = np.float32, np.float64, np.int64


def lanes(n):
    return range(int64(cuda.threadIdx.x), n, int64(cuda.blockDim.x))


def lane_number():
    return int64(cuda.threadIdx.x)


def rows_here(extent):
    start = int64(cuda.blockIdx.x) * cuda.blockDim.y + cuda.threadIdx.y
    return range(start, extent, int64(cuda.gridDim.x) * cuda.blockDim.y)


def elements_here(extent):
    start = int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    return range(start, extent, int64(cuda.gridDim.x) * cuda.blockDim.x)


def lane_barrier():
    if cuda.blockDim.x > 32:
        cuda.syncthreads()
    else:
        cuda.syncwarp()


def lane_sum_float32(s):
    for step in (16, 8, 4, 2, 1):
        s = s + cuda.shfl_xor_sync(0xFFFFFFFF, s, step)
    if cuda.blockDim.x > 32:
        parts = cuda.shared.array(32, float32)
        if cuda.threadIdx.x % 32 == 0:
            parts[cuda.threadIdx.x // 32] = s
        cuda.syncthreads()
        s = parts[0]
        for warp in range(1, cuda.blockDim.x // 32):
            s = s + parts[warp]
        cuda.syncthreads()
    return s


def lane_sum_float64(s):
    for step in (16, 8, 4, 2, 1):
        s = s + cuda.shfl_xor_sync(0xFFFFFFFF, s, step)
    if cuda.blockDim.x > 32:
        parts = cuda.shared.array(32, float64)
        if cuda.threadIdx.x % 32 == 0:
            parts[cuda.threadIdx.x // 32] = s
        cuda.syncthreads()
        s = parts[0]
        for warp in range(1, cuda.blockDim.x // 32):
            s = s + parts[warp]
        cuda.syncthreads()
    return s


def lane_max_float32(m):
    for step in (16, 8, 4, 2, 1):
        m = intrinsics.maximum(m, cuda.shfl_xor_sync(0xFFFFFFFF, m, step))
    if cuda.blockDim.x > 32:
        parts = cuda.shared.array(32, float32)
        if cuda.threadIdx.x % 32 == 0:
            parts[cuda.threadIdx.x // 32] = m
        cuda.syncthreads()
        m = parts[0]
        for warp in range(1, cuda.blockDim.x // 32):
            m = intrinsics.maximum(m, parts[warp])
        cuda.syncthreads()
    return m


def lane_max_float64(m):
    for step in (16, 8, 4, 2, 1):
        m = intrinsics.maximum(m, cuda.shfl_xor_sync(0xFFFFFFFF, m, step))
    if cuda.blockDim.x > 32:
        parts = cuda.shared.array(32, float64)
        if cuda.threadIdx.x % 32 == 0:
            parts[cuda.threadIdx.x // 32] = m
        cuda.syncthreads()
        m = parts[0]
        for warp in range(1, cuda.blockDim.x // 32):
            m = intrinsics.maximum(m, parts[warp])
        cuda.syncthreads()
    return m


PLAIN = (
    "accumulate put maxnum minnum fma rint floor sqrt absolute copysign maximum minimum select isnan "
    "exponent_scale power_of_two mantissa_exponent mul32 add32 xor32 shr32"
)
ANY_DTYPE = {name: getattr(intrinsics, name) for name in PLAIN.split()}
ANY_DTYPE |= {"lanes": lanes, "lane_barrier": lane_barrier, "real_to_half": conversions.real_to_half}
OF_DTYPE = {
    "real": (conversions.real_float32, conversions.real_float64),
    "infinity": (conversions.infinity_float32, conversions.infinity_float64),
    "not_a_number": (conversions.nan_float32, conversions.nan_float64),
    "unit_from_bits": (conversions.unit_float32, conversions.unit_float64),
    "half_to_real": (conversions.half_to_float32, conversions.half_to_float64),
    "lane_sum": (lane_sum_float32, lane_sum_float64),
    "lane_max": (lane_max_float32, lane_max_float64),
}


def primitives_for(real: str, adding: bool = False) -> dict[str, object]:
    """Every primitive for kernels of one dtype; with `adding`, `put` adds to what the array holds."""
    column = 0 if real == "float32" else 1
    table = ANY_DTYPE | {name: pair[column] for name, pair in OF_DTYPE.items()}
    return table | {"put": intrinsics.put_adding} if adding else table


LAUNCHER = {
    "cuda": cuda,
    "fetch": conversions.fetch,
    "hand": conversions.hand,
    "array_at": conversions.array_at,
    "quotient": conversions.quotient,
    "fma": intrinsics.fma,
    "lane_number": lane_number,
    "rows_here": rows_here,
    "elements_here": elements_here,
}
"""What launcher texts call besides the body."""
