"""Which way a product takes: the streams of one row, the register tile, or the library in use for large products.

The choice depends on the shape and on `FORGENB_BLAS` alone. Imports the ways, the libraries and `forgenb.errors`.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import llvmlite.binding as llvm

from forgenb.errors import ArgumentError, ShapeError

from .blas import gemm_launcher, library_blocks
from .dots import dots_launcher
from .library import Library
from .mkl import mkl_library, mkl_path
from .openblas import scipy_library
from .products import PACK
from .stream import stream_launcher, strips
from .tiled import lowest_band, share_height, tile_blocks, tiled_launcher

LIBRARIES: dict[str, Callable[[], Library]] = {"scipy": scipy_library, "mkl": mkl_library}
LARGEST = 2**31 - 1
SERIAL_FLOP = 200_000
LIBRARY_FLOP, LIBRARY_SIDE = 4_000_000, 16
"""Least work, and fewest rows and columns, of a product that goes to a library: others cost less in the tile."""


def blas_from_environment() -> str:
    """``FORGENB_BLAS`` (tile, scipy or mkl), else the tile on CPUs with AVX-512, and SciPy's BLAS on others."""
    chosen = os.environ.get("FORGENB_BLAS", "auto")
    if chosen not in ("auto", "tile", *LIBRARIES):
        raise ArgumentError(f"FORGENB_BLAS must be auto, tile, scipy or mkl, got {chosen!r}")
    if chosen in LIBRARIES:
        LIBRARIES[chosen]()
    if chosen != "auto":
        return chosen
    return "tile" if llvm.get_host_cpu_features().get("avx512f") else "scipy"


def choices() -> list[str]:
    """What ``FORGENB_BLAS`` can be here."""
    return ["tile", "scipy", *(["mkl"] if mkl_path() else [])]


def row_bands(blas: str, real: str, shape: tuple, flags: tuple, steps: tuple, batch: tuple) -> int:
    """Into how many bands of equally many rows a product without a batch can be cut with the same bits; else 1.

    Each element of the tile's results is summed alone. A library is called on the same blocks, or has other bits.
    """
    m, n, k = shape
    if batch != (1, 1) or (n == 1 and steps[0][2] == 1):
        return 1
    if _by_tile(blas, shape):
        least = lowest_band(n, k, flags, real)
        return next((bands for bands in range(m // least, 1, -1) if m % bands == 0), 1)
    bands, height, _, _ = library_blocks(1, m, n, k)
    return bands if bands * height == m else 1


def _by_tile(blas: str, shape: tuple) -> bool:
    m, n, k = shape
    return blas == "tile" or 2 * m * n * k < LIBRARY_FLOP or min(m, n) < LIBRARY_SIDE


def product_launch(
    blas: str,
    bands: int,
    real: str,
    shape: tuple,
    flags: tuple,
    scales: tuple,
    places: tuple,
    steps: tuple,
    batch: tuple,
) -> tuple:
    """A product as a launch: (launcher, extent, chunk, values of the argument block, their packer).

    `bands`, where it is not 0, asks for so many bands of rows instead of those that suit the product alone; it divides
    `row_bands`.
    """
    m, n, k = shape
    outer, inner = batch
    if max(*shape, *steps[0]) > LARGEST:
        raise ShapeError(
            f"a product of {m} x {k} and {k} x {n} with steps {steps[0]} between rows is too large: "
            f"BLAS counts to {LARGEST}"
        )
    a, b, out, bias = places
    (lda, ldb, ldo), strides = steps
    turned = n == 1 and ldo == 1
    if turned:  # a column is computed as the row that lies the same
        m, n, a, b, lda, ldb, ldo = n, m, b, a, ldb, lda, m
        flags, strides = (not flags[1], not flags[0]), (*strides[2:4], *strides[0:2], *strides[4:])
    matrices, flop = outer * inner, 2 * m * n * k
    if _by_tile(blas, shape) and m == 1 and matrices == 1:
        launcher = dots_launcher(real) if flags[1] else stream_launcher(real)
        cut, function = strips(n, k, bool(flags[1]), real), 0
    elif _by_tile(blas, shape):
        launcher, cut, function = tiled_launcher(real), tile_blocks(matrices, m, n, k, flags, real), 0
        if bands:
            height = share_height(m // bands, flags)
            cut = (m // height, height, *cut[2:])
    else:
        launcher, cut = gemm_launcher(real), library_blocks(matrices, m, n, k)
        function = LIBRARIES[blas]().addresses[real]
    values = [m, n, k, a, b, out, bias, *scales, lda, ldb, ldo, *flags, inner, *strides, *cut, turned, function]
    pieces = matrices * cut[0] * cut[2]
    serial = flop * matrices < SERIAL_FLOP
    return launcher, pieces, pieces if serial else max(1, pieces // 16), values, PACK
