"""Distances in units in the last place."""

import numpy as np
import pytest

from forgenb.testing.ulps import Mismatch, ulps


def test_distance_in_ulps_of_the_element_and_of_the_largest():
    wanted = np.array([1.0, 1000.0])
    found = np.array([np.nextafter(np.float32(1), np.float32(2)), 1000.0], np.float32)
    assert ulps(found, wanted) == 1
    assert ulps(found, wanted, "largest") == 2.0**-23 / 2.0**-14
    assert ulps(found, wanted, "largest", scale=1e6) == 2.0**-23 / 2.0**-4


def test_half_an_ulp_is_what_rounding_costs():
    wanted = np.random.default_rng(0).uniform(-9, 9, 500)
    for dtype in ("float16", "float32"):
        assert 0.4 < ulps(wanted.astype(dtype), wanted) <= 0.5
    assert ulps(wanted, wanted) == 0


def test_overflow_of_the_reference_is_an_infinity():
    assert ulps(np.array([np.inf], np.float16), np.array([1e6])) == 0


@pytest.mark.parametrize(
    ("found", "wanted", "message"),
    [
        (np.zeros(3), np.zeros((3, 1)), "its shape is (3,), the reference's (3, 1)"),
        (np.array([1, 2]), np.array([1.0, 3.0]), "value at (1,): got 2, the reference has 3"),
        (np.array([True]), np.array([0.0]), "value at (0,): got True, the reference has False"),
        (np.array([0.0, np.nan]), np.array([0.0, 1.0]), "NaN at (1,): got True, the reference has False"),
        (np.array([[np.inf]]), np.array([[-np.inf]]), "infinity at (0, 0): got inf, the reference has -inf"),
        (np.array([2.0]), np.array([np.inf]), "infinity at (0,): got 2.0, the reference has inf"),
    ],
)
def test_differences_that_no_bound_allows(found, wanted, message):
    with pytest.raises(Mismatch) as caught:
        ulps(found, wanted)
    assert str(caught.value) == message
