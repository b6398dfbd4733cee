"""Text that grows id by id: nothing broken, nothing lost, for every tokenizer."""

import numpy as np
import pytest

from forgenb.data import CharTokenizer, GPT2Tokenizer, TextStream
from forgenb.data.bpe import byte_letters
from forgenb.errors import IndexRangeError

TEXT = "aé日👍🏽 z"
BYTEWISE = GPT2Tokenizer(byte_letters(), [])
"""Every byte is a token of its own: the id is the byte."""


def pushed(tokenizer, ids):
    stream = TextStream(tokenizer)
    return [*(stream.push(i) for i in ids), stream.finish()]


def test_a_character_waits_for_its_last_byte():
    pieces = pushed(BYTEWISE, TEXT.encode())
    assert pieces == ["a", "", "é", "", "", "日", "", "", "", "👍", "", "", "", "🏽", " ", "z", ""]
    assert "".join(pieces) == BYTEWISE.decode(list(TEXT.encode())) == TEXT


def test_characters_come_at_once():
    tokenizer = CharTokenizer.from_text(TEXT)
    ids = tokenizer.encode(TEXT)
    assert pushed(tokenizer, ids) == [*TEXT, ""]
    assert tokenizer.decode_bytes(ids) == TEXT.encode()
    assert tokenizer.end is None


@pytest.mark.parametrize("seed", range(20))
def test_any_bytes_give_what_decoding_them_together_gives(seed):
    rng = np.random.default_rng(seed)
    ids = rng.choice([*rng.integers(0, 256, 30), *TEXT.encode()], 80)
    pieces = pushed(BYTEWISE, ids)
    assert "".join(pieces) == BYTEWISE.decode(ids)
    half = len(ids) // 2
    assert BYTEWISE.decode_bytes(ids) == BYTEWISE.decode_bytes(ids[:half]) + BYTEWISE.decode_bytes(ids[half:])


def test_what_is_left_at_the_end_is_one_replacement_and_a_new_text_may_follow():
    stream = TextStream(BYTEWISE)
    assert [stream.push(i) for i in "日".encode()[:2]] == ["", ""]
    assert (stream.finish(), stream.finish()) == ("\ufffd", "")
    assert stream.push(65) == "A"


def test_an_id_outside_is_refused():
    with pytest.raises(IndexRangeError, match="id 256"):
        TextStream(BYTEWISE).push(256)
