"""Arrays of files, and the first of their values that is no number."""

import io

import numpy as np
import pytest

from forgenb.errors import CheckpointError
from forgenb.storage.finite import finite, first_not_finite


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(("shape", "place"), [((3, 4), (2, 1)), ((), ()), ((1 << 21,), ((1 << 20) + 7,))])
def test_the_first_value_that_is_no_number(shape, place, dtype):
    array = np.zeros(shape, dtype)
    assert first_not_finite(array) is None
    array[place] = np.nan
    array[(-1,) * len(shape)] = np.inf if shape else np.nan
    assert first_not_finite(array) == place


def test_whole_numbers_and_nothing_are_finite():
    assert first_not_finite(np.arange(3)) is None
    assert first_not_finite(np.zeros((0, 3))) is None


def test_finite_names_the_file():
    class File(io.BytesIO):
        place, layouts = "p", {}

        def read(self, name):
            return np.array([1.0, np.nan]) if name == "bad" else np.ones(2)

    assert finite(File(), "good").tolist() == [1, 1]
    with pytest.raises(CheckpointError, match=r"'p' is not loaded: 'bad' has nan at position \(1,\)"):
        finite(File(), "bad")
