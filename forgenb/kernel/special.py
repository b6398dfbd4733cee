"""erf as a branch-free body of primitives (see `exponential` for how it was fitted and measured).

Imports primitives and `exponential`; no branch on a value may be added.
"""

from .exponential import exp_float32, exp_float64
from .primitives import (
    ByDtype,
    absolute,
    copysign,
    fma,
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


erf = ByDtype("erf", {"float32": erf_float32, "float64": erf_float64})
