"""erf, sin and cos as branch-free bodies of primitives (see `exponential` for how they were fitted and measured).

Imports primitives and `exponential`; no branch on a value may be added.
"""

from .exponential import exp_float32, exp_float64
from .primitives import (
    ByDtype,
    absolute,
    copysign,
    floor,
    fma,
    not_a_number,
    rint,
    select,
)


def erf_float32(x):
    """The error function to 1.1 ulp: x + x E(x^2) below 1, above it 1 - e**-Q(x)."""
    a = absolute(x)
    a = select(a > 4.0, 4.0, a)
    z = a * a
    p = fma(
        fma(fma(7.850530528230593e-05, z, -0.0008009267039597034), z, 0.005188231356441975), z, -0.026853766292333603
    )
    p = fma(fma(p, z, 0.1128358393907547), z, -0.3761262595653534)
    p = fma(p, z, 0.12837916612625122)
    near = fma(a, p, a)
    p = fma(
        fma(fma(-0.00018760253442451358, a, 0.0029600923880934715), a, -0.02188955806195736), a, 0.10321803390979767
    )
    p = fma(fma(p, a, 0.6380124092102051), a, 1.127171516418457)
    p = fma(p, a, 0.00032060136436484754)
    return copysign(select(a < 1.0, near, 1.0 - exp_float32(-p)), x)


def erf_float64(x):
    """The error function to 1.1 ulp: x + x E(x^2) below 1, above it 1 - e**-Q(x)."""
    a = absolute(x)
    a = select(a > 6.0, 6.0, a)
    z = a * a
    p = fma(
        fma(fma(5.942507360297461e-11, z, -1.1364071114374924e-09), z, 1.4657476347642276e-08),
        z,
        -1.634996666030798e-07,
    )
    p = fma(fma(p, z, 1.646096743489521e-06), z, -1.4925593180703035e-05)
    p = fma(fma(p, z, 0.00012055331023734894), z, -0.0008548326978393097)
    p = fma(fma(p, z, 0.00522397762477501), z, -0.026866170645072317)
    p = fma(fma(p, z, 0.11283791670954854), z, -0.3761263890318375)
    p = fma(p, z, 0.1283791670955126)
    near = fma(a, p, a)
    p = fma(
        fma(fma(5.1094834814528575e-12, a, -2.1153307798439503e-10), a, 4.06124607317214e-09),
        a,
        -4.7834459608045904e-08,
    )
    p = fma(fma(p, a, 3.841274961005984e-07), a, -2.1964460876693066e-06)
    p = fma(fma(p, a, 8.925779748159917e-06), a, -2.3674729962659448e-05)
    p = fma(fma(p, a, 2.24683210728069e-05), a, 0.00013056561146221438)
    p = fma(fma(p, a, -0.0007634395307115391), a, 0.0019068700599961172)
    p = fma(fma(p, a, -0.00040177529867444644), a, -0.01899673019777519)
    p = fma(fma(p, a, 0.10270699144769158), a, 0.6366422984079726)
    p = fma(fma(p, a, 1.1283743964133044), a, 4.699473530004212e-07)
    return copysign(select(a < 1.0, near, 1.0 - exp_float64(-p)), x)


def quarter_turn_float32(x, ahead):
    """sin(x + ahead pi/2) for abs(x) <= 2**20: x = j pi/2 + r, pi/2 in three parts, then sine or cosine of r."""
    j = rint(x * 0.6366197466850281)
    r = fma(j, 1.7151245100058819e-15, fma(j, 4.371138828673793e-08, fma(j, -1.5707963705062866, x)))
    z = r * r
    p = fma(fma(-0.00019468132813926786, z, 0.00833179522305727), z, -0.16666647791862488)
    sine = fma(r * z, p, r)
    p = fma(fma(2.43791891989531e-05, z, -0.0013886819360777736), z, 0.04166663438081741)
    cosine = fma(z, fma(z, p, -0.5), 1.0)
    turn = j + ahead
    turn = turn - 4.0 * floor(turn * 0.25)
    value = select((turn == 0.0) | (turn == 2.0), sine, cosine)
    return select(turn < 2.0, value, -value)


def quarter_turn_float64(x, ahead):
    """sin(x + ahead pi/2) for abs(x) <= 2**40: x = j pi/2 + r, pi/2 in three parts, then sine or cosine of r."""
    j = rint(x * 0.6366197723675814)
    r = fma(j, 1.4973849048591698e-33, fma(j, -6.123233995736766e-17, fma(j, -1.5707963267948966, x)))
    z = r * r
    p = fma(
        fma(fma(1.5889659976243656e-10, z, -2.505063550139985e-08), z, 2.755731291295508e-06),
        z,
        -0.00019841269827577693,
    )
    p = fma(fma(p, z, 0.008333333333319651), z, -0.1666666666666662)
    sine = fma(r * z, p, r)
    p = fma(
        fma(fma(-1.1353971352975356e-11, z, 2.0875612934808678e-09), z, -2.755731353532794e-07),
        z,
        2.480158728663531e-05,
    )
    p = fma(fma(p, z, -0.0013888888888869534), z, 0.041666666666666574)
    cosine = fma(z, fma(z, p, -0.5), 1.0)
    turn = j + ahead
    turn = turn - 4.0 * floor(turn * 0.25)
    value = select((turn == 0.0) | (turn == 2.0), sine, cosine)
    return select(turn < 2.0, value, -value)


def sin_float32(x):
    """The sine to 1.6 ulp for abs(x) <= 2**20; NaN beyond, where the reduction would be inexact."""
    inside = absolute(x) <= 1048576.0
    value = quarter_turn_float32(select(inside, x, 0.0), 0.0)
    return select(inside, select(absolute(x) < 1e-5, x, value), not_a_number())


def cos_float32(x):
    """The cosine to 1.6 ulp for abs(x) <= 2**20; NaN beyond, where the reduction would be inexact."""
    inside = absolute(x) <= 1048576.0
    return select(inside, quarter_turn_float32(select(inside, x, 0.0), 1.0), not_a_number())


def sin_float64(x):
    """The sine to 1.6 ulp for abs(x) <= 2**40; NaN beyond, where the reduction would be inexact."""
    inside = absolute(x) <= 1099511627776.0
    value = quarter_turn_float64(select(inside, x, 0.0), 0.0)
    return select(inside, select(absolute(x) < 1e-9, x, value), not_a_number())


def cos_float64(x):
    """The cosine to 1.6 ulp for abs(x) <= 2**40; NaN beyond, where the reduction would be inexact."""
    inside = absolute(x) <= 1099511627776.0
    return select(inside, quarter_turn_float64(select(inside, x, 0.0), 1.0), not_a_number())


erf = ByDtype("erf", {"float32": erf_float32, "float64": erf_float64})
sin = ByDtype("sin", {"float32": sin_float32, "float64": sin_float64})
cos = ByDtype("cos", {"float32": cos_float32, "float64": cos_float64})
