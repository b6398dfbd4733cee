"""Products by a BLAS: single-threaded calls on fixed blocks, so that bits do not depend on threads.

Imports llvmlite, Numba and this plug-in's `blocks`, `compile` and `products`. Shape rules and dtypes are settled
above; no op is named here.
"""

from __future__ import annotations

import functools

from llvmlite import ir
from numba import types as nt
from numba.core import cgutils
from numba.extending import intrinsic

from .blocks import INTRINSICS
from .compile import Compiled, build
from .products import Costs, blocks, launch_text
from .vectors import INT32, INT64, bytes_of

BLOCK_FLOP = 4_000_000
"""Least work of a block."""
FAR = 1 << 18
"""Numbers of an operand above which the second cache does not hold it."""

BLOCK = """\
        if bias:
            start = carray(pointer(bias_at, {real}), (int64(1) if turned else columns,))
            for row in range(uint64(rows)):
                line = carray(pointer(out_at + {size} * int64(row) * ldo, {real}), (columns,))
                for column in range(uint64(columns)):
                    line[column] = start[uint64(0) if turned else column]
        factor = {real}(1) if bias else beta
        call_gemm(function, trans_b, trans_a, columns, rows, k, alpha, b_at, ldb, a_at, lda, factor, out_at, ldo)
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
        values += [sides["a"], place["lda"], sides["b"], place["ldb"]]
        values += [by_reference(beta_value), sides["c"], place["ldc"]]
        kind = ir.FunctionType(ir.VoidType(), [v.type for v in values])
        builder.call(builder.inttoptr(function, kind.as_pointer()), values)
        return context.get_dummy_value()

    return signature, build_call


@functools.cache
def gemm_launcher(real: str) -> Compiled:
    """The launcher of block products for float32 or float64."""
    text = launch_text(real, "", BLOCK.format(size=bytes_of(real), real=real))
    return build(f"gemm-{real}", text, {}, {**INTRINSICS, "call_gemm": call_gemm})


@functools.lru_cache(maxsize=4096)
def library_blocks(batch: int, m: int, n: int, k: int) -> tuple[int, int, int, int]:
    """Bands, their height, strips and their width; each call packs its part of a and of b."""
    rows, columns = (60.0 if k * length > FAR else 20.0 for length in (n, m))
    return blocks(batch, m, n, k, Costs(rows, columns, BLOCK_FLOP, 16, 16, m))
