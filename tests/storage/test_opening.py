"""Files that are opened to be read, and arrays filled from them."""

import io
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from forgenb.errors import CheckpointError
from forgenb.storage.opening import RandomAccess, fill, filled, opened, read_small, reason


def test_a_regular_file(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("a")
    for name in ("a", "link"):
        with opened(tmp_path / name) as file:
            assert file.read() == b"abc"
    assert file.closed
    assert read_small(str(tmp_path / "a"), 3) == b"abc"
    with pytest.raises(CheckpointError, match="a' is damaged: it has more than 2 bytes"):
        read_small(tmp_path / "a", 2)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are a POSIX matter")
def test_what_is_no_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, message in [
        (tmp_path / "pipe", "pipe' cannot be read: it is no regular file"),
        ("/dev/null", "null' cannot be read: it is no regular file"),
        (tmp_path, "cannot be read: Is a directory"),
        (tmp_path / "none", "none' cannot be read: No such file or directory"),
        ("a\0b", r"'a\\x00b' cannot be read: embedded null"),
    ]:
        with pytest.raises(CheckpointError, match=message), opened(path):
            pass


def test_an_error_while_reading(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(CheckpointError, match="a' cannot be read: Input/output error"), opened(tmp_path / "a"):
        raise OSError(5, os.strerror(5))


class Slow(io.BytesIO):
    """Hands out at most three bytes at a time, and notes what it was asked for."""

    asked = 0

    def readinto(self, buffer):
        self.asked = max(self.asked, len(buffer))
        return super().readinto(buffer[:3])


@pytest.mark.parametrize("shape", [(2, 3), (), (0, 4), (5,)])
def test_arrays_are_filled_in_pieces(shape):
    wanted = np.arange(np.prod(shape, dtype=int), dtype="float32").reshape(shape) + 1
    source = Slow(wanted.tobytes() + b"rest")
    found = filled(source, shape, np.dtype("float32"))
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    assert np.array_equal(found, wanted)
    assert source.asked <= wanted.nbytes
    assert filled(Slow(wanted.tobytes()[:-1]), shape, np.dtype("float32")) is None or wanted.size == 0


def test_an_array_that_is_there_is_filled():
    array = np.zeros(4, "int64")
    assert fill(Slow(np.arange(3).tobytes()), array[1:])
    assert array.tolist() == [0, 0, 1, 2]
    assert not fill(Slow(b"1234567"), array[:1])


def test_reason():
    assert reason(OSError(28, "No space left")) == "No space left"
    assert reason(ValueError("embedded null byte")) == "embedded null byte"


@pytest.mark.parametrize("at_once", [True, False])
def test_any_place_by_several_threads(tmp_path, monkeypatch, at_once):
    """With a read that has its own position, and where the system has none."""
    if at_once and not hasattr(os, "preadv"):
        pytest.skip("the system has one position for all")
    if not at_once:
        monkeypatch.delattr(os, "preadv", raising=False)
    wanted = np.random.default_rng(1).integers(0, 256, 5_000_000).astype("uint8")
    (tmp_path / "a").write_bytes(wanted.tobytes())
    with opened(tmp_path / "a") as file, ThreadPoolExecutor(4) as pool:
        file.read(8)
        places = RandomAccess(file)
        found = np.zeros_like(wanted)
        starts = [*range(0, len(wanted), 1_500_000)][::-1]
        assert all(pool.map(lambda start: places.fill(start, found[start : start + 1_500_000]), starts))
        assert np.array_equal(found, wanted)
        assert places.fill(4_999_998, found[:2])
        assert found[:2].tolist() == wanted[-2:].tolist()
        assert not places.fill(4_999_998, found[:3])
        assert not places.fill(6_000_000, found[:1])


def test_a_system_that_hands_out_less_than_it_is_asked_for(tmp_path, monkeypatch):
    asked = []

    def preadv(handle, buffers, place):
        asked.append((place, len(buffers[0])))
        data = os.pread(handle, min(3, len(buffers[0])), place)
        buffers[0][: len(data)] = data
        return len(data)

    monkeypatch.setattr(os, "preadv", preadv, raising=False)
    (tmp_path / "a").write_bytes(b"0123456789")
    found = np.zeros(7, "uint8")
    with opened(tmp_path / "a") as file:
        assert RandomAccess(file).fill(2, found)
    assert found.tobytes() == b"2345678"
    assert asked == [(2, 7), (5, 4), (8, 1)]
