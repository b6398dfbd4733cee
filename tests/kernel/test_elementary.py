"""Elementary functions: errors in ulp, tables of special values, and plain bodies against compiled ones."""

import math

import numpy as np
import pytest
from support.binder import machine, plainly, same_bits

from forgenb.kernel import elementary
from forgenb.kernel.elementary import (
    arctan,
    cos,
    cosh,
    erf,
    exp,
    expm1,
    log,
    log1p,
    log2,
    near_cos,
    near_sin,
    near_tan,
    pow,
    sigmoid,
    sin,
    sinh,
    tan,
    tanh,
)

DTYPES = [np.float32, np.float64]
INF, NAN = math.inf, math.nan

# Largest error that the docstrings state, in ulp: float32, float64.
BOUNDS = {
    exp: (1.1, 1.1),
    expm1: (1.4, 1.4),
    sigmoid: (2.5, 2.5),
    tanh: (1.7, 1.7),
    log: (0.9, 0.9),
    log1p: (1.5, 1.5),
    erf: (1.1, 1.1),
    sin: (1.6, 1.6),
    cos: (1.6, 1.6),
    tan: (3.0, 3.0),
    near_sin: (1.6, 1.6),
    near_cos: (1.6, 1.6),
    near_tan: (3.0, 3.0),
    arctan: (1.8, 1.8),
    sinh: (2.3, 2.3),
    cosh: (1.6, 1.6),
    log2: (1.6, 1.6),
}
REFERENCE = {
    exp: np.exp,
    expm1: np.expm1,
    sigmoid: lambda x: 1 / (1 + np.exp(-x)),
    tanh: np.tanh,
    log: np.log,
    log1p: np.log1p,
    erf: np.vectorize(math.erf, otypes=[np.float64]),
    sin: np.sin,
    cos: np.cos,
    tan: np.tan,
    near_sin: np.sin,
    near_cos: np.cos,
    near_tan: np.tan,
    arctan: np.arctan,
    sinh: np.sinh,
    cosh: np.cosh,
    log2: np.log2,
}
# Interval of arguments: float32, float64.
DOMAIN = {
    exp: ((-104, 89), (-746, 710)),
    expm1: ((-40, 89), (-60, 710)),
    sigmoid: ((-104, 40), (-740, 60)),
    tanh: ((-12, 12), (-22, 22)),
    log: ((1e-30, 4), (1e-200, 4)),
    log1p: ((-0.999, 9), (-0.999, 9)),
    erf: ((-4.5, 4.5), (-6.5, 6.5)),
    sin: ((-1e5, 1e5), (-1e9, 1e9)),
    cos: ((-1e5, 1e5), (-1e9, 1e9)),
    tan: ((-1e5, 1e5), (-1e9, 1e9)),
    near_sin: ((-1e6, 1e6), (-1e6, 1e6)),
    near_cos: ((-1e6, 1e6), (-1e6, 1e6)),
    near_tan: ((-1e6, 1e6), (-1e6, 1e6)),
    arctan: ((-30, 30), (-30, 30)),
    sinh: ((-89.4, 89.4), (-710, 710)),
    cosh: ((-89.4, 89.4), (-710, 710)),
    log2: ((1e-30, 4), (1e-200, 4)),
}


def wider(dtype):
    """A more precise type to compute references in."""
    return np.float64 if dtype is np.float32 else np.longdouble


def ulps(got, want, dtype):
    """The largest error in units in the last place of the exact result (of the least normal number below it)."""
    info = np.finfo(dtype)
    finite = np.isfinite(want) & (np.abs(want) <= wider(dtype)(info.max))
    np.testing.assert_array_equal(np.isfinite(got[finite]), True)
    want, got = want[finite], got[finite].astype(wider(dtype))
    unit = np.ldexp(wider(dtype)(1), np.maximum(np.frexp(want)[1] - 1, info.minexp) - info.nmant)
    return float(np.max(np.abs(got - want) / unit))


