"""Files of a GPT-2 tokenizer: what is read, and what is refused by name."""

import json

import pytest

from forgenb.data.bpe_files import read_merges, read_tokenizer, read_vocabulary
from forgenb.errors import CheckpointError

WHOLE = {
    "normalizer": None,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
    "added_tokens": [{"content": "<end>", "id": 3}],
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file"

    def write(content):
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


def test_what_is_written_is_read(file):
    assert read_vocabulary(file({"a": 0, "Ġb": 1})) == {"a": 0, "Ġb": 1}
    assert read_merges(file("#version: 0.2\na b\nĠ #\n")) == [("a", "b"), ("Ġ", "#")]
    assert read_merges(file("# #\r\na b")) == [("#", "#"), ("a", "b")]
    vocabulary = {"a": 0, "b": 1, "ab": 2, "<end>": 3}
    assert read_tokenizer(file(WHOLE)) == (vocabulary, [("a", "b")])
    pairs = {**WHOLE, "model": {**WHOLE["model"], "merges": [["a", "b"]]}}
    assert read_tokenizer(file(pairs)) == (vocabulary, [("a", "b")])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        (b"\xff\xfe", "cannot be read as text"),
        ([], "an object of tokens and ids, got"),
        ({}, "an object of tokens and ids"),
        ({"a": "0"}, "gives token 'a' the id '0'"),
        ({"a": True}, "the id True: it must be an integer"),
    ],
)
def test_a_vocabulary_that_is_none_is_refused(file, content, message):
    with pytest.raises(CheckpointError, match=message):
        read_vocabulary(file(content))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="'.*nothing' cannot be read"):
        read_merges(tmp_path / "nothing")


@pytest.mark.parametrize("line", ["a", "a b c", "a ", " a"])
def test_a_merge_that_is_no_pair_is_refused(file, line):
    with pytest.raises(CheckpointError, match="merge 2 of .* must be two tokens, got"):
        read_merges(file(f"a b\n{line}\n"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": None}, "is no byte-level BPE tokenizer"),
        ({"model": {"type": "WordPiece"}}, "is no byte-level BPE tokenizer"),
        ({"pre_tokenizer": None}, "is no byte-level BPE tokenizer"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "splits or changes text in another way than GPT-2"),
        ({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True}}, "in another way than GPT-2"),
        ({"pre_tokenizer": {"type": "ByteLevel", "use_regex": False}}, "in another way than GPT-2"),
        ({"normalizer": {"type": "NFC"}}, "its normalizer null"),
        ({"model": {"vocab": {"a": 0}}}, "has no list of merges"),
        ({"model": {"vocab": None, "merges": []}}, "an object of tokens and ids, got None"),
        ({"model": {"vocab": {"a": 0}, "merges": [["a"]]}}, "merge 1 of .* must be two tokens"),
        ({"added_tokens": [3]}, "an added token that is none: 3"),
        ({"added_tokens": [{"content": "x"}]}, "gives token 'x' the id None"),
    ],
)
def test_another_kind_of_tokenizer_is_refused(file, change, message):
    with pytest.raises(CheckpointError, match=message):
        read_tokenizer(file(WHOLE | change))


def test_a_list_is_no_tokenizer(file):
    with pytest.raises(CheckpointError, match="is no byte-level BPE tokenizer"):
        read_tokenizer(file([]))
