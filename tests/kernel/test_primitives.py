"""Every primitive: its plain meaning against its compiled form, bit for bit, on random and special values."""

import math

import numpy as np
import pytest
from support.binder import compiled, machine, plainly, same_bits

from forgenb.kernel import primitives
from forgenb.kernel.primitives import (
    ByDtype,
    absolute,
    accumulate,
    add32,
    copysign,
    exponent_scale,
    floor,
    fma,
    half_to_real,
    infinity,
    isnan,
    lane_max,
    lane_sum,
    lanes,
    mantissa_exponent,
    maximum,
    maxnum,
    minimum,
    minnum,
    mul32,
    not_a_number,
    power_of_two,
    put,
    real,
    real_to_half,
    rint,
    select,
    shr32,
    sqrt,
    unit_from_bits,
    xor32,
)

DTYPES = [np.float32, np.float64]


def special(dtype):
    info = np.finfo(dtype)
    sizes = [0.0, 0.5, 1.0, 1.5, 2.5, 3.0, info.eps, info.tiny, info.smallest_subnormal, info.max, np.inf, np.nan]
    return np.array(sizes + [-size for size in sizes], dtype)


def samples(dtype, n=300):
    rng = np.random.default_rng(1)
    spread = np.exp(rng.uniform(-60, 60, n)) * rng.choice([-1, 1], n)
    return np.concatenate([special(dtype), spread.astype(dtype), rng.uniform(-9, 9, n).astype(dtype)])


