"""GPT-2's byte-level pairs: against the library that trained them, every byte, and vocabularies that are none."""

import json
import sys

import numpy as np
import pytest

from forgenb.data import GPT2Tokenizer
from forgenb.data.bpe import END_OF_TEXT, byte_letters
from forgenb.errors import ArgumentError, CheckpointError, IndexRangeError

TEXT = "The cat's hat, the rat's mat: that's 1234 of them!\n\n  Straße, naïve café — 日本語, 👍🏽 and ümlauts. " * 20
BYTES = list(byte_letters())
MERGES = [("t", "h"), ("th", "e"), ("Ã", "¼")]
VOCABULARY = {token: place for place, token in enumerate([*BYTES, "th", "the", "Ã¼", END_OF_TEXT])}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A tiny vocabulary, trained here: the library's own tokenizer and the folder with its three files."""
    library = pytest.importorskip("tokenizers")
    found = library.Tokenizer(library.models.BPE())
    found.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = library.pre_tokenizers.ByteLevel.alphabet()
    trainer = library.trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=alphabet, special_tokens=[END_OF_TEXT], show_progress=False
    )
    found.train_from_iterator([TEXT], trainer)
    folder = tmp_path_factory.mktemp("gpt2")
    found.model.save(str(folder))
    found.save(str(folder / "tokenizer.json"))
    return found, folder


def test_letters_stand_for_all_bytes_once():
    letters = byte_letters()
    assert sorted(letters.values()) == list(range(256))
    assert (letters["A"], letters["Ġ"], letters["Ċ"], letters["ÿ"]) == (65, 32, 10, 255)


def test_ids_are_those_of_the_library(trained):
    found, folder = trained
    tokenizer = GPT2Tokenizer.load(folder)
    assert len(tokenizer) == found.get_vocab_size() > 300
    for text in (TEXT, "", " ", "hello  world\t\n", "the theatre's", "\x00\x7f\xad", "👩‍👩‍👧 e\u0301"):
        ids = tokenizer.encode(text)
        assert ids.dtype == np.int64
        assert ids.tolist() == found.encode(text).ids
        assert tokenizer.decode(ids) == text
    assert len(tokenizer.encode(TEXT)) < len(TEXT.encode()) / 2


def test_one_file_holds_the_same_as_two(trained, tmp_path):
    _, folder = trained
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    one, two = GPT2Tokenizer.load(tmp_path), GPT2Tokenizer.load(folder)
    assert one.encode(TEXT).tolist() == two.encode(TEXT).tolist()
    assert one.end == two.end == 0
    everything = np.arange(len(one))
    assert one.decode_bytes(everything) == two.decode_bytes(everything)


def test_the_name_of_the_end_is_text_like_other_text(trained):
    tokenizer = GPT2Tokenizer.load(trained[1])
    ids = tokenizer.encode(f"a{END_OF_TEXT}")
    assert tokenizer.end not in ids
    assert tokenizer.decode(ids) == tokenizer.decode([*tokenizer.encode("a"), tokenizer.end])


def test_every_byte_comes_back():
    tokenizer = GPT2Tokenizer(VOCABULARY, MERGES)
    assert tokenizer.decode_bytes(np.argsort([byte_letters()[b] for b in BYTES])) == bytes(range(256))
    assert tokenizer.decode_bytes([VOCABULARY["the"], VOCABULARY["Ġ"], VOCABULARY["Ã¼"]]) == "the ü".encode()
    assert tokenizer.decode([VOCABULARY["Ã"]]) == "\ufffd"
    assert tokenizer.decode([]) == ""
    assert GPT2Tokenizer({token: VOCABULARY[token] for token in BYTES}, []).end is None


def test_merges_are_done_in_their_order():
    pytest.importorskip("tokenizers")
    encode = GPT2Tokenizer(VOCABULARY, MERGES).encode
    assert encode("the ü th").tolist() == [VOCABULARY[t] for t in ("the", "Ġ", "Ã¼", "Ġ", "th")]


def test_ids_outside_and_what_is_no_text_are_refused():
    tokenizer = GPT2Tokenizer(VOCABULARY, MERGES)
    for wrong in (260, -1):
        with pytest.raises(IndexRangeError, match=f"id {wrong} at position 1 is outside this tokenizer of 260 tokens"):
            tokenizer.decode([0, wrong])
    with pytest.raises(ArgumentError, match="encode needs text, got bytes"):
        tokenizer.encode(b"a")
    with pytest.raises(ArgumentError, match="position 2 is half of a pair"):
        tokenizer.encode("ab\ud800")


def test_without_the_library_only_encoding_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    tokenizer = GPT2Tokenizer(VOCABULARY, MERGES)
    assert tokenizer.decode([VOCABULARY["the"]]) == "the"
    with pytest.raises(ArgumentError, match=r"needs the library tokenizers.*pip install 'forgenb\[gpt2\]'"):
        tokenizer.encode("the")


@pytest.mark.parametrize(
    ("change", "merges", "message"),
    [
        ({"the": 900}, [], "a vocabulary of 260 tokens needs each id once, and lacks 257"),
        ({"the": 256}, [], "lacks 257"),
        ({"Ġ": None, "\u4e00": VOCABULARY["Ġ"]}, [], "lacks byte 32"),
        ({"th": None, "日": VOCABULARY["th"]}, [], "token '日' of id 256 has letters that stand for no bytes"),
        ({}, [("t", "h"), ("e", "e")], "merge 1 of 'e' and 'e' is not in the vocabulary"),
    ],
)
def test_vocabularies_that_are_none_are_refused(change, merges, message):
    changed = {token: place for token, place in (VOCABULARY | change).items() if place is not None}
    with pytest.raises(CheckpointError, match=message):
        GPT2Tokenizer(changed, merges)


def test_a_folder_without_a_tokenizer_is_refused(tmp_path):
    (tmp_path / "vocab.json").write_text(json.dumps(VOCABULARY))
    with pytest.raises(CheckpointError, match=r"needs vocab.json and merges.txt, or tokenizer.json"):
        GPT2Tokenizer.load(tmp_path)
