"""The words of the kernel language, each with its plain-Python meaning.

A body uses these names for everything that plain ``+ - * /`` and comparisons cannot say the same way on every
target. A backend replaces each by its own implementation of the same name; called as they are, they run on Python
and NumPy scalars, give the kernel's dtype (a Python float takes the dtype of its neighbours), emit no warning and
agree bit for bit with the compiled form (NaN payloads apart; `accumulate` may re-associate).

Imports NumPy and `language`. A word is added only if no other word can say it, since every backend must then have
it.
"""

import math
from fractions import Fraction

import numpy as np

from .language import BITS, dtype_primitive, kind_of, numpy_kind, primitive, rounded
from .language import ByDtype as ByDtype
from .language import Primitive as Primitive

MASK32 = 0xFFFFFFFF


# lanes and reductions


@primitive
def lanes(n):
    """The indices of [0, n) that this lane works on; in plain Python all of them."""
    return range(n)


@primitive
def accumulate(s, v):
    """S + v for a sum whose order does not matter: a target may re-associate it (blocks of at most 1024)."""
    return s + v


@primitive
def lane_sum(s):
    """The sum of every lane's s, given to all lanes."""
    return s


@primitive
def lane_max(m):
    """The maximum of every lane's m, given to all lanes; NaN if any is NaN."""
    return m


@primitive
def lane_barrier():
    """Let every lane see what the others of its row have written; nothing where one lane does a row."""


@primitive
def maxnum(a, b):
    """The larger of a and b: a NaN loses; of two zeros either."""
    return select((a > b) | (b != b), a, b)


@primitive
def minnum(a, b):
    """The smaller of a and b: a NaN loses; of two zeros either."""
    return select((a < b) | (b != b), a, b)


@primitive
def put(array, index, value):
    """Hand over a result: ``array[index] = value``, or ``+=`` where a routine accumulates in place."""
    array[index] = value


# arithmetic


def _fma_float32(a, b, c):
    product = a * b
    total = product + c
    if not math.isfinite(total):
        return total
    part = total - product
    error = (product - (total - part)) + (c - part)
    # Rounding to odd first makes the second rounding (to float32) as if it were the only one.
    if error and not math.frexp(total)[0] * 2**53 % 2:
        total = math.nextafter(total, math.copysign(math.inf, error))
    return total


def _fma_float64(a, b, c):
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact) if exact else a * b + c
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


@primitive
def fma(a, b, c):
    """a*b + c rounded once."""
    kind = kind_of(a, b, c)
    rule = _fma_float32 if kind is np.float32 else _fma_float64
    if kind is np.float32:
        a, b, c = np.float32(a), np.float32(b), np.float32(c)
    return rounded(kind, rule(float(a), float(b), float(c)))


@primitive
def rint(x):
    """The nearest integer, half to even, as a float."""
    return kind_of(x)(np.rint(x))


@primitive
def floor(x):
    """The largest integer that is not above x, as a float."""
    return kind_of(x)(np.floor(x))


@primitive
def sqrt(x):
    """The square root, correctly rounded; NaN below zero."""
    return kind_of(x)(math.nan) if x < 0 else kind_of(x)(np.sqrt(x))


@primitive
def absolute(x):
    """X without its sign."""
    return abs(x)


@primitive
def copysign(x, y):
    """The size of x with the sign of y, zeros and NaN included."""
    return kind_of(x, y)(np.copysign(x, y))


@primitive
def maximum(a, b):
    """The larger of a and b; NaN if either is NaN; -0.0 counts as smaller than 0.0."""
    return select((a > b) | (a != a) | ((a == b) & (math.copysign(1.0, a) > 0)), a, b)


@primitive
def minimum(a, b):
    """The smaller of a and b; NaN if either is NaN; -0.0 counts as smaller than 0.0."""
    return select((a < b) | (a != a) | ((a == b) & (math.copysign(1.0, a) < 0)), a, b)


@primitive
def select(c, a, b):
    """A if c else b, without a branch: both are computed. a and b have one dtype."""
    kind = kind_of(a, b)
    picked = a if c else b
    return picked if kind is float else kind(picked)


@primitive
def isnan(x):
    """Whether x is NaN."""
    return x != x


# constants and conversions


@dtype_primitive
def real(n):
    """The number n in the kernel's dtype."""
    return float(n)


@dtype_primitive
def infinity():
    """Infinity in the kernel's dtype."""
    return math.inf


@dtype_primitive
def not_a_number():
    """A quiet NaN in the kernel's dtype."""
    return math.nan


@dtype_primitive
def unit_from_bits(r):
    """The top 24 of 32 random bits as a number in [0, 1): ``(r >> 8) / 2**24``, exact in every dtype."""
    return (int(r) >> 8) / 2**24


@dtype_primitive
def half_to_real(bits):
    """The float16 with these 16 bits (uint16), in the kernel's dtype; exact."""
    return float(np.uint16(bits).view(np.float16))


@primitive
def real_to_half(x):
    """The bits (uint16) of x as float16; a float64 is rounded to float32 first."""
    x = rounded(np.float32, float(x))
    return np.float16(math.copysign(math.inf, x) if abs(x) >= 65520 else x).view(np.uint16)


# the exponent, in bits


@primitive
def exponent_scale(x, k):
    """X * 2**k, rounded once, for 0.25 <= abs(x) <= 4 and an integer-valued k.

    The range of k is -252 to 255 in float32 and -2044 to 2047 in float64: results may overflow to infinity and
    underflow gradually. A NaN in x or k gives NaN. The power is built in bits as two factors, neither of which
    overflows.
    """
    kind = kind_of(x, k)
    if x != x or k != k:
        return kind(math.nan)
    try:
        return rounded(kind, math.ldexp(float(x), int(k)))
    except OverflowError:
        return kind(math.copysign(math.inf, x))


@primitive
def power_of_two(k):
    """2**k for an integer-valued k whose power is a normal number; anything for another k."""
    kind = kind_of(k)
    return kind(math.ldexp(1.0, int(k)) if abs(k) < 1024 else math.nan)


@primitive
def mantissa_exponent(x):
    """(m, e) with x == m * 2**e, sqrt(1/2) <= m < sqrt(2), both floats; for finite x > 0, subnormal ones too.

    For any other x both are meaningless numbers, m still in its interval.
    """
    kind = numpy_kind(kind_of(x))
    integer, mantissa, lift = BITS[kind]
    small = x < np.finfo(kind).tiny
    lifted = rounded(kind, float(x) * 2.0**lift) if small else kind(x)
    one, middle = int(kind(1).view(integer)), int(kind(math.sqrt(0.5)).view(integer))
    bits = (int(lifted.view(integer)) + one - middle) & np.iinfo(integer).max
    m = integer((bits & (2**mantissa - 1)) + middle).view(kind)
    e = kind((bits >> mantissa) - (one >> mantissa) - (lift if small else 0))
    return (m, e) if kind_of(x) is not float else (float(m), float(e))


# uint32 arithmetic, for counters and random bits


@primitive
def mul32(a, b):
    """A * b modulo 2**32."""
    return np.uint32((int(a) * int(b)) & MASK32)


@primitive
def add32(a, b):
    """A + b modulo 2**32."""
    return np.uint32((int(a) + int(b)) & MASK32)


@primitive
def xor32(a, b):
    """The low 32 bits of a XOR b."""
    return np.uint32((int(a) ^ int(b)) & MASK32)


@primitive
def shr32(a, n):
    """The low 32 bits of a, shifted right by n modulo 32, zeros coming in."""
    return np.uint32((int(a) & MASK32) >> (int(n) & 31))
