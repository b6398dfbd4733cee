"""SciPy's BLAS, called through the pointers that ``scipy.linalg.cython_blas`` publishes; in its wheels an OpenBLAS.

Imports SciPy when it is loaded, and `library`.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import os

import llvmlite.binding as llvm
from numba.extending import get_cython_function_address

from .library import Library


@functools.cache
def load_blas() -> None:
    """Load SciPy's BLAS with the kernels that fit this CPU; Numba would load it at its first compilation."""
    with _core_type():
        import scipy.linalg.cython_blas  # noqa: F401


class _core_type:
    """OpenBLAS 0.3.30 takes AVX2 kernels on AMD CPUs that have AVX-512: ask for the AVX-512 ones.

    Measured on Zen 5: 233 instead of 120 GFLOP/s on one thread. The variable counts only while the
    library loads and is put back afterwards; a user's own setting wins.
    """

    name = "OPENBLAS_CORETYPE"

    def __enter__(self):
        wanted = ("avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512cd")
        features = llvm.get_host_cpu_features()
        amd = llvm.get_host_cpu_name().startswith("znver")
        self.set = amd and all(features.get(f) for f in wanted) and self.name not in os.environ
        if self.set:
            os.environ[self.name] = "SkylakeX"

    def __exit__(self, *error):
        if self.set:
            del os.environ[self.name]


@functools.cache
def openblas():
    """SciPy's OpenBLAS as a ctypes library, or None where SciPy was built on another BLAS."""
    import scipy

    load_blas()
    found = glob.glob(os.path.join(os.path.dirname(scipy.__file__), "..", "scipy.libs", "*openblas*"))
    found += glob.glob(os.path.join(os.path.dirname(scipy.__file__), ".dylibs", "*openblas*"))
    for path in found:
        library = ctypes.CDLL(path)
        if hasattr(library, "scipy_openblas_set_num_threads"):
            library.scipy_openblas_get_config.restype = ctypes.c_char_p
            library.scipy_openblas_get_corename.restype = ctypes.c_char_p
            return library
    return None


@functools.cache
def scipy_library() -> Library:
    """SciPy's BLAS."""
    load_blas()
    addresses = {
        real: get_cython_function_address("scipy.linalg.cython_blas", name)
        for real, name in (("float32", "sgemm"), ("float64", "dgemm"))
    }
    found = openblas()
    if found is None:
        return Library(addresses, lambda: 1, lambda number: None, {"config": "unknown", "core": "unknown"})
    report = {
        "config": found.scipy_openblas_get_config().decode(),
        "core": found.scipy_openblas_get_corename().decode(),
    }
    return Library(addresses, found.scipy_openblas_get_num_threads, found.scipy_openblas_set_num_threads, report)
