"""sin, cos, tan and arctan as branch-free bodies of primitives (see `exponential` for how they were fitted).

An angle is reduced to x = j pi/2 + r with abs(r) <= pi/4. Near 0 a product of j with pi/2 in three parts does
(Cody and Waite); far out x is multiplied with as many digits of 2/pi as its size needs, and multiples of 4 are dropped
(Payne and Hanek), see `far_turns`. So the bounds hold for every finite x, and infinity gives NaN. The names with
``near`` are the same functions without the second way: the same bits for abs(x) <= 2**20, and anything beyond.

Imports primitives only; no branch on a value may be added.
"""

from .far_turns import far_turns_float32, far_turns_float64
from .primitives import (
    ByDtype,
    absolute,
    copysign,
    floor,
    fma,
    infinity,
    not_a_number,
    rint,
    select,
)


def near_turns_float32(x):
    """(j, r) for abs(x) <= 2**20."""
    j = rint(x * 0.6366197466850281)
    return j, fma(j, 1.7151245100058819e-15, fma(j, 4.371138828673793e-08, fma(j, -1.5707963705062866, x)))


def near_turns_float64(x):
    """(j, r) for abs(x) <= 2**40."""
    j = rint(x * 0.6366197723675814)
    return j, fma(j, 1.4973849048591698e-33, fma(j, -6.123233995736766e-17, fma(j, -1.5707963267948966, x)))


def is_near_float32(a):
    """Whether `near_turns` does for angles of this size."""
    return a <= 1048576.0


def is_near_float64(a):
    """Whether `near_turns` does for angles of this size."""
    return a <= 1099511627776.0


def is_own_sine_float32(a):
    """Whether angles of this size are their own sine and tangent."""
    return a < 1e-5


def is_own_sine_float64(a):
    """Whether angles of this size are their own sine and tangent."""
    return a < 1e-9


def sine_cosine_float32(r):
    """Sine and cosine for abs(r) <= pi/4."""
    z = r * r
    p = fma(fma(-0.00019468132813926786, z, 0.00833179522305727), z, -0.16666647791862488)
    sine = fma(r * z, p, r)
    p = fma(fma(2.43791891989531e-05, z, -0.0013886819360777736), z, 0.04166663438081741)
    return sine, fma(z, fma(z, p, -0.5), 1.0)


def sine_cosine_float64(r):
    """Sine and cosine for abs(r) <= pi/4."""
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
    return sine, fma(z, fma(z, p, -0.5), 1.0)


is_near = ByDtype("is_near", {"float32": is_near_float32, "float64": is_near_float64})
is_own_sine = ByDtype("is_own_sine", {"float32": is_own_sine_float32, "float64": is_own_sine_float64})
near_turns = ByDtype("near_turns", {"float32": near_turns_float32, "float64": near_turns_float64})
far_turns = ByDtype("far_turns", {"float32": far_turns_float32, "float64": far_turns_float64})
sine_cosine = ByDtype("sine_cosine", {"float32": sine_cosine_float32, "float64": sine_cosine_float64})


def turns(x):
    """(j, r) for finite x; for others those of 0."""
    a = absolute(x)
    near = is_near(a)
    far = select(near, infinity(), a) < infinity()
    near_j, near_r = near_turns(select(near, x, 0.0))
    far_j, far_r = far_turns(select(far, x, 0.0))
    return select(far, far_j, near_j), select(far, far_r, near_r)


def turned(j, sine, cosine):
    """The sine of an angle j pi/2 further than the one with this sine and cosine."""
    turn = j - 4.0 * floor(j * 0.25)
    value = select((turn == 0.0) | (turn == 2.0), sine, cosine)
    return select(turn < 2.0, value, -value)


def slope(j, sine, cosine):
    """The tangent of an angle j pi/2 further than the one with this sine and cosine."""
    odd = j != 2.0 * floor(j * 0.5)
    return select(odd, -cosine, sine) / select(odd, sine, cosine)


def near_sin_body(x):
    """The sine to 1.6 ulp for abs(x) <= 2**20, in float64 to 2**40."""
    j, r = near_turns(x)
    sine, cosine = sine_cosine(r)
    return select(is_own_sine(absolute(x)), x, turned(j, sine, cosine))


