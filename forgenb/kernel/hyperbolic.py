"""sinh and cosh as branch-free bodies of primitives, from e**x - 1 of `exponential`.

Imports primitives and `exponential`; no branch on a value may be added.
"""

from .exponential import expm1_float32, expm1_float64, reduced_expm1_float32, reduced_expm1_float64
from .primitives import ByDtype, absolute, copysign, exponent_scale, select


def sinh_from(x, near, half):
    """(e**a - e**-a) / 2 with the sign of x, from e**a - 1 where a = abs(x) is at most 1, else from e**a / 2."""
    small = 0.5 * (near + near / (near + 1.0))
    return copysign(select(absolute(x) <= 1.0, small, half - 0.25 / half), x)


def sinh_float32(x):
    """The hyperbolic sine to 2.3 ulp."""
    a = absolute(x)
    k, p = reduced_expm1_float32(select(a > 90.0, 90.0, a))
    value = sinh_from(x, expm1_float32(select(a > 1.0, 1.0, a)), exponent_scale(1.0 + p, k - 1.0))
    return select(a < 1e-8, x, value)


def sinh_float64(x):
    """The hyperbolic sine to 2.3 ulp."""
    a = absolute(x)
    k, p = reduced_expm1_float64(select(a > 711.0, 711.0, a))
    value = sinh_from(x, expm1_float64(select(a > 1.0, 1.0, a)), exponent_scale(1.0 + p, k - 1.0))
    return select(a < 1e-17, x, value)


def cosh_float32(x):
    """The hyperbolic cosine to 1.6 ulp."""
    a = absolute(x)
    k, p = reduced_expm1_float32(select(a > 90.0, 90.0, a))
    half = exponent_scale(1.0 + p, k - 1.0)
    return half + 0.25 / half


def cosh_float64(x):
    """The hyperbolic cosine to 1.6 ulp."""
    a = absolute(x)
    k, p = reduced_expm1_float64(select(a > 711.0, 711.0, a))
    half = exponent_scale(1.0 + p, k - 1.0)
    return half + 0.25 / half


sinh = ByDtype("sinh", {"float32": sinh_float32, "float64": sinh_float64})
cosh = ByDtype("cosh", {"float32": cosh_float32, "float64": cosh_float64})
