"""Numbers in groups of codes: the bound of the error, what is exact, and where each code lies."""

import numpy as np
import pytest

from forgenb.errors import ArgumentError
from forgenb.storage.quantized import groups
from forgenb.storage.quantized.groups import code_layouts, dequantize, pieces, quantize

DRAW = np.random.default_rng(4)


def back(values, group):
    return dequantize(*quantize(values, group), group, np.shape(values))


def bound(values, group):
    """Half a step of each number's group, and a rounding to float32."""
    flat = np.asarray(values, "float32").reshape(-1)
    found = np.empty(flat.size)
    for start in range(0, flat.size, group):
        part = flat[start : start + group].astype("float64")
        found[start : start + group] = np.ptp(part) / 30 + np.spacing(np.float32(np.abs(part).max())) / 2
    return found.reshape(np.shape(values)) * (1 + 1e-12)


@pytest.mark.parametrize("group", [1, 2, 3, 64, 1000])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2,), (63,), (64,), (65,), (3, 43), (5, 0, 2), (2, 3, 5, 7)])
def test_the_error_is_at_most_half_a_step(shape, group):
    values = DRAW.standard_normal(shape).astype("float32")
    codes, ends = quantize(values, group)
    assert ((codes.shape, codes.dtype), (ends.shape, ends.dtype)) == code_layouts(shape, group)
    found = dequantize(codes, ends, group, shape)
    assert (found.shape, found.dtype) == (values.shape, np.float32)
    assert (np.abs(found.astype("float64") - values) <= bound(values, group)).all()


@pytest.mark.parametrize("size", [1e-44, 1e-30, 1.0, 1e38, 3.4e38])
def test_the_bound_holds_from_the_smallest_to_the_largest_numbers(size):
    values = (DRAW.uniform(-1, 1, 640) * size).astype("float32")
    assert (np.abs(back(values, 64).astype("float64") - values) <= bound(values, 64)).all()
    assert np.ptp(back(values, 64).astype("float64")) > 1.5 * size


def test_a_sine():
    values = np.sin(np.arange(1000) * 0.1).astype("float32")
    error = np.abs(back(values, 64) - values).max()
    assert 0.05 < error <= 2 / 30 + 1e-7


@pytest.mark.parametrize("pair", [(0.1, 0.1), (-3.3, 0.7), (1.0, 1.0 + 2**-23), (-3.4e38, 3.4e38), (0.0, 1e-45)])
def test_groups_of_at_most_two_numbers_are_exact(pair):
    values = DRAW.choice(np.array(pair, "float32"), 100)
    assert np.array_equal(back(values, 7), values)


def test_the_ends_of_each_group_are_exact():
    values = DRAW.standard_normal((20, 16)).astype("float32")
    _, ends = quantize(values, 16)
    assert np.array_equal(ends, np.stack([values.min(1), values.max(1)], axis=1))
    found = back(values, 16)
    assert np.array_equal(found.min(1), values.min(1))
    assert np.array_equal(found.max(1), values.max(1))


@pytest.mark.parametrize("width", [1.0, 2**-20, 2**-22])
def test_what_was_dequantised_stays_as_it_is(width):
    values = (1 + width * DRAW.random(6400)).astype("float32")
    once = back(values, 64)
    assert np.array_equal(back(once, 64), once)


def test_the_low_half_of_a_byte_comes_first():
    codes, ends = quantize(np.arange(16), 16)
    assert codes.tolist() == [0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE]
    assert ends.tolist() == [[0, 15]]
    codes, ends = quantize([0.0, 15.0, 7.0, 5.0, 5.0], 3)
    assert codes.tolist() == [0xF0, 0x07, 0x00]
    assert ends.tolist() == [[0, 15], [5, 5]]


def test_any_float_is_rounded_to_float32_first():
    for dtype in ("float16", "float64"):
        values = DRAW.standard_normal(64).astype(dtype)
        for found, wanted in zip(quantize(values, 8), quantize(values.astype("float32"), 8), strict=True):
            assert np.array_equal(found, wanted)
    turned = np.arange(6.0).reshape(2, 3).T
    assert np.array_equal(back(turned, 2), turned)


def test_the_values_stay_as_they_are():
    values = DRAW.standard_normal(64).astype("float32")
    before = values.tobytes()
    quantize(values, 8)
    assert values.tobytes() == before


def test_long_arrays_are_computed_piece_by_piece(monkeypatch):
    values = DRAW.standard_normal(101).astype("float32")
    codes, ends = quantize(values, 7)
    whole = dequantize(codes, ends, 7, (101,))
    monkeypatch.setattr(groups, "PIECE", 4)
    assert np.array_equal(quantize(values, 7)[0], codes)
    assert np.array_equal(dequantize(codes, ends, 7, (101,)), whole)
    found = list(pieces(codes[10:], ends, 7, 20, 101))
    assert [start for start, _ in found] == list(range(20, 101, 4))
    assert np.array_equal(np.concatenate([part for _, part in found]), whole[20:])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39])
def test_what_is_not_finite_is_refused(bad):
    with pytest.raises(ArgumentError, match="quantize needs numbers that are finite in float32"):
        quantize(np.array([1.0, bad, 2.0]), 2)


@pytest.mark.parametrize("group", [0, -1, 2**30 + 1, 64.0, True, None, "64"])
def test_what_is_no_group(group):
    for call in (lambda: quantize([1.0], group), lambda: dequantize(*quantize([1.0], 1), group, (1,))):
        with pytest.raises(ArgumentError, match="A group that is quantised has from 1 to 1073741824 numbers, got"):
            call()


def test_codes_of_other_numbers():
    codes, ends = quantize(np.zeros(10), 4)
    for wrong in ((codes[:4], ends), (codes, ends[:2]), (codes.astype("int32"), ends), (codes, ends.astype("float64"))):
        with pytest.raises(ArgumentError, match=r"dequantize got codes and ends of .*: numbers of shape \(10,\)"):
            dequantize(*wrong, 4, (10,))


@pytest.mark.parametrize("wrong", ["abc", [1j], [None], [True]])
def test_what_are_no_numbers(wrong):
    with pytest.raises(ArgumentError, match="quantize needs real numbers, got an array of dtype"):
        quantize(wrong, 4)
