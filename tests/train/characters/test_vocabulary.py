"""The characters of a run in its files."""

import pytest

from forgenb.data import CharTokenizer
from forgenb.errors import CheckpointError
from forgenb.train.characters.vocabulary import check_vocabulary, read_vocabulary, vocabulary_of


def test_round_trip(tmp_path):
    tokenizer = CharTokenizer('ba\n"\u00e9\U0001f600')
    (tmp_path / "vocab.json").write_text(tokenizer.to_json())
    assert read_vocabulary(tmp_path / "vocab.json") == vocabulary_of(tokenizer.characters, "x") == tokenizer
    check_vocabulary(tokenizer, "x")


@pytest.mark.parametrize(
    ("characters", "message"),
    [
        ("", "at least one character"),
        ("aba", "'a' at position 2 of the vocabulary is a duplicate"),
        ("ab\udfff", r"Character '\\udfff' at position 2 of the vocabulary is half of a surrogate pair"),
    ],
)
def test_refusals(characters, message):
    with pytest.raises(CheckpointError, match=f"^'f' is damaged. .*{message}"):
        vocabulary_of(characters, "'f' is damaged.")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"\xff": 0}', "It is no UTF-8"),
        (b'{"\\ud800": 0}', "is half of a surrogate pair"),
        (b'{"a": 1}', "The id of 'a' must be an integer from 0 to 0"),
        pytest.param(b"[" * 100_000, "nested too deeply", id="nested"),
    ],
)
def test_files_that_are_refused(tmp_path, data, message):
    (tmp_path / "vocab.json").write_bytes(data)
    with pytest.raises(CheckpointError, match=f"vocab.json' is damaged. .*{message}"):
        read_vocabulary(tmp_path / "vocab.json")
