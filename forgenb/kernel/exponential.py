"""exp, expm1, sigmoid, tanh, log, log1p and log2 as branch-free bodies of primitives, which loops vectorise.

The argument is reduced with `rint` and `fma`, a polynomial does the rest, and the exponent is built in bits. The
coefficients were fitted for forgenb by Remez exchange in 200-bit arithmetic, minimising the relative error of the
function on the reduced interval, then rounded to the dtype. Errors in ulp are measured maxima; results that underflow
are subnormal, not flushed. float32 bodies compute in float32 only.

Imports primitives only; no branch on a value may be added.
"""

from .primitives import (
    ByDtype,
    absolute,
    copysign,
    exponent_scale,
    fma,
    infinity,
    mantissa_exponent,
    not_a_number,
    power_of_two,
    rint,
    select,
)


def exp_float32(x):
    """e**x to 1.1 ulp: exp(r) = 1 + r + r^2 q(r), q of degree 4."""
    y = select(x < -104.0, 0.0, x)
    y = select(y > 89.0, 89.0, y)
    k = rint(y * 1.4426950216293335)
    r = fma(k, 1.9046542121259336e-09, fma(k, -0.6931471824645996, y))
    q = fma(fma(0.0013814539415761828, r, 0.008368744514882565), r, 0.04166838899254799)
    q = fma(fma(q, r, 0.1666652113199234), r, 0.4999999403953552)
    return select(x < -104.0, 0.0, exponent_scale(fma(q, r * r, r) + 1.0, k))


def exp_float64(x):
    """e**x to 1.1 ulp: exp(r) = 1 + r + r^2 q(r), q of degree 9."""
    y = select(x < -746.0, 0.0, x)
    y = select(y > 710.0, 710.0, y)
    k = rint(y * 1.4426950408889634)
    r = fma(k, -2.3190468138462996e-17, fma(k, -0.6931471805599453, y))
    q = fma(fma(2.5000019288099746e-08, r, 2.7630306500300396e-07), r, 2.755758680566036e-06)
    q = fma(fma(q, r, 2.4801492948905326e-05), r, 0.00019841269505764956)
    q = fma(fma(q, r, 0.0013888888943760645), r, 0.008333333333494987)
    q = fma(fma(q, r, 0.041666666666529725), r, 0.1666666666666641)
    q = fma(q, r, 0.5000000000000011)
    return select(x < -746.0, 0.0, exponent_scale(fma(q, r * r, r) + 1.0, k))


def reduced_expm1_float32(y):
    """(k, p) with exp(y) = 2**k (1 + p) for a y whose power is in range; p keeps its relative accuracy near 0."""
    k = rint(y * 1.4426950216293335)
    s = fma(k, -0.6931471824645996, y)
    r = fma(k, 1.9046542121259336e-09, s)
    low = fma(k, 1.9046542121259336e-09, s - r)
    q = fma(fma(0.00019962315855082124, r, 0.0013943254016339779), r, 0.008333220146596432)
    q = fma(fma(fma(q, r, 0.04166632518172264), r, 0.1666666716337204), r, 0.5)
    return k, r + fma(q, r * r, low)


def reduced_expm1_float64(y):
    """(k, p) with exp(y) = 2**k (1 + p) for a y whose power is in range; p keeps its relative accuracy near 0."""
    k = rint(y * 1.4426950408889634)
    s = fma(k, -0.6931471805599453, y)
    r = fma(k, -2.3190468138462996e-17, s)
    low = fma(k, -2.3190468138462996e-17, s - r)
    q = fma(fma(1.7687739387223985e-09, r, 2.5105236520764907e-08), r, 2.756793564914865e-07)
    q = fma(fma(q, r, 2.7557255360176153e-06), r, 2.4801574517718862e-05)
    q = fma(fma(q, r, 0.00019841269874845227), r, 0.0013888888895613192)
    q = fma(fma(q, r, 0.00833333333332613), r, 0.041666666666652245)
    q = fma(fma(q, r, 0.1666666666666667), r, 0.5000000000000001)
    return k, r + fma(q, r * r, low)


