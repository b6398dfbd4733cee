"""The loops that must be vectorised are: a look at the generated code."""

import numpy as np
import pytest
from numba import njit
from support.assembly import features, packed_and_scalar
from support.binder import compiled, mapped

from forgenb.kernel import elementary
from forgenb.kernel.primitives import (
    accumulate,
    add32,
    exponent_scale,
    half_to_real,
    infinity,
    lane_max,
    lane_sum,
    lanes,
    mantissa_exponent,
    maximum,
    maxnum,
    mul32,
    put,
    real,
    select,
    shr32,
    unit_from_bits,
    xor32,
)

pytestmark = pytest.mark.skipif("avx2" not in features(), reason="this CPU has no AVX2")
DTYPES = [np.float32, np.float64]


def assembly_of(dispatcher, *arrays):
    dispatcher(*arrays)
    return "\n".join(dispatcher.inspect_asm().values())


def assert_packed(asm, at_least=1):
    packed, scalar = packed_and_scalar(asm)
    assert packed >= at_least, f"{packed} packed and {scalar} scalar instructions in the hottest loop"
    assert packed > 2 * scalar, f"{packed} packed and {scalar} scalar instructions in the hottest loop"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", elementary.__all__)
def test_elementary_function(name, dtype):
    arity = 2 if name == "pow" else 1
    x = np.full(64, 0.5, dtype)
    loop = mapped(getattr(elementary, name), dtype, arity)
    assert_packed(assembly_of(loop, *[x] * arity, x.copy()), at_least=8)


def row_loop(body, dtype):
    """A launcher's loop over the rows of a matrix."""
    program = compiled(body, dtype)

    @njit(error_model="numpy")
    def rows(x, out):
        for row in range(len(x)):
            program(row, x, out)

    return rows


def row_maximum(row, x, out):
    m = -infinity()
    for j in lanes(x.shape[1]):
        m = maxnum(m, x[row, j])
    put(out, (row, 0), lane_max(m))


def public_maximum(row, x, out):
    m = -infinity()
    for j in lanes(x.shape[1]):
        m = maximum(m, x[row, j])
    put(out, (row, 0), lane_max(m))


def row_variance(row, x, out):
    n = x.shape[1]
    s = 0.0
    for j in lanes(n):
        s = accumulate(s, x[row, j])
    mean = lane_sum(s) / real(n)
    s = 0.0
    for j in lanes(n):
        s = accumulate(s, (x[row, j] - mean) * (x[row, j] - mean))
    put(out, (row, 0), lane_sum(s) / real(n))


def dropout(row, x, out):
    for j in lanes(x.shape[1]):
        key = xor32(1234, mul32(row * x.shape[1] + j, 0x9E3779B9))
        s = add32(mul32(key, 747796405), 2891336453)
        w = mul32(xor32(shr32(s, add32(shr32(s, 28), 4)), s), 277803737)
        u = unit_from_bits(xor32(shr32(w, 22), w))
        put(out, (row, j), select(u >= 0.3, x[row, j] * 1.25, 0.0))


def exponent_round_trip(row, x, out):
    for j in lanes(x.shape[1]):
        m, e = mantissa_exponent(x[row, j])
        put(out, (row, j), exponent_scale(m, e))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("body", [row_maximum, public_maximum, row_variance, dropout, exponent_round_trip])
def test_row_program(body, dtype):
    x = np.random.default_rng(0).uniform(1, 2, (3, 100)).astype(dtype)
    assert_packed(assembly_of(row_loop(body, dtype), x, np.empty_like(x)))


def widen(x):
    return half_to_real(x)


def test_half_conversion():
    bits = np.zeros(64, np.uint16)
    asm = assembly_of(mapped(widen, np.float32), bits, np.empty(64, np.float32))
    assert "vcvtph2ps" in asm


def test_float32_kernels_hold_no_double():
    for name in elementary.__all__:
        arity = 2 if name == "pow" else 1
        loop = mapped(getattr(elementary, name), np.float32, arity)
        loop(*[np.ones(8, np.float32)] * (arity + 1))
        assert "double" not in "".join(loop.inspect_llvm().values()), name


def scalar_sum(x):
    s = 0.0
    for value in x:
        s += value * value
    return s


def test_a_scalar_loop_is_seen():
    packed, scalar = packed_and_scalar(assembly_of(njit(scalar_sum), np.ones(64)))
    assert packed <= 2 * scalar
    assert scalar > 0
