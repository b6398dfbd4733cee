"""Glimpses: which words, numbers and ranges are shown of an array, and how little is kept of it."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.picture.glimpse import FREED, NONE, glimpse


@pytest.mark.parametrize(
    ("data", "short"),
    [
        (2.0, "2"),
        (np.float32(0.1), "0.1"),
        (19900.0, "19900"),
        (-1.23456e-7, "-1.235e-07"),
        (3e30, "3e+30"),
        (7, "7"),
        (True, "True"),
        ([1.0, 2.5], "[1, 2.5]"),
        ([[1, 2], [3, 4]], "[[1, 2], [3, 4]]"),
        (np.linspace(-1.0, 2.0, 8), "-1 to 2"),
        (np.arange(100), "0 to 99"),
        ([float("nan"), 1.0], "[nan, 1]"),
        ([float("nan"), float("inf"), *np.arange(20.0)], "0 to 19, 2 not finite"),
        (np.zeros((9, 9)), "all 0"),
        (np.full(70, np.nan), "70 not finite"),
        (np.zeros((0, 3)), "[]"),
        (np.zeros((40, 0)), "no elements"),
    ],
)
def test_one_line(data, short):
    assert glimpse(fnb.tensor(data)).short == short


def test_half_precision_and_views_are_read_as_they_are():
    assert glimpse(fnb.tensor(np.float16([0.5, 2.0]))).short == "[0.5, 2]"
    assert glimpse(fnb.tensor([[1.0, 2.0], [3.0, 4.0]]).T[1]).short == "[2, 4]"


def test_small_arrays_are_copied_whole():
    x = fnb.tensor(np.arange(64.0).reshape(8, 8))
    seen = glimpse(x)
    x.assign_(0.0)
    assert not seen.cut
    np.testing.assert_array_equal(seen.numbers, np.arange(64.0).reshape(8, 8))
    assert (seen.shape, seen.dtype, seen.low, seen.high, seen.odd) == ((8, 8), "float64", 0.0, 63.0, 0)
    assert "63" in seen.long
    assert "..." not in seen.long


@pytest.mark.parametrize("shape", [(65,), (100, 100), (30, 20, 10), (9, 9, 9, 9)])
def test_of_large_ones_the_ends_and_the_range_are_kept(shape):
    array = np.arange(float(np.prod(shape))).reshape(shape)
    seen = glimpse(fnb.tensor(array))
    assert seen.cut
    assert seen.numbers.size <= 125
    assert (seen.low, seen.high) == (0.0, array.size - 1.0)
    assert "..." in seen.long
    assert len(seen.long) < 1200
    assert str(array.size - 1) in seen.long


def test_print_options_of_the_user_change_nothing():
    before = glimpse(fnb.tensor([[1.23456789, 2.0]])).long
    with np.printoptions(precision=1, threshold=0, linewidth=3):
        assert glimpse(fnb.tensor([[1.23456789, 2.0]])).long == before == "[[1.23457,       2]]"


def test_what_is_missing_is_said_by_name():
    assert (NONE.line("grad"), FREED.line("value"), FREED.long) == ("grad: none", "value: freed", "freed")
    seen = glimpse(fnb.tensor(1.5))
    assert (seen.line("value"), seen.line("grad")) == ("1.5", "grad: 1.5")


def test_a_value_of_a_recorded_step_is_not_read():
    with fnb.capture():
        seen = glimpse(fnb.tensor([1.0]) * 2.0)
    assert (seen.numbers, seen.missing, seen.shape) == (None, "not computed yet", (1,))
