"""Arrays in files, and files that are whole or absent."""

import errno
import os
import tracemalloc

import numpy as np
import pytest
import safetensors.numpy

import forgenb as fnb
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.storage.files import is_temporary, read_arrays, replacing, write_arrays, write_whole
from forgenb.storage.tensor_file import opened_tensors

ARRAYS = {
    "scalar": np.array(2.5),
    "empty": np.zeros((0, 3), np.float32),
    "half": np.arange(5, dtype=np.float16),
    "turned": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "ids": np.arange(4)[::-1],
    "small": np.arange(4, dtype=np.int32),
    "mask": np.array([True, False]),
}


def test_round_trip_of_every_dtype(tmp_path):
    path = tmp_path / "a.safetensors"
    write_arrays(path, ARRAYS, {"note": "é"})
    found, metadata = read_arrays(path)
    assert metadata == {"note": "é"}
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert np.array_equal(found[name], array)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("length", range(0, 64, 7))
def test_tensors_begin_at_a_multiple_of_64_bytes(tmp_path, length):
    path, arrays = tmp_path / "a", {"x": np.arange(32.0), "y": np.arange(3)}
    write_arrays(path, arrays, {"note": "x" * length})
    data, plain = path.read_bytes(), safetensors.numpy.save(arrays, {"note": "x" * length})
    begin = 8 + int.from_bytes(data[:8], "little")
    assert begin % 64 == 0
    assert data[8:begin].rstrip(b" ") == plain[8 : -32 * 8 - 3 * 8].rstrip(b" ")
    assert len(data) - len(plain) < 64
    found = safetensors.numpy.load_file(path)
    assert {name: array.tobytes() for name, array in found.items()} == {n: a.tobytes() for n, a in arrays.items()}
    with opened_tensors(path) as file:
        assert file.metadata == {"note": "x" * length}


def test_tensors_come_back_as_tensors(tmp_path):
    path = tmp_path / "a.safetensors"
    fnb.save(path, {"x": fnb.tensor([[1.0, 2.0]]).transpose(), "n": np.arange(3)})
    found = fnb.load(str(path))
    assert found["x"].tolist() == [[1.0], [2.0]]
    assert found["n"].dtype == np.int64
    assert found["x"].backend.name == "cpu"


def test_parameters_are_saved_as_they_are(tmp_path):
    layer = fnb.nn.Linear(2, 3)
    fnb.save(tmp_path / "m", dict(layer.named_parameters()))
    assert np.array_equal(fnb.load(tmp_path / "m")["weight"].numpy(), layer.weight.numpy())


def test_a_module_takes_what_load_gives(tmp_path):
    first, second = fnb.nn.Linear(2, 3, seed=1, name="a"), fnb.nn.Linear(2, 3, seed=2, name="a")
    fnb.save(tmp_path / "m", first.state_dict())
    second.load_state_dict(fnb.load(tmp_path / "m"))
    assert np.array_equal(first.weight.numpy(), second.weight.numpy())


def test_a_dtype_that_forgenb_has_not(tmp_path):
    with pytest.raises(CheckpointError, match="'z' has dtype complex128, which is none of bool, int32"):
        fnb.save(tmp_path / "a", {"z": np.zeros(2, complex)})
    assert os.listdir(tmp_path) == []
    (tmp_path / "b").write_bytes(safetensors.numpy.save({"u": np.zeros(2, np.uint8)}))
    with pytest.raises(CheckpointError, match="'u' of dtype 'U8', which forgenb does not have"):
        fnb.load(tmp_path / "b")


def test_a_missing_file(tmp_path):
    with pytest.raises(CheckpointError, match="none.safetensors' cannot be read: .*No such file"):
        fnb.load(tmp_path / "none.safetensors")
    with pytest.raises(CheckpointError, match="cannot be read"):
        fnb.load(tmp_path)


@pytest.mark.parametrize("length", [0, 7, 8, 40, -1])
def test_a_truncated_file(tmp_path, length):
    path = tmp_path / "a.safetensors"
    write_arrays(path, ARRAYS)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(CheckpointError, match="a.safetensors' is not a complete safetensors file"):
        fnb.load(path)


def test_a_foreign_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("once upon a time there was no header at all" * 9)
    with pytest.raises(CheckpointError, match="made by something else"):
        fnb.load(path)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch, call):
    path = tmp_path / "a"
    write_whole(path, b"old")

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(CheckpointError, match="No space left on device. What was there before is unchanged"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_that_grows_too_large_leaves_the_old_one(tmp_path):
    resource = pytest.importorskip("resource", reason="file size limits are a POSIX matter")
    path = tmp_path / "a"
    write_whole(path, b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(CheckpointError, match="File too large"):
            write_whole(path, bytes(5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are of POSIX")
def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CheckpointError, match="cannot be written: it is no regular file"):
        write_whole(tmp_path / "pipe", b"new")
    assert os.listdir(tmp_path) == ["pipe"]
    assert not (tmp_path / "pipe").is_file()


def test_no_folder(tmp_path):
    with pytest.raises(CheckpointError, match="cannot be written: No such file or directory"):
        fnb.save(tmp_path / "none" / "a", {"x": np.zeros(1)})


def test_permissions_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "a", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_a_link_under_the_temporary_name_is_not_followed(tmp_path):
    (tmp_path / "precious").write_bytes(b"mine")
    (tmp_path / f".a.{os.getpid()}.tmp").symlink_to("precious")
    write_whole(tmp_path / "a", b"new")
    assert (tmp_path / "precious").read_bytes() == b"mine"
    assert (tmp_path / "a").read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["a", "precious"]


def test_what_raises_while_a_file_is_written_leaves_the_old_one(tmp_path):
    write_whole(tmp_path / "a", b"old")
    with pytest.raises(TypeError, match="bytes-like"), replacing(tmp_path / "a") as file:
        file.write("no bytes")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_temporary_names():
    assert is_temporary(".last.safetensors.12.tmp")
    assert not is_temporary("last.safetensors")


def test_arrays_that_lie_in_order_are_not_copied_before_they_are_encoded(tmp_path):
    array = np.zeros(1 << 22, "uint8").view(bool)
    array.flags.writeable = False
    write_arrays(tmp_path / "a", {"x": array[:8]})
    tracemalloc.start()
    try:
        write_arrays(tmp_path / "a", {"x": array})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert array.nbytes <= peak < 1.5 * array.nbytes


def test_arguments_in_the_other_order_are_refused(tmp_path):
    with pytest.raises(ArgumentError, match="takes a file and a mapping.*in this order, and got dict and PosixPath"):
        fnb.save({"a": np.zeros(2)}, tmp_path / "a.safetensors")


@pytest.mark.parametrize("name", ["", ".", "/", "a\0b", "a\0/b"])
def test_what_is_no_name_of_a_file(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError, match="cannot be written: it is no name of a file"):
        write_whole(name, b"new")
    assert os.listdir(tmp_path) == []
