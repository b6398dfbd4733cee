"""Reduction of large angles: x = j pi/2 + r for any finite x, however large (Payne and Hanek).

With x = y 2**(S a), y a whole number wherever a > 0, the product x 2/pi is y (2**(S a) 2/pi), of which multiples of 4
do not matter. So 2**(S a) 2/pi modulo 4 is kept for each window a, as a sum of floats that is long enough: its error
times y is below the distance from x to the nearest multiple of pi/2 by more than the float's precision. Each product
of y with one of them is exact in two floats, and so is each of those modulo 4; their sum is compensated.

The digits of 2/pi were computed in 2000-bit arithmetic. Imports primitives only; no branch on a value may be added.
"""

from .primitives import absolute, fma, rint, select


def modulo4(x):
    """What is left of x without the multiple of 4 that is nearest to it; exact."""
    return fma(-4.0, rint(x * 0.25), x)


def plus(s, c, v):
    """(s', c') with s' + c' = s + c + v, where s' is s + v rounded and c collects what the roundings lost."""
    total = s + v
    part = total - s
    return total, c + ((s - (total - part)) + (v - part))


def product(y, factor):
    """The product as a sum of two floats."""
    high = y * factor
    return high, fma(y, factor, -high)


def chosen_float32(condition, one, other):
    """Each of 6 numbers from one tuple or the other."""
    return (
        select(condition, one[0], other[0]),
        select(condition, one[1], other[1]),
        select(condition, one[2], other[2]),
        select(condition, one[3], other[3]),
        select(condition, one[4], other[4]),
        select(condition, one[5], other[5]),
    )


def window_float32(a):
    """The scale of y, then 5 floats whose sum is 2/pi scaled back, modulo 4, for abs(x) = a."""
    window = (
        8.271806125530277e-25,
        -0.6569525599479675,
        1.2308876584654627e-08,
        3.8004454578235254e-16,
        -5.595541073165534e-24,
        1.2709872507160684e-32,
    )
    window = chosen_float32(
        a < 2.028240960365167e31,
        (
            9.094947017729282e-13,
            -1.734052062034607,
            -8.955403085764146e-10,
            2.717045948317218e-17,
            -2.0402612810141473e-25,
            4.159734348882306e-33,
        ),
        window,
    )
    return chosen_float32(
        a < 1.8446744073709552e19,
        (
            1.0,
            0.6366197466850281,
            2.5682552973194106e-08,
            2.937095479631555e-16,
            6.074026627379602e-24,
            -1.3772975785985739e-31,
        ),
        window,
    )


def far_turns_float32(x):
    """(j, r) with x = j pi/2 + r, j modulo some multiple of 4; for finite x above 2**20 in size."""
    window = window_float32(absolute(x))
    y = x * window[0]
    p0, q0 = product(y, window[1])
    p1, q1 = product(y, window[2])
    p2, q2 = product(y, window[3])
    p3, q3 = product(y, window[4])
    p4 = y * window[5]
    p0, q0 = modulo4(p0), modulo4(q0)
    p1, q1 = modulo4(p1), modulo4(q1)
    p2 = modulo4(p2)
    j = rint(p0 + q0 + p1 + q1 + p2 + q2 + p3)
    s, c = p0 - j, 0.0 * j
    s, c = plus(s, c, q0)
    s, c = plus(s, c, p1)
    s, c = plus(s, c, q1)
    s, c = plus(s, c, p2)
    s, c = plus(s, c, q2)
    s, c = plus(s, c, p3)
    s, c = plus(s, c, q3)
    s, c = plus(s, c, p4)
    f = s + c
    r, low = product(f, 1.5707963705062866)
    return j, r + (low + fma(f, -4.3711390001862426e-08, 1.5707963705062866 * (c - (f - s))))


def chosen_float64(condition, one, other):
    """Each of 7 numbers from one tuple or the other."""
    return (
        select(condition, one[0], other[0]),
        select(condition, one[1], other[1]),
        select(condition, one[2], other[2]),
        select(condition, one[3], other[3]),
        select(condition, one[4], other[4]),
        select(condition, one[5], other[5]),
        select(condition, one[6], other[6]),
    )


