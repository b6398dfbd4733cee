"""The characters of a run as its files hold them: each once, each whole.

Imports the tokenizer, `opening` and `documents`; a tokenizer in memory may hold more than a file does.
"""

from pathlib import Path

from forgenb.data import CharTokenizer
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.storage.documents import MOST
from forgenb.storage.opening import read_small

__all__ = ["check_vocabulary", "read_vocabulary", "vocabulary_of"]


def check_vocabulary(tokenizer: CharTokenizer, where: str) -> None:
    """Refuse half of a surrogate pair.

    Raises
    ------
    CheckpointError
        A character is none that UTF-8 can hold, so no text of a run had it; the message begins with `where`.
    """
    for position, character in enumerate(tokenizer.characters):
        if 0xD800 <= ord(character) <= 0xDFFF:
            raise CheckpointError(
                f"{where} Character {character!a} at position {position} of the vocabulary is half of a surrogate "
                "pair, which no text in UTF-8 has."
            )


def vocabulary_of(characters: str, where: str) -> CharTokenizer:
    """The tokenizer of characters from a file.

    Raises
    ------
    CheckpointError
        There is none, one stands twice or is half a character; the message begins with `where`.
    """
    try:
        tokenizer = CharTokenizer(characters)
    except ArgumentError as error:
        raise CheckpointError(f"{where} {error}") from error
    check_vocabulary(tokenizer, where)
    return tokenizer


def read_vocabulary(path: Path) -> CharTokenizer:
    """Read a ``vocab.json``.

    Raises
    ------
    CheckpointError
        It cannot be read, or is not what `CharTokenizer.to_json` writes of whole characters.
    """
    where = f"{str(path)!r} is damaged."
    try:
        tokenizer = CharTokenizer.from_json(read_small(path, MOST).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{where} It is no UTF-8 ({error}).") from error
    except ArgumentError as error:
        raise CheckpointError(f"{where} {error}") from error
    check_vocabulary(tokenizer, where)
    return tokenizer
