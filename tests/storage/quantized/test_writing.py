"""What a quantised file holds: codes of matrices, and everything else bit for bit."""

import json

import numpy as np
import pytest
import safetensors.numpy

from forgenb.errors import ArgumentError, CheckpointError
from forgenb.storage.files import read_arrays, write_arrays
from forgenb.storage.quantized.groups import quantize
from forgenb.storage.quantized.writing import STORED, packed

DRAW = np.random.default_rng(5)
ARRAYS = {
    "w": DRAW.standard_normal((3, 5)).astype("float32"),
    "bias": DRAW.standard_normal(7).astype("float32"),
    "half": DRAW.standard_normal((2, 2, 2)).astype("float16"),
    "ids": np.arange(6).reshape(2, 3),
    "step": np.array(3.5),
}


def test_the_layout_of_a_file(tmp_path):
    stored, texts = packed("p", ARRAYS, 4)
    write_arrays(tmp_path / "a", stored, texts, STORED)
    with safetensors.safe_open(tmp_path / "a", "numpy") as file:
        assert json.loads(file.metadata()["forgenb.quantized"]) == {
            "format": 1,
            "bits": 4,
            "group": 4,
            "shapes": {"w": [3, 5], "half": [2, 2, 2]},
        }
    found = safetensors.numpy.load_file(tmp_path / "a")
    assert found.keys() == {"w.codes", "w.ends", "half.codes", "half.ends", "bias", "ids", "step"}
    for name in ("bias", "ids", "step"):
        assert (found[name].dtype, found[name].tobytes()) == (ARRAYS[name].dtype, ARRAYS[name].tobytes())
    for name in ("w", "half"):
        codes, ends = quantize(ARRAYS[name], 4)
        assert (found[f"{name}.codes"].dtype, found[f"{name}.codes"].tobytes()) == ("uint8", codes.tobytes())
        assert (found[f"{name}.ends"].dtype, found[f"{name}.ends"].tobytes()) == ("float32", ends.tobytes())


def test_bytes_are_written_only_where_they_are_asked_for(tmp_path):
    stored, texts = packed("p", ARRAYS, 4)
    with pytest.raises(CheckpointError, match="a' was not written: 'w.codes' has dtype uint8, which is none of bool"):
        write_arrays(tmp_path / "a", stored, texts)


def test_a_group_is_a_size():
    with pytest.raises(ArgumentError, match="A group that is quantised has from 1 to 1073741824 numbers, got 0"):
        packed("p", {}, 0)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([[1.0, 2.0], [np.nan, 0.0]]), r"'x' has nan at position \(1, 0\)"),
        (np.array([[1.0, -1e39]]), r"'x' has -inf at position \(0, 1\)"),
        (np.array([1.0, np.inf]), r"'x' has inf at position \(1,\)"),
    ],
)
def test_what_is_not_finite(array, message):
    with pytest.raises(CheckpointError, match=f"'p' was not written: {message}"):
        packed("p", {"x": array}, 64)


@pytest.mark.parametrize("names", [("a", "a.codes"), ("a.ends", "a")])
def test_names_that_would_be_one(names):
    arrays = {name: np.zeros((2, 2) if name == "a" else 2, "float32") for name in names}
    with pytest.raises(ArgumentError, match=f"'p' cannot hold '{names[1]}': another array has the name"):
        packed("p", arrays, 64)


def test_arrays_without_a_number(tmp_path):
    stored, texts = packed("p", {"none": np.zeros((0, 3), "float32")}, 4)
    write_arrays(tmp_path / "a", stored, texts, STORED)
    found, rest = read_arrays(tmp_path / "a")
    assert (found["none"].shape, rest) == ((0, 3), {})


@pytest.mark.parametrize("names", [("a", "a.codes"), ("a.codes", "a")])
def test_an_array_may_have_the_name_of_codes(tmp_path, names):
    arrays = {name: np.full((2, 2), len(name), "float32") for name in names}
    stored, texts = packed("p", arrays, 4)
    write_arrays(tmp_path / "a", stored, texts, STORED)
    found, _ = read_arrays(tmp_path / "a")
    assert {name: found[name].tobytes() for name in found} == {name: arrays[name].tobytes() for name in names}
