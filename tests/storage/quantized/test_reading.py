"""Quantised files: they read as the arrays that were quantised, and what contradicts itself is refused."""

import json
import tracemalloc

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import CheckpointError
from forgenb.storage import tensor_file
from forgenb.storage.files import write_arrays
from forgenb.storage.opening import RandomAccess
from forgenb.storage.quantized import groups
from forgenb.storage.quantized.groups import dequantize, quantize
from forgenb.storage.quantized.reading import KEY, QuantizedFile, is_quantized, opened_arrays
from forgenb.storage.quantized.writing import STORED, packed
from forgenb.storage.tensor_file import TensorFile

DRAW = np.random.default_rng(6)
ARRAYS = {
    "w": DRAW.standard_normal((9, 5)).astype("float32"),
    "b": DRAW.standard_normal(3).astype("float32"),
    "v": DRAW.standard_normal((2, 4)).astype("float64"),
}
LAYOUTS = {"w": ((9, 5), "float32"), "v": ((2, 4), "float32"), "b": ((3,), "float32")}


@pytest.fixture
def path(tmp_path):
    stored, texts = packed("p", ARRAYS, 8)
    write_arrays(tmp_path / "a", stored, texts | {"note": "é"}, STORED)
    return tmp_path / "a"


def wanted(name):
    array = ARRAYS[name]
    return array if array.ndim < 2 else dequantize(*quantize(array, 8), 8, array.shape)


def test_it_reads_as_arrays(path):
    with opened_arrays(path) as file:
        assert isinstance(file, QuantizedFile)
        assert (file.place, file.group, file.metadata) == (str(path), 8, {"note": "é"})
        assert file.layouts == LAYOUTS
        for name in ARRAYS:
            found = file.read(name)
            assert (found.shape, found.dtype) == file.layouts[name]
            assert np.array_equal(found, wanted(name))


def test_the_header_alone_lists_what_a_full_load_gives(path, monkeypatch):
    full = fnb.load(path)
    assert {name: (tensor.shape, tensor.dtype) for name, tensor in full.items()} == LAYOUTS
    assert all(np.array_equal(tensor.numpy(), wanted(name)) for name, tensor in full.items())

    def fail(*arguments):
        raise AssertionError("a body was read")

    monkeypatch.setattr(RandomAccess, "fill", fail)
    with opened_arrays(path) as file:
        assert file.layouts == LAYOUTS
    assert is_quantized(path)


@pytest.mark.parametrize("count", [2, 6])
def test_parts_are_the_pieces_of_an_array(path, monkeypatch, count):
    monkeypatch.setattr(groups, "PIECE", 4)
    monkeypatch.setattr(tensor_file, "PIECE", 4 * count)
    with opened_arrays(path) as file:
        for name in ARRAYS:
            flat = wanted(name).reshape(-1)
            found = [(start, part.copy()) for start, part in file.parts(name)]
            assert [start for start, _ in found] == list(range(0, flat.size, count))
            assert np.array_equal(np.concatenate([part for _, part in found]), flat)
            assert np.array_equal(file.read(name).reshape(-1), flat)
            piece = np.zeros(1, "float32")
            file.read_piece(name, 2, piece)
            assert piece[0] == flat[2]


def test_a_plain_file_is_plain(tmp_path):
    write_arrays(tmp_path / "a", ARRAYS)
    with opened_arrays(tmp_path / "a") as file:
        assert isinstance(file, TensorFile)
    assert not is_quantized(tmp_path / "a")
    write_arrays(tmp_path / "a", {"x": np.zeros(2, "uint8")}, None, STORED)
    with pytest.raises(CheckpointError, match="'x' of dtype 'U8', which forgenb does not have"):
        is_quantized(tmp_path / "a")


def about(**changed):
    return lambda stored, told: told.update(changed)


def lacks(*names):
    return lambda stored, told: [stored.pop(name) for name in names]


def has(**arrays):
    return lambda stored, told: stored.update({name.replace("_", "."): array for name, array in arrays.items()})


