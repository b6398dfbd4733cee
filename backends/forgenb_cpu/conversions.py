"""The primitives whose result has the kernel's dtype, and float16 storage.

LLVM turns float16 to float32 and back with one vector instruction each (vcvtph2ps, vcvtps2ph).

Imports NumPy, llvmlite, Numba and `arithmetic`; a word whose result has the dtype of its operands goes there.
"""

import numpy as np
from llvmlite import ir
from numba import types as nt
from numba.core.errors import TypingError
from numba.extending import intrinsic

from .arithmetic import DOUBLE, FLOAT, HALF, I16, I32, low_word, shared_real


def constant(real, value):
    """Signature and code of a constant of the kernel's dtype."""
    return real(), lambda context, builder, signature, args: ir.Constant(context.get_value_type(real), value)


def converted(real, n):
    """Signature and code of a number turned into the kernel's dtype."""
    if not isinstance(n, (nt.Integer, nt.Boolean, nt.Float)):
        raise TypingError(f"real(n) wants a number, got {n}")
    return real(n), lambda context, builder, signature, args: context.cast(builder, args[0], n, real)


def unit(real, r):
    """Signature and code of `unit_from_bits`.

    The conversion is a signed one (24 bits are never negative), because that one packs.
    """

    def emit(context, builder, signature, args):
        kind = context.get_value_type(real)
        top = builder.lshr(low_word(builder, args[0]), ir.Constant(I32, 8))
        return builder.fmul(builder.sitofp(top, kind), ir.Constant(kind, 2.0**-24))

    return real(r), emit


def from_half(real, bits):
    """Signature and code of `half_to_real`."""
    if bits != nt.uint16:
        raise TypingError(f"half_to_real(bits) wants uint16, got {bits}")

    def emit(context, builder, signature, args):
        value = builder.fpext(builder.bitcast(args[0], HALF), FLOAT)
        return value if real == nt.float32 else builder.fpext(value, DOUBLE)

    return real(bits), emit


@intrinsic
def real_to_half(typing, x):
    shared_real(x)

    def emit(context, builder, signature, args):
        value = builder.fptrunc(args[0], FLOAT) if x == nt.float64 else args[0]
        return builder.bitcast(builder.fptrunc(value, HALF), I16)

    return nt.uint16(x), emit


@intrinsic
def real_float32(typing, n):
    return converted(nt.float32, n)


@intrinsic
def real_float64(typing, n):
    return converted(nt.float64, n)


@intrinsic
def infinity_float32(typing):
    return constant(nt.float32, np.inf)


@intrinsic
def infinity_float64(typing):
    return constant(nt.float64, np.inf)


@intrinsic
def nan_float32(typing):
    return constant(nt.float32, np.nan)


@intrinsic
def nan_float64(typing):
    return constant(nt.float64, np.nan)


@intrinsic
def unit_float32(typing, r):
    return unit(nt.float32, r)


@intrinsic
def unit_float64(typing, r):
    return unit(nt.float64, r)


@intrinsic
def half_to_float32(typing, bits):
    return from_half(nt.float32, bits)


@intrinsic
def half_to_float64(typing, bits):
    return from_half(nt.float64, bits)