def expm1_float32(x):
    """e**x - 1 to 1.4 ulp."""
    y = select(x < -18.0, -18.0, x)
    k, p = reduced_expm1_float32(select(y > 88.72283, 88.72283, y))
    half = power_of_two(k - 1.0)
    e = fma(half, p, half - 0.5)
    return select(absolute(x) < 1e-8, x, select(x > 88.72283, infinity(), e + e))


def expm1_float64(x):
    """e**x - 1 to 1.4 ulp."""
    y = select(x < -38.0, -38.0, x)
    k, p = reduced_expm1_float64(select(y > 709.782712893384, 709.782712893384, y))
    half = power_of_two(k - 1.0)
    e = fma(half, p, half - 0.5)
    return select(absolute(x) < 1e-17, x, select(x > 709.782712893384, infinity(), e + e))


def corrected_quotient(above, below, lost):
    """Above / (below + lost), where lost is what rounding took from below: one rounding in all, nearly."""
    inverse = 1.0 / below
    quotient = above * inverse
    return fma(inverse, fma(-quotient, lost, fma(-quotient, below, above)), quotient)


def sigmoid_from(x, e):
    """1 / (1 + e**-x) from e**-abs(x): small for x < 0 without cancellation."""
    return select(x < 0.0, e, 1.0) / (1.0 + e)


def sigmoid_float32(x):
    """1 / (1 + e**-x) to 2.5 ulp."""
    return sigmoid_from(x, exp_float32(-absolute(x)))


def sigmoid_float64(x):
    """1 / (1 + e**-x) to 2.5 ulp."""
    return sigmoid_from(x, exp_float64(-absolute(x)))


def tanh_from(x, a, k, p):
    """(e**2a - 1) / (e**2a + 1) with the sign of x, and 1 - 2 / (e**2a + 1) above 0.55, from e**2a = 2**k (1 + p)."""
    power = power_of_two(k)
    large = a > 0.55
    above, below = select(large, 2.0, fma(power, p, power - 1.0)), fma(power, p, power + 1.0)
    quotient = corrected_quotient(above, below, fma(power, p, (power + 1.0) - below))
    return copysign(select(large, 1.0 - quotient, quotient), x)


def tanh_float32(x):
    """The hyperbolic tangent to 1.7 ulp."""
    a = absolute(x)
    a = select(a > 9.1, 9.1, a)
    k, p = reduced_expm1_float32(a + a)
    return tanh_from(x, a, k, p)


def tanh_float64(x):
    """The hyperbolic tangent to 1.7 ulp."""
    a = absolute(x)
    a = select(a > 19.1, 19.1, a)
    k, p = reduced_expm1_float64(a + a)
    return tanh_from(x, a, k, p)


def scaled_log1p_float32(f, e):
    """log(2**e (1 + f)) for sqrt(1/2) <= 1 + f < sqrt(2): f - f^2/2 + f^3 P(f), P of degree 8."""
    p = fma(fma(0.06747718155384064, f, -0.11677498370409012), f, 0.11888693273067474)
    p = fma(fma(p, f, -0.12405342608690262), f, 0.14219453930854797)
    p = fma(fma(p, f, -0.16668005287647247), f, 0.20002123713493347)
    p = fma(fma(fma(p, f, -0.25000008940696716), f, 0.3333331346511841), f, -0.5)
    small = fma(e, -1.9046542121259336e-09, f * f * p)
    return fma(e, 0.6931471824645996, f + small)


def scaled_log1p_float64(f, e):
    """log(2**e (1 + f)) for sqrt(1/2) <= 1 + f < sqrt(2), through the odd series in s = f / (2 + f)."""
    s = f / (2.0 + f)
    z = s * s
    p = fma(fma(0.14799063585710492, z, 0.1531375598812579), z, 0.1818357515779304)
    p = fma(fma(p, z, 0.2222219837859112), z, 0.2857142874414078)
    p = fma(fma(p, z, 0.3999999999940749), z, 0.6666666666666735)
    half = 0.5 * f * f
    small = half - fma(e, 2.3190468138462996e-17, s * fma(z, p, half))
    return fma(e, 0.6931471805599453, f - small)


