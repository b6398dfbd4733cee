"""Characters to ids and back."""

import numpy as np
import pytest

from forgenb.data import CharTokenizer, default_text
from forgenb.errors import ArgumentError, IndexRangeError


@pytest.fixture
def banana():
    return CharTokenizer.from_text("banana\n")


def test_ids_follow_sorted_characters(banana):
    assert banana.characters == "\nabn"
    assert len(banana) == 4
    assert banana.encode("nab").tolist() == [3, 1, 2]
    assert banana.encode("nab").dtype == np.int64


def test_round_trip_of_the_default_text():
    text = default_text()
    tokenizer = CharTokenizer.from_text(text)
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_round_trip_beyond_the_basic_plane():
    text = "a\U0001f600\ud800\u00e9"
    tokenizer = CharTokenizer.from_text(text)
    assert tokenizer.encode(text).tolist() == [0, 3, 2, 1]
    assert tokenizer.decode([3, 2, 1, 0]) == "\U0001f600\ud800\u00e9a"


def test_empty_text(banana):
    assert banana.encode("").shape == (0,)
    assert banana.decode([]) == ""
    assert banana.unknown_chars("") == ""
    with pytest.raises(ArgumentError, match="at least one character"):
        CharTokenizer.from_text("")


def test_encode_names_the_first_unknown_character(banana):
    with pytest.raises(ArgumentError, match=r"'x' \(U\+0078\) at position 2 .* 4 characters"):
        banana.encode("baxz")


@pytest.mark.parametrize("wrong", [b"nab", None, 3])
def test_what_is_no_text_is_refused(banana, wrong):
    for encode in (banana.encode, banana.encode_lossy):
        with pytest.raises(ArgumentError, match=f"encode needs text, got {type(wrong).__name__}"):
            encode(wrong)


def test_lossy_encoding_leaves_unknown_characters_out(banana):
    assert banana.encode_lossy("zbaxz").tolist() == [2, 1]
    assert banana.unknown_chars("zbaxz") == "xz"
    assert banana.unknown_chars("nab") == ""


@pytest.mark.parametrize("bad", [4, -1])
def test_decode_names_the_first_wrong_id(banana, bad):
    with pytest.raises(IndexRangeError, match=rf"Id {bad} at position 1 is outside .* 4 characters"):
        banana.decode([0, bad, 99])


def test_characters_in_another_order():
    tokenizer = CharTokenizer("ba")
    assert tokenizer.encode("ab").tolist() == [1, 0]
    assert tokenizer.decode([1, 0]) == "ab"
    with pytest.raises(ArgumentError, match="'a' at position 2 of the vocabulary is a duplicate"):
        CharTokenizer("aba")


def test_json_round_trip(banana):
    assert CharTokenizer.from_json(banana.to_json()) == banana
    mixed = CharTokenizer('z"\\\u00e9\U0001f600\ud800a')
    assert CharTokenizer.from_json(mixed.to_json()) == mixed
    assert CharTokenizer.from_json('{"b": 1, "a": 0}').characters == "ab"


def test_equal_vocabularies_have_equal_bytes(banana):
    """In the order of ids, whatever order a text or a file has its characters in."""
    assert banana.to_json() == '{"\\n": 0, "a": 1, "b": 2, "n": 3}'
    assert CharTokenizer.from_text("\nnab").to_json() == banana.to_json()
    assert CharTokenizer.from_json('{"n": 3, "b": 2, "\\n": 0, "a": 1}').to_json() == banana.to_json()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "must be JSON"),
        ('["a"]', "must be a JSON object"),
        ("{}", "at least one character"),
        ('{"ab": 0}', "single characters, got 'ab'"),
        ('{"": 0}', "single characters, got ''"),
        ('{"a": 1}', r"id of 'a' must be an integer from 0 to 0 .*, got 1"),
        ('{"a": -1, "b": 0}', "from 0 to 1 .* got -1"),
        ('{"a": 0.0}', "must be an integer .* got 0.0"),
        ('{"a": true}', "must be an integer .* got True"),
        ('{"a": 0, "b": 0}', "Id 0 is given to both 'a' and 'b'"),
        ('{"a": 0, "a": 1}', "'a' is a duplicate"),
        pytest.param("[" * 100_000, "one that is nested too deeply or has a number", id="nested"),
        pytest.param('{"a": ' + "9" * 5000 + "}", "or has a number of thousands of digits", id="digits"),
        pytest.param('{"' + "a" * 5000 + '": 0}', r"single characters, got 'a{39}\.$", id="long"),
    ],
)
def test_json_is_validated(text, message):
    with pytest.raises(ArgumentError, match=message):
        CharTokenizer.from_json(text)