def arguments(function, dtype, n=60_000):
    rng = np.random.default_rng(7)
    low, high = DOMAIN[function][DTYPES.index(dtype)]
    near_zero = np.exp(rng.uniform(-60, 0, n // 3)) * (1 if low > 0 else rng.choice([-1, 1], n // 3))
    return np.concatenate([rng.uniform(low, high, n), rng.uniform(max(low, -3), 3, n), near_zero]).astype(dtype)


def needs_long_double(dtype):
    if dtype is np.float64 and np.finfo(np.longdouble).nmant < 60:
        pytest.skip("np.longdouble is no wider than float64 on this machine")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", BOUNDS, ids=lambda f: f.name)
def test_error_bound(function, dtype):
    needs_long_double(dtype)
    x = arguments(function, dtype)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        want = REFERENCE[function](x.astype(wider(dtype)))
    assert ulps(machine(function, dtype, x), want, dtype) <= BOUNDS[function][DTYPES.index(dtype)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_pow_error_bound(dtype):
    needs_long_double(dtype)
    rng = np.random.default_rng(8)
    x = np.exp(rng.uniform(-8, 8, 60_000)).astype(dtype)
    x[::3] = 1 + rng.normal(size=len(x[::3])) * 0.01
    limit = 87 if dtype is np.float32 else 708
    y = (rng.uniform(-1, 1, len(x)) * limit / np.maximum(np.abs(np.log(x)), 1e-4)).astype(dtype)
    y[1::2] = rng.uniform(-4, 4, len(y[1::2]))
    want = np.power(x.astype(wider(dtype)), y.astype(wider(dtype)))
    assert ulps(machine(pow, dtype, x, y), want, dtype) <= 1.6


SPECIAL = {
    exp: [(0.0, 1), (-0.0, 1), (INF, INF), (-INF, 0), (1e30, INF), (-1e30, 0)],
    expm1: [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1), (1e30, INF), (-1e30, -1)],
    sigmoid: [(0.0, 0.5), (-0.0, 0.5), (INF, 1), (-INF, 0), (1e30, 1), (-1e30, 0)],
    tanh: [(0.0, 0.0), (-0.0, -0.0), (INF, 1), (-INF, -1), (1e30, 1), (-1e30, -1)],
    log: [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF), (-1.0, NAN), (-INF, NAN), (-1e-30, NAN)],
    log1p: [
        (0.0, 0.0),
        (-0.0, -0.0),
        (INF, INF),
        (-1.0, -INF),
        (-1.5, NAN),
        (-INF, NAN),
        (2.0**120, 120 * math.log(2)),
    ],
    erf: [(0.0, 0.0), (-0.0, -0.0), (INF, 1), (-INF, -1), (1e30, 1), (-1e30, -1)],
    sin: [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    cos: [(0.0, 1), (-0.0, 1), (INF, NAN), (-INF, NAN)],
    tan: [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    arctan: [(0.0, 0.0), (-0.0, -0.0), (INF, math.pi / 2), (-INF, -math.pi / 2), (1e30, math.pi / 2)],
    sinh: [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1e30, INF), (-1e30, -INF)],
    cosh: [(0.0, 1), (-0.0, 1), (INF, INF), (-INF, INF), (1e30, INF), (-1e30, INF)],
    log2: [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (2.0**-120, -120), (2.0**100, 100), (INF, INF), (-1.0, NAN)],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", SPECIAL, ids=lambda f: f.name)
def test_special_values(function, dtype):
    x, want = np.array([*SPECIAL[function], (NAN, NAN)], dtype).T.copy()
    same_bits(machine(function, dtype, x), want)
    same_bits(plainly(function, dtype, x), want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_overflow_and_gradual_underflow(dtype):
    info = np.finfo(dtype)
    edge = np.log(wider(dtype)(info.max))
    top = np.array([edge * (1 - 4 * info.eps), edge * (1 + 4 * info.eps)], dtype)
    for function in (exp, expm1):
        finite, infinite = machine(function, dtype, top)
        assert np.isfinite(finite)
        assert infinite == INF
    deep = np.log(wider(dtype)(info.smallest_subnormal))
    x = np.array([deep * 0.9999, deep * 0.97, deep * 1.01], dtype)
    smallest, subnormal, zero = machine(exp, dtype, x)
    assert smallest == info.smallest_subnormal
    assert 0 < subnormal < info.tiny
    assert zero == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [expm1, tanh, log1p, sin, tan, arctan, sinh], ids=lambda f: f.name)
def test_subnormal_arguments_pass_through(function, dtype):
    x = np.array([1, -3, 1000], dtype) * np.finfo(dtype).smallest_subnormal
    same_bits(machine(function, dtype, x), x)


TURNS = {sin: np.sin, cos: np.cos, tan: np.tan}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", TURNS, ids=lambda f: f.name)
def test_angles_of_any_size(function, dtype):
    """The C library's values in a more precise type, which reduces any angle; nearly multiples of pi/2 among them."""
    needs_long_double(dtype)
    info, rng = np.finfo(dtype), np.random.default_rng(11)
    x = np.exp2(rng.uniform(0, info.maxexp, 60_000)).astype(dtype)
    closest = {np.float32: 16367173.0 * 2.0**72, np.float64: 6381956970095103.0 * 2.0**797}[dtype]
    x = np.concatenate([x, -x[:100], np.array([info.max, -info.max, closest], dtype)])
    x = x[np.isfinite(x)]
    want = TURNS[function](x.astype(wider(dtype)))
    assert ulps(machine(function, dtype, x), want, dtype) <= BOUNDS[function][DTYPES.index(dtype)]
    some = x[-300:]
    same_bits(machine(function, dtype, some), plainly(function, dtype, some))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("near", "function"), [(near_sin, sin), (near_cos, cos), (near_tan, tan)])
def test_near_angles_have_the_same_bits(near, function, dtype):
    x = arguments(near, dtype)
    same_bits(machine(near, dtype, x), machine(function, dtype, x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_log_of_subnormal(dtype):
    x = np.array([1, 3, 1000], dtype) * np.finfo(dtype).smallest_subnormal
    np.testing.assert_allclose(machine(log, dtype, x), np.log(x.astype(wider(dtype))).astype(dtype), rtol=1e-7)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pow_follows_ieee(dtype):
    values = [0.0, 0.5, 1.0, 2.0, 3.0, 2.5, 1e30, INF]
    values = np.array(values + [-value for value in values] + [NAN], dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        want = np.power(x, y)
    for got in (machine(pow, dtype, x, y), plainly(pow, dtype, x, y)):
        np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps)
        number = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(want[number]))


def test_pow_by_hand():
    cases = [
        (-2.0, -3.0, -0.125),
        (-2.0, 0.5, NAN),
        (0.0, 0.0, 1.0),
        (NAN, 0.0, 1.0),
        (1.0, NAN, 1.0),
        (0.0, -1.0, INF),
    ]
    x, y, want = np.array(cases).T
    same_bits(machine(pow, np.float64, x, y), want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", BOUNDS, ids=lambda f: f.name)
def test_plain_body_gives_the_compiled_bits(function, dtype):
    x = np.random.default_rng(9).choice(arguments(function, dtype), 300)
    same_bits(machine(function, dtype, x), plainly(function, dtype, x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_plain_pow_gives_the_compiled_bits(dtype):
    rng = np.random.default_rng(10)
    x, y = rng.uniform(0.1, 9, 200).astype(dtype), rng.uniform(-20, 20, 200).astype(dtype)
    same_bits(machine(pow, dtype, x, y), plainly(pow, dtype, x, y))


def test_python_floats_are_float64():
    assert exp(1.0) == pytest.approx(math.e, rel=1e-15)
    assert sorted(elementary.__all__) == elementary.__all__