def log_float32(x):
    """The natural logarithm to 0.9 ulp; log(0) = -inf, NaN below."""
    m, e = mantissa_exponent(x)
    inside = select(x < infinity(), scaled_log1p_float32(m - 1.0, e), x)
    return select(x > 0.0, inside, select(x == 0.0, -infinity(), not_a_number()))


def log_float64(x):
    """The natural logarithm to 0.9 ulp; log(0) = -inf, NaN below."""
    m, e = mantissa_exponent(x)
    inside = select(x < infinity(), scaled_log1p_float64(m - 1.0, e), x)
    return select(x > 0.0, inside, select(x == 0.0, -infinity(), not_a_number()))


def log1p_float32(x):
    """log(1 + x) to 1.5 ulp, near 0 too; log1p(-1) = -inf, NaN below."""
    inside = (x > -1.0) & (x < infinity())
    y = select(inside, x, 1.0)
    _, e = mantissa_exponent(1.0 + y)
    scale = exponent_scale(1.0, -e)
    result = scaled_log1p_float32(fma(y, scale, scale - 1.0), e)
    outside = select(x == -1.0, -infinity(), select(x > 0.0, x, not_a_number()))
    return select(inside, select(absolute(x) < 1e-8, x, result), outside)


def log1p_float64(x):
    """log(1 + x) to 1.5 ulp, near 0 too; log1p(-1) = -inf, NaN below."""
    inside = (x > -1.0) & (x < infinity())
    y = select(inside, x, 1.0)
    _, e = mantissa_exponent(1.0 + y)
    scale = exponent_scale(1.0, -e)
    result = scaled_log1p_float64(fma(y, scale, scale - 1.0), e)
    outside = select(x == -1.0, -infinity(), select(x > 0.0, x, not_a_number()))
    return select(inside, select(absolute(x) < 1e-17, x, result), outside)


def log2_float32(x):
    """The logarithm to base 2 to 1.6 ulp, exact for powers of 2; log2(0) = -inf, NaN below."""
    m, e = mantissa_exponent(x)
    log = scaled_log1p_float32(m - 1.0, 0.0)
    t = log * 1.4426950216293335
    low = fma(log, 1.9259629911266175e-08, fma(log, 1.4426950216293335, -t))
    whole = e + t
    inside = select(x < infinity(), whole + ((t - (whole - e)) + low), x)
    return select(x > 0.0, inside, select(x == 0.0, -infinity(), not_a_number()))


def log2_float64(x):
    """The logarithm to base 2 to 1.6 ulp, exact for powers of 2; log2(0) = -inf, NaN below."""
    m, e = mantissa_exponent(x)
    log = scaled_log1p_float64(m - 1.0, 0.0)
    t = log * 1.4426950408889634
    low = fma(log, 2.0355273740931033e-17, fma(log, 1.4426950408889634, -t))
    whole = e + t
    inside = select(x < infinity(), whole + ((t - (whole - e)) + low), x)
    return select(x > 0.0, inside, select(x == 0.0, -infinity(), not_a_number()))


exp = ByDtype("exp", {"float32": exp_float32, "float64": exp_float64})
expm1 = ByDtype("expm1", {"float32": expm1_float32, "float64": expm1_float64})
sigmoid = ByDtype("sigmoid", {"float32": sigmoid_float32, "float64": sigmoid_float64})
tanh = ByDtype("tanh", {"float32": tanh_float32, "float64": tanh_float64})
log = ByDtype("log", {"float32": log_float32, "float64": log_float64})
log1p = ByDtype("log1p", {"float32": log1p_float32, "float64": log1p_float64})
log2 = ByDtype("log2", {"float32": log2_float32, "float64": log2_float64})