WRONG = {
    "group-0": (about(group=0), "in its metadata group must be the size of a group and is 0"),
    "group-true": (about(group=True), "group must be the size of a group and is True"),
    "group-huge": (about(group=2**31), "group must be the size of a group and is 2147483648"),
    "bits": (about(bits=3), "in its metadata bits must be 4 and is 3"),
    "format": (about(format=2), "has format 2, this forgenb reads 1"),
    "unknown-key": (about(more=1), "in its metadata 'more' is unknown"),
    "no-shapes": (lambda stored, told: told.pop("shapes"), "is incomplete: its metadata lacks shapes"),
    "shapes-list": (about(shapes=[]), r"shapes must be shapes by name and is \[\]"),
    "shape-negative": (about(shapes={"w": [-1]}), "shapes must be shapes by name"),
    "shape-empty": (about(shapes={"w": [2**62, 2, 0]}), "shapes must be shapes by name"),
    "shape-axes": (about(shapes={"w": [1] * 33}), "shapes must be shapes by name"),
    "another-group": (about(group=4), r"w.ends' is \(6, 2\) of float32, needed is \(12, 2\) of float32; 'v.ends' is"),
    "claims": (
        about(shapes={"w": [2**40, 2**20], "v": [2, 4]}),
        r"'w.codes' is \(23,\) of uint8, needed is \(576460752303423488,\) of uint8; 'w.ends' is \(6, 2\)",
    ),
    "few-groups": (has(w_ends=np.zeros((5, 2), "float32")), r"'w.ends' is \(5, 2\) of float32, needed is \(6, 2\)"),
    "few-codes": (has(w_codes=np.zeros(22, "uint8")), r"'w.codes' is \(22,\) of uint8, needed is \(23,\)"),
    "wide-codes": (has(w_codes=np.zeros(23, "int32")), r"'w.codes' is \(23,\) of int32, needed is \(23,\) of uint8"),
    "half-ends": (has(w_ends=np.zeros((6, 2), "float16")), r"'w.ends' is \(6, 2\) of float16"),
    "lacking": (lacks("w.codes", "v.ends"), "'w.codes' is missing; 'v.ends' is missing"),
    "not-told-of": (about(shapes={"v": [2, 4]}), "'w.codes' are codes of no array"),
    "more-codes": (has(x_codes=np.zeros(2, "uint8")), "'x.codes' are codes of no array"),
    "twice": (has(w=np.zeros(2, "float32")), "'w' is there as it is, and as codes"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_contradicts_itself(tmp_path, name):
    change, message = WRONG[name]
    stored, texts = packed("p", ARRAYS, 8)
    told = json.loads(texts[KEY])
    change(stored, told)
    write_arrays(tmp_path / "a", stored, {KEY: json.dumps(told)}, STORED)
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError, match=f"a' .*{message}") as caught:
            fnb.load(tmp_path / "a")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)


def test_metadata_that_is_no_json(tmp_path):
    write_arrays(tmp_path / "a", {"x": np.zeros(2)}, {KEY: "{"})
    with pytest.raises(CheckpointError, match="a' is damaged: its metadata is no JSON that is read here"):
        is_quantized(tmp_path / "a")


def test_a_file_that_is_cut(path):
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="a' is not a complete safetensors file"):
        is_quantized(path)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_ends_that_are_not_finite_show(tmp_path, bad):
    stored, texts = packed("p", ARRAYS, 8)
    stored["w.ends"] = stored["w.ends"].copy()
    stored["w.ends"][2, 1] = bad
    write_arrays(tmp_path / "a", stored, texts, STORED)
    with opened_arrays(tmp_path / "a") as file:
        found = np.isfinite(file.read("w")).reshape(-1)
    assert found[:16].all()
    assert not found[16:24].all()
    assert found[24:].all()


def test_names_of_any_length_stay_in_one_paragraph(tmp_path):
    told = {"format": 1, "bits": 4, "group": 8, "shapes": {}}
    codes = {f"{number}{'x' * 500}\n": np.zeros(2, "uint8") for number in range(99)}
    write_arrays(tmp_path / "a", codes, {KEY: json.dumps(told)}, STORED)
    with pytest.raises(CheckpointError, match="codes of no array and 79 more") as caught:
        is_quantized(tmp_path / "a")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 4000


def test_ends_that_signal_are_read_in_silence(tmp_path):
    stored, texts = packed("p", ARRAYS, 8)
    stored["w.ends"].view("uint32")[0, 0] = 0x7F800001  # a signalling NaN, of which NumPy warns when it is converted
    write_arrays(tmp_path / "a", stored, texts, STORED)
    assert np.isnan(fnb.load(tmp_path / "a")["w"].numpy()).sum() == 8


def test_a_reader_that_stops_leaves_the_warnings_of_numpy(path):
    before = np.geterr()
    with opened_arrays(path) as file:
        for _ in file.parts("w"):
            assert np.geterr() == before
            break
