"""What every tokenizer can do, and text that grows id by id without a broken character.

Imports the standard library and NumPy; tokenizers themselves are in files of their own.
"""

import codecs
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["TextStream", "Tokenizer"]


class Tokenizer(Protocol):
    """Text as ids, and back; ``len(tokenizer)`` is the size of the vocabulary.

    ``decode_bytes(a + b)`` is ``decode_bytes(a) + decode_bytes(b)`` for any ids.
    """

    @property
    def end(self) -> int | None:
        """The id that ends a text, or None."""
        ...

    def __len__(self) -> int: ...

    def encode(self, text: str) -> NDArray[np.int64]:
        """Ids of `text`, ``(n,)``."""
        ...

    def decode(self, ids: ArrayLike) -> str:
        """Text of `ids`, ``(n,)`` integers."""
        ...

    def decode_bytes(self, ids: ArrayLike) -> bytes:
        """The text of `ids` as UTF-8, which may begin or end inside a character."""
        ...


class TextStream:
    """Text of ids that come one after the other. A character that has not all its bytes yet is held back.

    Bytes that are no UTF-8 become U+FFFD, as `decode` has them. All that was returned, joined, is the text of all ids.

    Parameters
    ----------
    tokenizer : Tokenizer
    """

    def __init__(self, tokenizer: Tokenizer):
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, i: int) -> str:
        """What one more id adds; it may be nothing.

        Raises
        ------
        IndexRangeError
            If the id is outside the vocabulary.
        """
        return self._decoder.decode(self._tokenizer.decode_bytes([i]))

    def finish(self) -> str:
        """What is still held back, as U+FFFD; a new text may follow."""
        left = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return left
