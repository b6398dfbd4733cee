"""Matrix products: single-threaded BLAS calls on fixed blocks, so that bits do not depend on threads.

The BLAS is SciPy's OpenBLAS, called through the pointer that ``scipy.linalg.cython_blas`` publishes.
A product is cut into about four blocks of rows (columns where those are more) of at least 64, or, in a
batch, into its matrices. OpenBLAS is held at one thread meanwhile, since two pools that spin on the same
cores slow each other down many times over.

Imports SciPy's BLAS, llvmlite, Numba and this plug-in's `blocks` and `compile`. Shape rules and dtypes are settled
above; no op is named here.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import os
import struct
import threading
import time

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types as nt
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic

from .blocks import INTRINSICS
from .compile import Compiled, build

_NAMES = "m n k a b out bias alpha beta lda ldb ldo trans_a trans_b inner a_outer a_inner b_outer b_inner"
FIELDS = (_NAMES + " out_outer out_inner blocks width by_rows function").split()
PACK = struct.Struct("=" + "".join("d" if f in ("alpha", "beta") else "q" for f in FIELDS))
INT64, INT32 = ir.IntType(64), ir.IntType(32)

TEXT = """\
def launch(begin, end, args):
{loads}
    for unit in range(begin, end):
        matrix = unit // blocks
        first = (unit - matrix * blocks) * width
        outer = matrix // inner
        within = matrix - outer * inner
        a_at = a + {size} * (outer * a_outer + within * a_inner)
        b_at = b + {size} * (outer * b_outer + within * b_inner)
        out_at = out + {size} * (outer * out_outer + within * out_inner)
        bias_at, rows, columns = bias, m, n
        if by_rows:
            rows = min(width, m - first)
            a_at += {size} * first * (int64(1) if trans_a else lda)
            out_at += {size} * first * ldo
        else:
            columns = min(width, n - first)
            b_at += {size} * first * (ldb if trans_b else int64(1))
            bias_at += {size} * first
            out_at += {size} * first
        if bias:
            start = carray(pointer(bias_at, {real}), (columns,))
            for row in range(uint64(rows)):
                block = carray(pointer(out_at + {size} * int64(row) * ldo, {real}), (columns,))
                for column in range(uint64(columns)):
                    block[column] = start[column]
        call_gemm(function, trans_b, trans_a, columns, rows, k, alpha, b_at, ldb, a_at, lda, beta, out_at, ldo)
"""


@intrinsic
def call_gemm(typing, function, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
    """Fortran ``?gemm`` at address `function`; `trans_a` and `trans_b` are 0 or 1, the rest as in BLAS."""
    signature = nt.void(function, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)

    def build_call(context, builder, signature, arguments):
        number = context.get_value_type(alpha)
        place = {}

        def by_reference(value):
            slot = cgutils.alloca_once(builder, value.type)
            builder.store(value, slot)
            return slot

        def letter(flag):
            code = builder.select(builder.icmp_signed("!=", flag, INT64(0)), ir.IntType(8)(84), ir.IntType(8)(78))
            return by_reference(code)

        function, trans_a, trans_b, m, n, k, alpha_value, a, lda, b, ldb, beta_value, c, ldc = arguments
        for name, value in (("m", m), ("n", n), ("k", k), ("lda", lda), ("ldb", ldb), ("ldc", ldc)):
            place[name] = by_reference(builder.trunc(value, INT32))
        sides = {n: builder.inttoptr(v, number.as_pointer()) for n, v in (("a", a), ("b", b), ("c", c))}
        values = [letter(trans_a), letter(trans_b), place["m"], place["n"], place["k"], by_reference(alpha_value)]
        values += [
            sides["a"],
            place["lda"],
            sides["b"],
            place["ldb"],
            by_reference(beta_value),
            sides["c"],
            place["ldc"],
        ]
        kind = ir.FunctionType(ir.VoidType(), [v.type for v in values])
        builder.call(builder.inttoptr(function, kind.as_pointer()), values)
        return context.get_dummy_value()

    return signature, build_call


@functools.cache
def gemm_launcher(real: str) -> Compiled:
    """The launcher of block products for float32 or float64."""
    size = 8 if real == "float64" else 4
    loads = []
    for slot, name in enumerate(FIELDS):
        kind = "float64" if name in ("alpha", "beta") else "int64"
        value = f"load(args, {slot}, {kind})"
        loads.append(f"    {name} = {real}({value})" if kind == "float64" else f"    {name} = {value}")
    text = TEXT.format(loads="\n".join(loads), size=size, real=real)
    return build(f"gemm-{real}", text, {}, {**INTRINSICS, "call_gemm": call_gemm})


def blocks_for(batch: int, m: int, n: int) -> tuple[int, int, bool]:
    """Blocks a matrix, their width, and whether they are rows: a function of the shape alone."""
    by_rows = m >= n
    length = m if by_rows else n
    if batch >= 4 or length < 128 or m * n < 16384:
        return 1, length, by_rows
    width = max(64, -(-length // 4))
    width = -(-width // 16) * 16
    return -(-length // width), width, by_rows


@functools.cache
def blas_function(real: str) -> int:
    """Address of SciPy's sgemm or dgemm."""
    load_blas()
    return get_cython_function_address("scipy.linalg.cython_blas", "dgemm" if real == "float64" else "sgemm")


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

    blas_function("float32")
    found = glob.glob(os.path.join(os.path.dirname(scipy.__file__), "..", "scipy.libs", "*openblas*"))
    found += glob.glob(os.path.join(os.path.dirname(scipy.__file__), ".dylibs", "*openblas*"))
    for path in found:
        library = ctypes.CDLL(path)
        if hasattr(library, "scipy_openblas_set_num_threads"):
            library.scipy_openblas_get_config.restype = ctypes.c_char_p
            library.scipy_openblas_get_corename.restype = ctypes.c_char_p
            return library
    return None


class _Held:
    """How many products run now, and the number of threads that OpenBLAS gets back after the last of them."""

    lock = threading.RLock()
    users = 0
    before = 1


class one_thread:
    """Hold SciPy's OpenBLAS at one thread, and give its own number back when no product is left, in any thread."""

    def __enter__(self):
        library = openblas()
        with _Held.lock:
            if _Held.users == 0:
                _Held.before = library.scipy_openblas_get_num_threads() if library else 1
                if _Held.before != 1:
                    library.scipy_openblas_set_num_threads(1)
            _Held.users += 1

    def __exit__(self, *error):
        with _Held.lock:
            _Held.users -= 1
            if _Held.users == 0 and _Held.before != 1:
                openblas().scipy_openblas_set_num_threads(_Held.before)


def _before_fork() -> None:
    """Wait for products of other threads: a child would keep the locks that OpenBLAS holds inside one."""
    _Held.lock.acquire()
    latest = time.monotonic() + 10
    while _Held.users and time.monotonic() < latest:
        _Held.lock.release()
        time.sleep(0.0002)
        _Held.lock.acquire()


def _after_fork() -> None:
    _Held.lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def blas_report() -> dict[str, str]:
    """Which BLAS is in use and which of its kernels, for ``forgenb doctor``."""
    library = openblas()
    if library is None:
        return {"blas": "scipy", "config": "unknown", "core": "unknown"}
    return {
        "blas": "scipy",
        "config": library.scipy_openblas_get_config().decode(),
        "core": library.scipy_openblas_get_corename().decode(),
    }
