"""Arithmetic of the primitives on the CPU: LLVM instructions that its loop vectoriser packs.

`forgenb.kernel.primitives` says what each name means; functions here carry no docstring where that one says it all.
The only fast-math flag is `reassoc`, on the one addition of `accumulate`.

Imports NumPy, llvmlite and Numba. A word whose result has the kernel's dtype whatever it is given goes to
`conversions`.
"""

import operator
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types as nt
from numba.core.errors import TypingError
from numba.extending import intrinsic

I16, I32, I64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)
HALF, FLOAT, DOUBLE = ir.HalfType(), ir.FloatType(), ir.DoubleType()

# LLVM type of the float -> integer type of its bits, stored mantissa bits, exponent bias, lift of a subnormal,
# NumPy's type of the float and of its bits
LAYOUT: dict[ir.Type, tuple[ir.IntType, int, int, int, Any, Any]] = {
    FLOAT: (I32, 23, 127, 24, np.float32, np.uint32),
    DOUBLE: (I64, 52, 1023, 54, np.float64, np.uint64),
}


def shared_real(*args):
    """The one float type of all the arguments, or a typing error that says what to write."""
    if not isinstance(args[0], nt.Float) or any(arg != args[0] for arg in args):
        raise TypingError(f"a primitive wants floats of one dtype, got {args}; an integer enters through real(n)")
    return args[0]


def elementwise(instruction, *args):
    """Signature and code of a primitive that maps floats of one dtype to that dtype."""
    real = shared_real(*args)
    return real(*args), lambda context, builder, signature, values: instruction(builder, *values)


def llvm(name):
    """The LLVM intrinsic of that name, as an instruction for `elementwise`."""

    def call(builder, *values):
        kind = values[0].type
        function = builder.module.declare_intrinsic(name, [kind], ir.FunctionType(kind, [kind] * len(values)))
        return builder.call(function, values)

    return call


# lanes and reductions


@intrinsic
def lanes(typing, n):
    """The range of n as unsigned, in which Numba leaves out the wrap-around of negative indices.

    The function that loops over it gets vectors of 512 bits where the CPU has them, which LLVM by itself does not
    prefer on some of them.
    """
    counting = typing.resolve_function_type(range, (nt.uint64,), {})

    def emit(context, builder, signature, values):
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        size = context.cast(builder, values[0], signature.args[0], nt.uint64)
        return context.get_function(range, counting)(builder, (size,))

    return counting.return_type(nt.unliteral(n)), emit


@intrinsic
def accumulate(typing, s, v):
    return elementwise(lambda builder, s, v: builder.fadd(s, v, flags=("reassoc",)), s, v)


def itself(value):
    """Signature and code of a primitive that on one lane is the identity."""
    return value(value), lambda context, builder, signature, values: values[0]


@intrinsic
def lane_sum(typing, s):
    return itself(s)


@intrinsic
def lane_max(typing, m):
    return itself(m)


@intrinsic
def lane_barrier(typing):
    return nt.void(), lambda context, builder, signature, values: context.get_dummy_value()


def written(typing, array, index, value, adding):
    """Signature and code of ``array[index] = value``, or ``+=``; the value has the array's dtype."""
    signature = nt.void(array, index, value)
    getting = typing.resolve_function_type(operator.getitem, (array, index), {})
    setting = typing.resolve_function_type(operator.setitem, (array, index, array.dtype), {})

    def emit(context, builder, signature, values):
        target, place, content = values
        content = context.cast(builder, content, value, array.dtype)
        if adding:
            content = builder.fadd(context.get_function(operator.getitem, getting)(builder, (target, place)), content)
        context.get_function(operator.setitem, setting)(builder, (target, place, content))
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def put(typing, array, index, value):
    return written(typing, array, index, value, adding=False)


@intrinsic
def put_adding(typing, array, index, value):
    return written(typing, array, index, value, adding=True)


@intrinsic
def maxnum(typing, m, v):
    return elementwise(llvm("llvm.maxnum"), m, v)


@intrinsic
def minnum(typing, m, v):
    return elementwise(llvm("llvm.minnum"), m, v)


# arithmetic


@intrinsic
def fma(typing, a, b, c):
    return elementwise(llvm("llvm.fma"), a, b, c)


@intrinsic
def rint(typing, x):
    return elementwise(llvm("llvm.rint"), x)


@intrinsic
def floor(typing, x):
    return elementwise(llvm("llvm.floor"), x)


@intrinsic
def sqrt(typing, x):
    return elementwise(llvm("llvm.sqrt"), x)


@intrinsic
def absolute(typing, x):
    return elementwise(llvm("llvm.fabs"), x)


@intrinsic
def copysign(typing, x, y):
    return elementwise(llvm("llvm.copysign"), x, y)