def pairs(dtype):
    a, b = np.meshgrid(special(dtype), special(dtype))
    x = samples(dtype)
    return np.concatenate([a.ravel(), x]), np.concatenate([b.ravel(), np.roll(x, 7)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("word", [rint, floor, sqrt, absolute], ids=repr)
def test_unary(word, dtype):
    x = samples(dtype)
    same_bits(machine(word, dtype, x), plainly(word, dtype, x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("word", [copysign, maximum, minimum], ids=repr)
def test_binary(word, dtype):
    x, y = pairs(dtype)
    same_bits(machine(word, dtype, x, y), plainly(word, dtype, x, y))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("word", "reference"), [(maxnum, np.fmax), (minnum, np.fmin)])
def test_internal_extrema_drop_nan(word, reference, dtype):
    x, y = pairs(dtype)
    np.testing.assert_array_equal(machine(word, dtype, x, y), reference(x, y))
    np.testing.assert_array_equal(plainly(word, dtype, x, y), reference(x, y))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("word", "reference"), [(maximum, np.maximum), (minimum, np.minimum)])
def test_public_extrema_keep_nan(word, reference, dtype):
    x, y = pairs(dtype)
    np.testing.assert_array_equal(machine(word, dtype, x, y), reference(x, y))


@pytest.mark.parametrize("dtype", DTYPES)
def test_fma_rounds_once(dtype):
    x, y = pairs(dtype)
    z = np.roll(x, 31)
    same_bits(machine(fma, dtype, x, y, z), plainly(fma, dtype, x, y, z))
    x = np.random.default_rng(5).uniform(0.5, 2, 500).astype(dtype)
    y, z = (1 / x).astype(dtype), np.full_like(x, -1)
    same_bits(machine(fma, dtype, x, y, z), plainly(fma, dtype, x, y, z))
    eps = dtype(np.finfo(dtype).eps)
    assert fma(1 + eps, 1 - eps, dtype(-1)) == -eps * eps


def test_fma_float32_does_not_round_twice():
    a, tiny = np.float32(1 + 2**-12), np.float32(2**-80)
    # a*a = 1 + 2**-11 + 2**-24 is halfway between two float32: the tiny term decides, and is lost in float64.
    assert fma(a, a, tiny) == np.float32(1 + 2**-11 + 2**-23)
    assert fma(a, a, -tiny) == np.float32(1 + 2**-11)


def without_nan(x, y):
    return select(isnan(x), y, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_isnan_and_select(dtype):
    x, y = pairs(dtype)
    same_bits(machine(without_nan, dtype, x, y), np.where(np.isnan(x), y, x))
    same_bits(plainly(without_nan, dtype, x, y), np.where(np.isnan(x), y, x))
    assert type(select(True, 1.0, dtype(2))) is dtype


@pytest.mark.parametrize("dtype", DTYPES)
def test_exponent_scale(dtype):
    bias = np.finfo(dtype).maxexp - 1
    k = np.arange(-2 * bias + 2, 2 * bias + 2).astype(dtype)
    x = np.random.default_rng(2).uniform(0.25, 4, len(k)).astype(dtype)
    x[::7] *= -1
    got = machine(exponent_scale, dtype, x, k)
    same_bits(got, plainly(exponent_scale, dtype, x, k))
    with np.errstate(over="ignore", under="ignore"):
        same_bits(got, np.ldexp(x, k.astype(int)))
    nan = np.array([np.nan], dtype)
    assert np.isnan(machine(exponent_scale, dtype, nan, nan)).all()
    assert math.isnan(exponent_scale(dtype(np.nan), dtype(np.nan)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_power_of_two(dtype):
    k = np.arange(np.finfo(dtype).minexp, np.finfo(dtype).maxexp).astype(dtype)
    same_bits(machine(power_of_two, dtype, k), np.ldexp(dtype(1), k.astype(int)))
    same_bits(plainly(power_of_two, dtype, k), np.ldexp(dtype(1), k.astype(int)))


def mantissa(x):
    m, _ = mantissa_exponent(x)
    return m


def exponent(x):
    _, e = mantissa_exponent(x)
    return e


@pytest.mark.parametrize("dtype", DTYPES)
def test_mantissa_exponent(dtype):
    x = samples(dtype)
    x = np.abs(x[np.isfinite(x) & (x != 0)])
    m, e = machine(mantissa, dtype, x), machine(exponent, dtype, x)
    same_bits(m, plainly(mantissa, dtype, x))
    same_bits(e, plainly(exponent, dtype, x))
    assert (m >= dtype(math.sqrt(0.5))).all()
    assert (m <= dtype(math.sqrt(2))).all()
    np.testing.assert_array_equal(np.ldexp(m, e.astype(int)), x)


RULES = [
    (mul32, lambda a, b: a * b),
    (add32, lambda a, b: a + b),
    (xor32, lambda a, b: a ^ b),
    (shr32, lambda a, b: a >> (b % 32)),
]


@pytest.mark.parametrize(("word", "rule"), RULES)
def test_uint32_words_wrap_without_a_warning(word, rule):
    a, b = np.random.default_rng(3).integers(0, 2**32, (2, 200))
    want = [rule(int(x), int(y)) % 2**32 for x, y in zip(a, b, strict=True)]
    assert machine(word, np.float32, a, b, out_dtype=np.int64).tolist() == want
    assert [int(word(np.uint32(x), np.uint32(y))) for x, y in zip(a, b, strict=True)] == want


def pcg(i):
    """The 32-bit output hash of Jarzynski and Olano (2020), the counter hash of dropout."""
    s = add32(mul32(i, 747796405), 2891336453)
    w = mul32(xor32(shr32(s, add32(shr32(s, 28), 4)), s), 277803737)
    return xor32(shr32(w, 22), w)


def test_pcg_hash_has_its_known_values():
    want = [129708002, 2831084092, 2055130248, 2131687100, 678955108, 2161170183, 3861530882]
    counters = [0, 1, 2, 3, 4, 5, 2**32 - 1]
    fast = compiled(pcg, np.float32)
    assert [int(pcg(i)) for i in counters] == want
    assert [int(fast(i)) for i in counters] == want


def of_dtype(n):
    return real(n), infinity(), -infinity(), not_a_number(), unit_from_bits(n * 1000003)


@pytest.mark.parametrize("dtype", DTYPES)
def test_words_of_the_kernels_dtype(dtype):
    fast = compiled(of_dtype, dtype)
    np.testing.assert_array_equal(fast(4000), of_dtype(4000))
    result = fast.overloads[fast.signatures[0]].signature.return_type
    assert str(result) == f"UniTuple({np.dtype(dtype).name} x 5)"
    assert unit_from_bits(2**32 - 1) == 1 - 2.0**-24
    marked = {word.name for word in vars(primitives).values() if getattr(word, "of_dtype", False)}
    assert marked == {"real", "infinity", "not_a_number", "unit_from_bits", "half_to_real"}


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_half_survives_the_round_trip(dtype):
    bits = np.arange(2**16, dtype=np.uint16)
    wide = machine(half_to_real, dtype, bits)
    same_bits(wide, bits.view(np.float16).astype(dtype))
    numbers = ~np.isnan(wide)
    back = machine(real_to_half, dtype, wide, out_dtype=np.uint16)
    np.testing.assert_array_equal(back[numbers], bits[numbers])
    assert np.isnan(back.view(np.float16)[~numbers]).all()
    assert all(half_to_real(b) == half for b, half in zip(bits[:9999:9], bits[:9999:9].view(np.float16), strict=True))


@pytest.mark.parametrize("dtype", DTYPES)
def test_real_to_half_rounds_and_overflows(dtype):
    edges = [65504, 65519, 65520, 2**-25, 1.0005 * 2**-25, 1 + 2**-11, 1 + 3 * 2**-11]
    x = np.concatenate([samples(dtype), np.array(edges, dtype)])
    x = x[~np.isnan(x)]
    plain = np.array([real_to_half(value) for value in x])
    assert plain.dtype == np.uint16
    np.testing.assert_array_equal(machine(real_to_half, dtype, x, out_dtype=np.uint16), plain)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(plain, x.astype(np.float32).astype(np.float16).view(np.uint16))


def extremum_and_sum(row, x, out):
    m, s = -infinity(), 0.0
    for j in lanes(x.shape[1]):
        m = maxnum(m, x[row, j])
        s = accumulate(s, x[row, j])
    put(out, (row, 0), lane_max(m))
    put(out, (row, 1), lane_sum(s))


@pytest.mark.parametrize("dtype", DTYPES)
def test_row_program(dtype):
    x = np.random.default_rng(4).normal(size=(5, 333)).astype(dtype)
    x[2, 100] = np.nan
    fast = compiled(extremum_and_sum, dtype)
    for run in (fast, extremum_and_sum):
        out = np.empty((5, 2), dtype)
        for row in range(5):
            run(row, x, out)
        np.testing.assert_array_equal(out[:, 0], np.nanmax(x, 1))
        np.testing.assert_allclose(out[:, 1], x.sum(1), rtol=1e-4)


def hand_over(row, x, out):
    put(out, row, select(row > 1, x[row], 0.5))


def test_put_may_add():
    for adding, want in ((False, [0.5, 0.5, 3.0]), (True, [1.5, 1.5, 4.0])):
        out = np.ones(3)
        run = compiled(hand_over, np.float64, adding=adding)
        for row in range(3):
            run(row, np.arange(1.0, 4.0), out)
        np.testing.assert_array_equal(out, want)


def wrong(n):
    return fma(n, 2, 1)


def test_integers_must_enter_through_real():
    with pytest.raises(Exception, match=r"real\(n\)"):
        compiled(wrong, np.float32)(3)


def test_primitive_and_by_dtype_describe_themselves():
    assert repr(fma) == "<primitive fma>"
    assert "rounded once" in fma.__doc__
    both = ByDtype("f", {"float32": lambda x: "single", "float64": lambda x: "double"})
    assert both(np.float32(1)) == "single"
    assert both(1.0) == both(np.float64(1)) == "double"
    assert repr(both) == "<f by dtype: float32, float64>"
