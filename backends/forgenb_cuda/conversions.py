"""The primitives whose result has the kernel's dtype, float16 storage, and typed access to device addresses."""

import numpy as np
from llvmlite import ir
from numba.cuda import cgutils
from numba.cuda import types as nt
from numba.cuda.core.errors import TypingError
from numba.cuda.extending import intrinsic
from numba.cuda.np import arrayobj

from .intrinsics import DOUBLE, FLOAT, HALF, I16, I32, I64, low_word, shared_real

GLOBAL = 1
"""Number of the address space that tensors live in; named, loads need not find out at run time."""


def constant(real, value):
    """Signature and code of a constant of the kernel's dtype."""
    return real(), lambda context, builder, signature, args: ir.Constant(context.get_value_type(real), value)


def converted(real, n):
    """Signature and code of a number turned into the kernel's dtype."""
    if not isinstance(n, (nt.Integer, nt.Boolean, nt.Float)):
        raise TypingError(f"real(n) wants a number, got {n}")
    return real(n), lambda context, builder, signature, args: context.cast(builder, args[0], n, real)


def unit(real, r):
    """Signature and code of `unit_from_bits`."""

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


# device addresses


def _element(kind):
    return kind.dtype if isinstance(kind, (nt.NumberClass, nt.DType)) else kind.instance_type


def _cell(context, builder, element, address, index):
    pointer = builder.inttoptr(address, context.get_data_type(element).as_pointer(GLOBAL))
    return builder.gep(pointer, [index])


@intrinsic
def fetch(typing, address, index, kind):
    """Element `index` of the array of `kind` at `address`."""
    element = _element(kind)

    def emit(context, builder, signature, args):
        return builder.load(_cell(context, builder, element, args[0], args[1]))

    return element(nt.int64, nt.int64, kind), emit


@intrinsic
def hand(typing, address, index, value):
    """Write `value` as element `index` of the array of its type at `address`."""

    def emit(context, builder, signature, args):
        builder.store(args[2], _cell(context, builder, value, args[0], args[1]))
        return context.get_dummy_value()

    return nt.void(nt.int64, nt.int64, value), emit


@intrinsic
def quotient(typing, a, b):
    """``a // b`` of two integers that are not negative."""
    return nt.int64(nt.int64, nt.int64), lambda context, builder, signature, args: builder.udiv(*args)


@intrinsic
def array_at(typing, address, shape, kind):
    """The row-major array of `kind` and `shape` at `address`."""
    element = _element(kind)
    result = nt.Array(element, len(shape), "C")

    def emit(context, builder, signature, args):
        data = context.get_data_type(element)
        inside = builder.inttoptr(args[0], data.as_pointer(GLOBAL))
        extents = cgutils.unpack_tuple(builder, args[1], len(shape))
        size = ir.Constant(I64, context.get_abi_sizeof(data))
        steps = [size]
        for extent in reversed(extents[1:]):
            steps.insert(0, builder.mul(steps[0], extent))
        made = arrayobj.make_array(result)(context, builder)
        arrayobj.populate_array(
            made, builder.addrspacecast(inside, data.as_pointer()), extents, steps, size, meminfo=None
        )
        return made._getvalue()

    return result(nt.int64, nt.UniTuple(nt.int64, len(shape)), kind), emit