def near_cos_body(x):
    """The cosine to 1.6 ulp for abs(x) <= 2**20, in float64 to 2**40."""
    j, r = near_turns(x)
    sine, cosine = sine_cosine(r)
    return turned(j + 1.0, sine, cosine)


def near_tan_body(x):
    """The tangent to 3.0 ulp for abs(x) <= 2**20, in float64 to 2**40."""
    j, r = near_turns(x)
    sine, cosine = sine_cosine(r)
    return select(is_own_sine(absolute(x)), x, slope(j, sine, cosine))


def sin_body(x):
    """The sine to 1.6 ulp; NaN of infinity."""
    j, r = turns(x)
    sine, cosine = sine_cosine(r)
    value = select(is_own_sine(absolute(x)), x, turned(j, sine, cosine))
    return select(absolute(x) < infinity(), value, not_a_number())


def cos_body(x):
    """The cosine to 1.6 ulp; NaN of infinity."""
    j, r = turns(x)
    sine, cosine = sine_cosine(r)
    return select(absolute(x) < infinity(), turned(j + 1.0, sine, cosine), not_a_number())


def tan_body(x):
    """The tangent to 3.0 ulp; NaN of infinity."""
    j, r = turns(x)
    sine, cosine = sine_cosine(r)
    value = select(is_own_sine(absolute(x)), x, slope(j, sine, cosine))
    return select(absolute(x) < infinity(), value, not_a_number())


def arctan_parts(a):
    """The argument whose arctangent, added to 0, pi/4 or pi/2, is that of a >= 0, and which of the three it is."""
    large, middle = a > 2.414213562373095, a > 0.41421356237309503
    above = select(large, -1.0, select(middle, a - 1.0, a))
    below = select(large, a, select(middle, a + 1.0, 1.0))
    return above / below, middle, large


def arctan_float32(x):
    """The arctangent to 1.8 ulp: y + y^3 P(y^2) on abs(y) <= tan(pi/8), P of degree 4."""
    y, middle, large = arctan_parts(absolute(x))
    z = y * y
    p = fma(fma(-0.06077985838055611, z, 0.10593724995851517), z, -0.142435222864151)
    p = fma(fma(p, z, 0.19998471438884735), z, -0.33333316445350647)
    base = select(large, 1.5707963705062866, select(middle, 0.7853981852531433, 0.0))
    low = select(large, -4.3711390001862426e-08, select(middle, -2.1855695000931213e-08, 0.0))
    return copysign(base + (fma(y * z, p, low) + y), x)


def arctan_float64(x):
    """The arctangent to 1.8 ulp: y + y^3 P(y^2) on abs(y) <= tan(pi/8), P of degree 10."""
    y, middle, large = arctan_parts(absolute(x))
    z = y * y
    p = fma(fma(-0.017903530762359572, z, 0.03806078640220852), z, -0.05039138155676766)
    p = fma(fma(p, z, 0.05847847908135425), z, -0.0666309767635664)
    p = fma(fma(p, z, 0.07692059586349814), z, -0.09090897718087991)
    p = fma(fma(p, z, 0.11111110781914145), z, -0.1428571428016195)
    p = fma(fma(p, z, 0.19999999999953205), z, -0.333333333333332)
    base = select(large, 1.5707963267948966, select(middle, 0.7853981633974483, 0.0))
    low = select(large, 6.123233995736766e-17, select(middle, 3.061616997868383e-17, 0.0))
    return copysign(base + (fma(y * z, p, low) + y), x)


def of_any(name, body):
    """A function whose body is the same in both float types."""
    return ByDtype(name, {"float32": body, "float64": body})


near_sin = of_any("near_sin", near_sin_body)
near_cos = of_any("near_cos", near_cos_body)
near_tan = of_any("near_tan", near_tan_body)
sin = of_any("sin", sin_body)
cos = of_any("cos", cos_body)
tan = of_any("tan", tan_body)
arctan = ByDtype("arctan", {"float32": arctan_float32, "float64": arctan_float64})
