"""Reading and splitting text."""

import numpy as np
import pytest

from forgenb.data import default_text, load_text, split
from forgenb.errors import ArgumentError, DTypeError, ShapeError


def test_default_text_is_the_help_topics_in_key_order():
    from pydoc_data.topics import topics

    text = default_text()
    assert len(text) == sum(map(len, topics.values())) + len(topics) - 1
    assert text.startswith(topics[min(topics)])
    assert text.endswith(topics[max(topics)])


def test_load_text_changes_nothing(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffone\r\ntwo \u00e9\U0001f600".encode())
    assert load_text(path) == "\ufeffone\r\ntwo \u00e9\U0001f600"
    assert load_text(str(path)) == load_text(path)


def test_load_text_names_the_first_wrong_byte(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes(b"caf\xe9 au lait")
    with pytest.raises(ArgumentError, match=r"latin.txt' is not UTF-8: byte 0xe9 at offset 3 of 12"):
        load_text(path)


def test_load_text_reads_no_more_than_it_is_told(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("abcd")
    assert load_text(path, 4) == "abcd"
    with pytest.raises(ArgumentError, match="text.txt' has more than 3 bytes, more than is read here; give a part"):
        load_text(path, 3)
    with pytest.raises(ArgumentError, match="zero' has more than 3 bytes"):
        load_text("/dev/zero", 3)


def test_load_text_needs_a_file_with_text(tmp_path):
    with pytest.raises(ArgumentError, match="cannot be read: No such file"):
        load_text(tmp_path / "none.txt")
    with pytest.raises(ArgumentError, match="cannot be read: Is a directory"):
        load_text(tmp_path)
    (tmp_path / "empty.txt").touch()
    with pytest.raises(ArgumentError, match="empty.txt' is empty"):
        load_text(tmp_path / "empty.txt")


def test_split_is_by_position():
    train, validation = split(np.arange(1_115_394))
    assert (len(train), len(validation)) == (1_003_854, 111_540)
    assert train.dtype == np.int64
    assert validation[0] == 1_003_854
    assert [part.tolist() for part in split([1, 2, 3, 4], 0.5)] == [[1, 2], [3, 4]]


@pytest.mark.parametrize("fraction", [0, 1, -0.5, 2, float("nan")])
def test_split_checks_the_fraction(fraction):
    with pytest.raises(ArgumentError, match="fraction between 0 and 1"):
        split([1, 2, 3], fraction)


@pytest.mark.parametrize("ids", [[], [1]])
def test_split_leaves_no_part_empty(ids):
    with pytest.raises(ArgumentError, match=f"split of {len(ids)} ids .* leaves a part empty"):
        split(ids)


def test_split_takes_one_axis_of_integers():
    with pytest.raises(ShapeError, match=r"one axis, got shape \(2, 2\)"):
        split([[1, 2], [3, 4]])
    with pytest.raises(DTypeError, match="integers, got dtype float64"):
        split([1.0, 2.0])