def window_float64(a):
    """The scale of y, then 6 floats whose sum is 2/pi scaled back, modulo 4, for abs(x) = a."""
    window = (
        1.1830521861667747e-271,
        0.9546503075161987,
        3.942821544584385e-17,
        -1.7476129096501472e-34,
        -7.588331567513646e-51,
        -5.20326973280033e-67,
        2.2837865774779334e-84,
    )
    window = chosen_float64(
        a < 7.61352657140625e286,
        (
            1.688508503057271e-226,
            1.3984982845762588,
            9.034692293317903e-17,
            -2.3517799283957666e-33,
            4.2363891360812514e-50,
            -2.005478623626711e-66,
            1.0668676370599962e-82,
        ),
        window,
    )
    window = chosen_float64(
        a < 5.334411546303884e241,
        (
            2.409919865102884e-181,
            -1.7753398879534767,
            6.0690703087687e-17,
            6.157403977292624e-33,
            4.2588666683108084e-50,
            -7.001957395122477e-67,
            -2.7262518527179297e-83,
        ),
        window,
    )
    window = chosen_float64(
        a < 3.7375513539561023e196,
        (
            3.4395525670743494e-136,
            -0.36705256515876855,
            -2.669033759070787e-17,
            -3.904378051557865e-34,
            3.5548872688747866e-50,
            1.7421522722425242e-66,
            4.941548532669091e-83,
        ),
        window,
    )
    window = chosen_float64(
        a < 2.6187124863169135e151,
        (
            4.909093465297727e-91,
            0.8639831777135734,
            8.516308978595715e-18,
            3.4536789077520334e-34,
            9.013522177802167e-51,
            -2.308097792350631e-67,
            1.0088237254227924e-83,
        ),
        window,
    )
    window = chosen_float64(
        a < 1.8347988927920572e106,
        (
            7.006492321624085e-46,
            1.3996439511106458,
            6.033139709649026e-17,
            -3.5079703186142195e-33,
            -1.924226522349077e-49,
            3.728802373760377e-66,
            3.8304688056297266e-83,
        ),
        window,
    )
    return chosen_float64(
        a < 1.2855504354071922e61,
        (
            1.0,
            0.6366197723675814,
            -3.935735335036497e-17,
            -2.1442872565786008e-33,
            1.6107127853188224e-49,
            -3.1205531813639427e-66,
            5.6740278623829445e-83,
        ),
        window,
    )


def far_turns_float64(x):
    """(j, r) with x = j pi/2 + r, j modulo some multiple of 4; for finite x above 2**20 in size."""
    window = window_float64(absolute(x))
    y = x * window[0]
    p0, q0 = product(y, window[1])
    p1, q1 = product(y, window[2])
    p2, q2 = product(y, window[3])
    p3, q3 = product(y, window[4])
    p4, q4 = product(y, window[5])
    p5 = y * window[6]
    p0, q0 = modulo4(p0), modulo4(q0)
    p1, q1 = modulo4(p1), modulo4(q1)
    p2, q2 = modulo4(p2), modulo4(q2)
    p3 = modulo4(p3)
    j = rint(p0 + q0 + p1 + q1 + p2 + q2 + p3 + q3 + p4)
    s, c = p0 - j, 0.0 * j
    s, c = plus(s, c, q0)
    s, c = plus(s, c, p1)
    s, c = plus(s, c, q1)
    s, c = plus(s, c, p2)
    s, c = plus(s, c, q2)
    s, c = plus(s, c, p3)
    s, c = plus(s, c, q3)
    s, c = plus(s, c, p4)
    s, c = plus(s, c, q4)
    s, c = plus(s, c, p5)
    f = s + c
    r, low = product(f, 1.5707963267948966)
    return j, r + (low + fma(f, 6.123233995736766e-17, 1.5707963267948966 * (c - (f - s))))
