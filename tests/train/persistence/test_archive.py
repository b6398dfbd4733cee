"""npz archives; `test_hostile` has those that are refused."""

import numpy as np
import pytest

from forgenb.errors import CheckpointError
from forgenb.train.persistence.archive import opened_archive, unusable


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_headers_come_before_values(tmp_path, save):
    arrays = {"a/b": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "n": np.array(3), "none": np.zeros((2, 0))}
    save(tmp_path / "a.npz", **arrays)
    with opened_archive(tmp_path / "a.npz", 3) as archive:
        assert archive.names == list(arrays)
        assert archive.layouts == {}
        for name, array in arrays.items():
            archive.look_at(name)
            assert archive.layouts[name] == (array.shape, array.dtype)
            found = archive.read(name)
            assert found.flags.c_contiguous
            assert np.array_equal(found, array)


def test_a_list_is_as_long_as_what_is_expected(tmp_path):
    np.savez(tmp_path / "a.npz", **{f"{i:0990}": np.zeros(1) for i in range(1100)})
    with opened_archive(tmp_path / "a.npz", 1100) as archive:
        assert len(archive.names) == 1100
    with (
        pytest.raises(CheckpointError, match="its list of members has more than 1048576 bytes"),
        opened_archive(tmp_path / "a.npz", 0),
    ):
        pass


@pytest.mark.parametrize("name", ["w", "h.0.w", "a/b", "w:0", "λ", "a..b", "w.npy", "..."])
def test_names(name):
    assert unusable(name) == ""


PATHS = ("..", "../w", "a/../w", "a\\..\\w", "/w", "\\w", "c:/w", "C:\\w")


@pytest.mark.parametrize("name", [*PATHS, "", "a\0", "a\n", pytest.param("w" * 1001, id="long")])
def test_names_that_no_array_can_have(name):
    assert unusable(name).startswith("has a name that is ")