@intrinsic
def maximum(typing, a, b):
    return elementwise(llvm("llvm.maximum"), a, b)


@intrinsic
def minimum(typing, a, b):
    return elementwise(llvm("llvm.minimum"), a, b)


@intrinsic
def select(typing, c, a, b):
    kind = nt.unliteral(a)
    if not isinstance(c, nt.Boolean) or nt.unliteral(b) != kind:
        raise TypingError(f"select(c, a, b) wants a bool and two values of one dtype, got {(c, a, b)}")
    return kind(nt.boolean, kind, kind), lambda context, builder, signature, values: builder.select(*values)


@intrinsic
def isnan(typing, x):
    shared_real(x)
    return nt.boolean(x), lambda context, builder, signature, v: builder.fcmp_unordered("uno", v[0], v[0])


# the exponent, in bits


def exponent_scale_bits(builder, x, k):
    """X * 2**(k//2) * 2**(k - k//2): adding 1.5 * 2**mantissa leaves k + 2*bias in the low bits of the sum."""
    integer, mantissa, bias, *_ = LAYOUT[x.type]
    shift = ir.Constant(integer, mantissa)
    total = builder.fadd(k, ir.Constant(x.type, 1.5 * 2**mantissa + 2 * bias))
    bits = builder.bitcast(total, integer)
    low = builder.lshr(bits, ir.Constant(integer, 1))
    for part in (low, builder.sub(bits, low)):
        x = builder.fmul(x, builder.bitcast(builder.shl(part, shift), x.type))
    return x


@intrinsic
def exponent_scale(typing, x, k):
    return elementwise(exponent_scale_bits, x, k)


def power_of_two_bits(builder, k):
    integer, mantissa, bias, *_ = LAYOUT[k.type]
    total = builder.fadd(k, ir.Constant(k.type, 1.5 * 2**mantissa + bias))
    return builder.bitcast(builder.shl(builder.bitcast(total, integer), ir.Constant(integer, mantissa)), k.type)


@intrinsic
def power_of_two(typing, k):
    return elementwise(power_of_two_bits, k)


def mantissa_exponent_bits(builder, x):
    """Mantissa and exponent by integer arithmetic; the exponent becomes a float through the low bits of 2**mantissa."""
    integer, mantissa, bias, lift, kind, unsigned = LAYOUT[x.type]
    whole, number = partial(ir.Constant, integer), partial(ir.Constant, x.type)
    middle = int(kind(np.sqrt(0.5)).view(unsigned))
    small = builder.fcmp_ordered("<", x, number(float(np.finfo(kind).tiny)))
    lifted = builder.select(small, builder.fmul(x, number(2.0**lift)), x)
    bits = builder.add(builder.bitcast(lifted, integer), whole((bias << mantissa) - middle))
    m = builder.add(builder.and_(bits, whole(2**mantissa - 1)), whole(middle))
    carrier = builder.or_(builder.lshr(bits, whole(mantissa)), whole((mantissa + bias) << mantissa))
    offset = 2.0**mantissa + bias
    offset = builder.select(small, number(offset + lift), number(offset))
    return builder.bitcast(m, x.type), builder.fsub(builder.bitcast(carrier, x.type), offset)


@intrinsic
def mantissa_exponent(typing, x):
    pair = nt.UniTuple(shared_real(x), 2)

    def emit(context, builder, signature, values):
        return context.make_tuple(builder, pair, mantissa_exponent_bits(builder, *values))

    return pair(x), emit


# uint32 arithmetic


def words(instruction, *args):
    """Signature and code of a primitive on the low 32 bits of any integers."""
    if not all(isinstance(arg, nt.Integer) for arg in args):
        raise TypingError(f"uint32 arithmetic wants integers, got {args}")

    def emit(context, builder, signature, values):
        return instruction(builder, *(low_word(builder, value) for value in values))

    return nt.uint32(*map(nt.unliteral, args)), emit


def low_word(builder, value):
    """The low 32 bits of an integer (a narrower one must be non-negative)."""
    width = value.type.width
    return builder.trunc(value, I32) if width > 32 else builder.zext(value, I32) if width < 32 else value


@intrinsic
def mul32(typing, a, b):
    return words(lambda builder, a, b: builder.mul(a, b), a, b)


@intrinsic
def add32(typing, a, b):
    return words(lambda builder, a, b: builder.add(a, b), a, b)


@intrinsic
def xor32(typing, a, b):
    return words(lambda builder, a, b: builder.xor(a, b), a, b)


@intrinsic
def shr32(typing, a, n):
    return words(lambda builder, a, n: builder.lshr(a, builder.and_(n, ir.Constant(I32, 31))), a, n)
