"""pow as a branch-free body of primitives: the logarithm in two floats, so that the product with y keeps its bits.

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
    rint,
    select,
)


def regular_base(x):
    """The absolute value of x where it is finite and not 0, else 1."""
    a = absolute(x)
    return select((a > 0.0) & (a < infinity()), a, 1.0)


def with_special_values(x, y, value):
    """x**y from the power of `regular_base`: its sign, and IEEE 754's rules for zeros, infinities, NaN and x < 0."""
    a = absolute(x)
    regular = (a > 0.0) & (a < infinity())
    value = select(regular, value, select((y < 0.0) == (a == 0.0), infinity(), 0.0))
    whole = rint(y) == y
    odd = whole & (rint(y * 0.5) != y * 0.5)
    value = select(odd, copysign(value, x), value)
    value = select((x < 0.0) & (a < infinity()) & (rint(y) != y), not_a_number(), value)
    value = select((x != x) | (y != y), not_a_number(), value)
    return select((y == 0.0) | (x == 1.0), 1.0, value)


def two_part_log_float32(x):
    """log(x) as a sum of two floats, for finite x > 0: with s = f / (2 + f), 2s + (2/3) s^3 + s^5 T(s^2) + e log 2."""
    m, e = mantissa_exponent(x)
    f = m - 1.0
    d = 2.0 + f
    inverse = 1.0 / d
    s = f * inverse
    s_low = inverse * fma(-s, f - (d - 2.0), fma(-s, d, f))
    z = s * s
    z_low = fma(s + s, s_low, fma(s, s, -z))
    p = fma(fma(0.2342105656862259, z, 0.2854703366756439), z, 0.40000152587890625)
    w = z * 0.6666666865348816
    w_low = fma(z, fma(z, p, -1.9868215517249155e-08), fma(z_low, 0.6666666865348816, fma(z, 0.6666666865348816, -w)))
    cubic = s * w
    cubic_low = fma(s, w, -cubic) + fma(s, w_low, s_low * w)
    scale = e * 0.6931471824645996
    scale_low = fma(e, -1.9046542121259336e-09, fma(e, 0.6931471824645996, -scale))
    total = scale + (s + s)
    log = total + cubic
    low = ((s + s) - (total - scale)) + (cubic - (log - total))
    low = low + (scale_low + (s_low + s_low + cubic_low))
    high = log + low
    return high, low - (high - log)


def positive_pow_float32(x, y):
    """x**y for finite x > 0; beyond abs(y) = 2**32 every x but 1 gives 0 or infinity."""
    high, low = two_part_log_float32(x)
    y = select(y > 4294967296.0, 4294967296.0, select(y < -4294967296.0, -4294967296.0, y))
    t = y * high
    t_low = fma(y, low, fma(y, high, -t))
    t_low = select((t >= -104.0) & (t <= 89.0), t_low, 0.0)
    v = select(t < -104.0, 0.0, select(t > 89.0, 89.0, t))
    k = rint(v * 1.4426950216293335)
    r = fma(k, 1.9046542121259336e-09, fma(k, -0.6931471824645996, v)) + t_low
    q = fma(fma(0.0013814539415761828, r, 0.008368744514882565), r, 0.04166838899254799)
    q = fma(fma(q, r, 0.1666652113199234), r, 0.4999999403953552)
    return select(t < -104.0, 0.0, exponent_scale(fma(q, r * r, r) + 1.0, k))


def pow_float32(x, y):
    """x**y to 1.2 ulp, with IEEE 754's rules for zeros, infinities, NaN and negative x."""
    return with_special_values(x, y, positive_pow_float32(regular_base(x), y))


def two_part_log_float64(x):
    """log(x) as a sum of two floats, for finite x > 0: with s = f / (2 + f), 2s + (2/3) s^3 + s^5 T(s^2) + e log 2."""
    m, e = mantissa_exponent(x)
    f = m - 1.0
    d = 2.0 + f
    inverse = 1.0 / d
    s = f * inverse
    s_low = inverse * fma(-s, f - (d - 2.0), fma(-s, d, f))
    z = s * s
    z_low = fma(s + s, s_low, fma(s, s, -z))
    p = fma(fma(fma(0.11992002714615209, z, 0.11674459874032518), z, 0.13336335070769667), z, 0.15384556412560435)
    p = fma(fma(p, z, 0.18181818877029388), z, 0.22222222217481777)
    p = fma(fma(p, z, 0.28571428571445334), z, 0.39999999999999974)
    w = z * 0.6666666666666666
    w_low = fma(z, fma(z, p, 3.700743415417188e-17), fma(z_low, 0.6666666666666666, fma(z, 0.6666666666666666, -w)))
    cubic = s * w
    cubic_low = fma(s, w, -cubic) + fma(s, w_low, s_low * w)
    scale = e * 0.6931471805599453
    scale_low = fma(e, 2.3190468138462996e-17, fma(e, 0.6931471805599453, -scale))
    total = scale + (s + s)
    log = total + cubic
    low = ((s + s) - (total - scale)) + (cubic - (log - total))
    low = low + (scale_low + (s_low + s_low + cubic_low))
    high = log + low
    return high, low - (high - log)


def positive_pow_float64(x, y):
    """x**y for finite x > 0; beyond abs(y) = 2**63 every x but 1 gives 0 or infinity."""
    high, low = two_part_log_float64(x)
    y = select(
        y > 9.223372036854776e18, 9.223372036854776e18, select(y < -9.223372036854776e18, -9.223372036854776e18, y)
    )
    t = y * high
    t_low = fma(y, low, fma(y, high, -t))
    t_low = select((t >= -746.0) & (t <= 710.0), t_low, 0.0)
    v = select(t < -746.0, 0.0, select(t > 710.0, 710.0, t))
    k = rint(v * 1.4426950408889634)
    r = fma(k, -2.3190468138462996e-17, fma(k, -0.6931471805599453, v)) + t_low
    q = fma(fma(2.5000019288099746e-08, r, 2.7630306500300396e-07), r, 2.755758680566036e-06)
    q = fma(fma(q, r, 2.4801492948905326e-05), r, 0.00019841269505764956)
    q = fma(fma(q, r, 0.0013888888943760645), r, 0.008333333333494987)
    q = fma(fma(q, r, 0.041666666666529725), r, 0.1666666666666641)
    q = fma(q, r, 0.5000000000000011)
    return select(t < -746.0, 0.0, exponent_scale(fma(q, r * r, r) + 1.0, k))


def pow_float64(x, y):
    """x**y to 1.6 ulp, with IEEE 754's rules for zeros, infinities, NaN and negative x."""
    return with_special_values(x, y, positive_pow_float64(regular_base(x), y))


pow = ByDtype("pow", {"float32": pow_float32, "float64": pow_float64})
