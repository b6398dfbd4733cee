"""safetensors files; `tests/train/test_hostile.py` has those that are refused."""

import json
import struct

import numpy as np
import pytest
import safetensors.numpy

from forgenb.errors import CheckpointError
from forgenb.storage.tensor_file import NAMES, opened_tensors

ARRAYS = {"x": np.arange(6, dtype="float32").reshape(2, 3), "n": np.array(7), "none": np.zeros((0, 2), "float16")}


def test_what_the_format_s_own_library_writes(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(safetensors.numpy.save(ARRAYS, {"note": "é"}))
    with opened_tensors(path) as file:
        assert file.metadata == {"note": "é"}
        assert file.layouts == {name: (array.shape, array.dtype) for name, array in ARRAYS.items()}
        for name, array in ARRAYS.items():
            assert np.array_equal(file.read(name), array)


@pytest.mark.parametrize("name", NAMES)
def test_every_dtype(tmp_path, name):
    array = np.array([0, 1, 1]).astype(NAMES[name])
    (tmp_path / "a").write_bytes(safetensors.numpy.save({"x": array}))
    assert f'"dtype":"{name}"'.encode() in (tmp_path / "a").read_bytes()
    with opened_tensors(tmp_path / "a") as file:
        assert (file.read("x").tobytes(), file.read("x").dtype) == (array.tobytes(), array.dtype)


def test_a_long_header_where_it_is_allowed(tmp_path):
    header = json.dumps({"x": {"dtype": "I64", "shape": [], "data_offsets": [0, 8]}}).encode() + b" " * 2_000_000
    (tmp_path / "a").write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
    with (
        pytest.raises(CheckpointError, match="its header has .* bytes, at most 1048576 are read"),
        opened_tensors(tmp_path / "a"),
    ):
        pass
    with opened_tensors(tmp_path / "a", 3_000_000) as file:
        assert file.read("x") == 0


def test_an_npz_is_named(tmp_path):
    np.savez(tmp_path / "a.npz", **ARRAYS)
    with (
        pytest.raises(CheckpointError, match=r"a.npz' is a zip archive, as an npz is, .*: fnb.train.load_params reads"),
        opened_tensors(tmp_path / "a.npz"),
    ):
        pass
    header = json.dumps({"x": {"dtype": "I64", "shape": [], "data_offsets": [0, 8]}}).encode()
    length = int.from_bytes(b"PK", "little")
    (tmp_path / "a").write_bytes(struct.pack("<Q", length) + header.ljust(length) + bytes(8))
    with opened_tensors(tmp_path / "a") as file:
        assert file.read("x") == 0


def test_a_file_that_is_cut_while_it_is_read(tmp_path):
    (tmp_path / "a").write_bytes(safetensors.numpy.save({"x": np.zeros(100_000, "float32")}))
    with opened_tensors(tmp_path / "a") as file:
        with open(tmp_path / "a", "r+b") as other:
            other.truncate(1000)
        with pytest.raises(CheckpointError, match="it ends within 'x'"):
            file.read("x")


def test_a_tensor_in_parts(tmp_path):
    wanted = np.arange(700_000, dtype="float32").reshape(7, -1)
    (tmp_path / "a").write_bytes(safetensors.numpy.save({"x": wanted, "y": wanted + 1, "none": np.zeros((0, 2))}))
    with opened_tensors(tmp_path / "a") as file:
        found = np.zeros(wanted.size, "float32")
        starts = []
        for start, part in file.parts("x"):
            next(file.parts("y"))  # others that are read meanwhile do not matter
            starts.append(start)
            found[start : start + part.size] = part
        assert starts == [0, 262144, 524288]
        assert np.array_equal(found, wanted.reshape(-1))
        assert list(file.parts("none")) == list(file.pieces("none")) == []
        assert list(file.pieces("y")) == [(0, 262144), (262144, 524288), (524288, 700000)]
        last = np.zeros(3, "float32")
        file.read_piece("y", 699_997, last)
        assert np.array_equal(last, wanted[-1, -3:] + 1)
        assert np.array_equal(file.read("y"), wanted + 1)


def test_dtypes_that_only_some_read(tmp_path):
    (tmp_path / "a").write_bytes(safetensors.numpy.save({"x": np.arange(3, dtype="uint8")}))
    with opened_tensors(tmp_path / "a", names={"U8": np.dtype("uint8")}) as file:
        assert file.read("x").tolist() == [0, 1, 2]
    with (
        pytest.raises(CheckpointError, match="'x' of dtype 'U8', which forgenb does not have; convert it to one of F4"),
        opened_tensors(tmp_path / "a", names={"F4": np.dtype("float32")}),
    ):
        pass


def test_a_dtype_that_only_marked_files_have(tmp_path):
    codes, marked = {"x": np.arange(3, dtype="uint8")}, {"codes": {"U8": np.dtype("uint8")}}
    (tmp_path / "a").write_bytes(safetensors.numpy.save(codes, {"codes": "yes"}))
    (tmp_path / "b").write_bytes(safetensors.numpy.save(codes, {"other": "yes"}))
    with opened_tensors(tmp_path / "a", marked=marked) as file:
        assert file.read("x").tolist() == [0, 1, 2]
    for name, more in (("b", marked), ("a", {})):
        with (
            pytest.raises(CheckpointError, match="'x' of dtype 'U8', which forgenb does not have"),
            opened_tensors(tmp_path / name, marked=more),
        ):
            pass
    assert "U8" not in NAMES


@pytest.mark.parametrize("shape", [[2**62, 0], [10**19, 0], [2**40, 0, 2**40]])
def test_empty_arrays_that_numpy_does_not_make(tmp_path, shape):
    header = json.dumps({"x": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}}).encode()
    (tmp_path / "a").write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(CheckpointError, match="'x' has the shape"), opened_tensors(tmp_path / "a"):
        pass
