"""GPT-2's byte-level pairs: a vocabulary in which every text has ids, whatever its characters.

Imports `bpe_files`, and the library `tokenizers` when text is encoded; decoding needs no library, and a file is read in
`bpe_files` only.
"""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forgenb.data.bpe_files import read_merges, read_tokenizer, read_vocabulary
from forgenb.data.ids import as_ids
from forgenb.errors import ArgumentError, CheckpointError, IndexRangeError

__all__ = ["END_OF_TEXT", "GPT2Tokenizer"]

END_OF_TEXT = "<|endoftext|>"
"""How GPT-2's vocabulary spells the id that ends a text."""


def byte_letters() -> dict[str, int]:
    """GPT-2's letter of each byte: its own where Latin-1 has a visible one, else the next from U+0100 on."""
    seen = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174]
    unseen = (b for b in range(256) if b not in set(seen))
    return {chr(b): b for b in seen} | {chr(256 + n): b for n, b in enumerate(unseen)}


class GPT2Tokenizer:
    """Byte-pair encoding of UTF-8: a word is bytes at first, and the pair of the earliest merge is joined, again and
    again, until there is none.

    Text such as ``<|endoftext|>`` has no meaning in `encode`: its characters are encoded like others. Append `end`
    where a text should end.

    Parameters
    ----------
    vocabulary : mapping
        Token, in GPT-2's letters for bytes, to id: 0 to its size less one, each once, all 256 bytes among them.
    merges : sequence of (str, str)
        The pairs that are joined, the earliest first.

    Attributes
    ----------
    end : int or None
        The id of ``<|endoftext|>``.

    Raises
    ------
    CheckpointError
        If the vocabulary lacks a byte, an id or a part of a merge, or has a token that is no bytes.

    References
    ----------
    Sennrich, Haddow, Birch: "Neural machine translation of rare words with subword units", 2016; Radford et al.,
    "Language models are unsupervised multitask learners", 2019, section 2.2.
    """

    def __init__(self, vocabulary: Mapping[str, int], merges: Sequence[tuple[str, str]]):
        self._vocabulary, self._merges = dict(vocabulary), list(merges)
        letters = byte_letters()
        by_id = {place: token for token, place in self._vocabulary.items()}
        missing = next((place for place in range(len(self._vocabulary)) if place not in by_id), None)
        if missing is not None:
            raise CheckpointError(
                f"a vocabulary of {len(self._vocabulary)} tokens needs each id once, and lacks {missing}"
            )
        for letter, byte in letters.items():
            if letter not in self._vocabulary:
                raise CheckpointError(
                    f"GPT-2's vocabulary has all 256 bytes, and this one lacks byte {byte} ({letter!r})"
                )
        self._bytes = []
        for place in range(len(by_id)):
            token = by_id[place]
            if not all(letter in letters for letter in token):
                raise CheckpointError(f"token {token!r:.40} of id {place} has letters that stand for no bytes")
            self._bytes.append(bytes(letters[letter] for letter in token))
        for number, pair in enumerate(self._merges):
            if not all(part in self._vocabulary for part in (*pair, "".join(pair))):
                raise CheckpointError(f"merge {number} of {pair[0]!r:.40} and {pair[1]!r:.40} is not in the vocabulary")
        self.end = self._vocabulary.get(END_OF_TEXT)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "GPT2Tokenizer":
        """Read ``vocab.json`` and ``merges.txt`` of a folder, or else its ``tokenizer.json``.

        Raises
        ------
        CheckpointError
            If they are not there, cannot be read, or are not GPT-2's.
        """
        place = Path(folder)
        vocab, merges, whole = place / "vocab.json", place / "merges.txt", place / "tokenizer.json"
        if vocab.exists() and merges.exists():
            return cls(read_vocabulary(vocab), read_merges(merges))
        if whole.exists():
            return cls(*read_tokenizer(whole))
        if not place.is_dir():
            raise CheckpointError(f"{str(place)!r} is no folder: give one with GPT-2's files; none is downloaded")
        raise CheckpointError(f"{str(place)!r} has no tokenizer: it needs vocab.json and merges.txt, or tokenizer.json")

    def __len__(self) -> int:
        return len(self._bytes)

    @cached_property
    def _encoder(self) -> Any:
        try:
            from tokenizers import Tokenizer, models, pre_tokenizers
        except ImportError as error:
            raise ArgumentError(
                f"encoding as GPT-2 does needs the library tokenizers, which cannot be imported ({error}): "
                "pip install 'forgenb[gpt2]'"
            ) from None
        encoder = Tokenizer(models.BPE(self._vocabulary, self._merges))
        encoder.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        return encoder

    def encode(self, text: str) -> NDArray[np.int64]:
        """Return the ids of `text`, ``(n,)`` int64.

        Raises
        ------
        ArgumentError
            If it is no text, has half a surrogate pair, or the library ``tokenizers`` is not installed.
        """
        if not isinstance(text, str):
            raise ArgumentError(f"encode needs text, got {type(text).__name__}")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ArgumentError(f"the character at position {error.start} is half of a pair, and no text") from None
        return np.array(self._encoder.encode(text, add_special_tokens=False).ids, np.int64)

    def decode_bytes(self, ids: ArrayLike) -> bytes:
        """Return the bytes of `ids`, ``(n,)`` integers.

        Raises
        ------
        IndexRangeError
            If an id is outside the vocabulary; the message names the first and its position.
        """
        array = as_ids(ids)
        outside = (array < 0) | (array >= len(self))
        if outside.any():
            place = int(np.argmax(outside))
            raise IndexRangeError(
                f"id {array[place]} at position {place} is outside this tokenizer of {len(self)} tokens"
            )
        return b"".join(self._bytes[i] for i in array.tolist())

    def decode(self, ids: ArrayLike) -> str:
        """Return the text of `ids`; bytes that are no UTF-8 become U+FFFD.

        Raises
        ------
        IndexRangeError
            See `decode_bytes`.
        """
        return self.decode_bytes(ids).decode("utf-8", "replace")
