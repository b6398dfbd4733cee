"""Characters as ids.

Imports NumPy and `forgenb.errors`; no file is read here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forgenb.data.ids import as_ids
from forgenb.errors import ArgumentError, IndexRangeError

__all__ = ["CharTokenizer"]


def _code_points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint32, copy=False)


@dataclass(frozen=True)
class CharTokenizer:
    """A vocabulary of characters: the id of a character is its place in `characters`.

    Parameters
    ----------
    characters
        At least one character, none twice. `from_text` takes those of a text in sorted order.

    Raises
    ------
    ArgumentError
        `characters` is empty or has a duplicate.
    """

    characters: str

    def __post_init__(self) -> None:
        if not self.characters:
            raise ArgumentError("A tokenizer needs at least one character, got none; give it a longer text.")
        seen: set[str] = set()
        for position, character in enumerate(self.characters):
            if character in seen:
                raise ArgumentError(f"Character {character!r} at position {position} of the vocabulary is a duplicate.")
            seen.add(character)

    @classmethod
    def from_text(cls, text: str) -> "CharTokenizer":
        """Return the tokenizer of the sorted unique characters of `text`."""
        return cls("".join(sorted(set(text))))

    def __len__(self) -> int:
        return len(self.characters)

    @property
    def end(self) -> None:
        """No character ends a text."""
        return None

    @cached_property
    def _by_id(self) -> NDArray[np.uint32]:
        return _code_points(self.characters)

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self._by_id).astype(np.int64)

    def _look_up(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Ids of the characters of `text`, and where they are known (an id means nothing elsewhere)."""
        if not isinstance(text, str):
            raise ArgumentError(f"encode needs text, got {type(text).__name__}")
        points, known = _code_points(text), self._by_id[self._order]
        place = np.minimum(np.searchsorted(known, points), len(self) - 1)
        return self._order[place], known[place] == points

    def encode(self, text: str) -> NDArray[np.int64]:
        """Return the ids of `text`, ``(n,)`` int64 for n characters.

        Raises
        ------
        ArgumentError
            `text` is none, or a character is not in the vocabulary; the message names the first and its position.
        """
        ids, known = self._look_up(text)
        if not known.all():
            position = int(np.argmin(known))
            raise ArgumentError(
                f"Character {text[position]!r} (U+{ord(text[position]):04X}) at position {position} is not "
                f"among the {len(self)} characters of this tokenizer; encode_lossy leaves such ones out."
            )
        return ids

    def encode_lossy(self, text: str) -> NDArray[np.int64]:
        """Return the ids of those characters of `text` that are in the vocabulary."""
        ids, known = self._look_up(text)
        return ids[known]

    def unknown_chars(self, text: str) -> str:
        """Return the characters of `text` that are not in the vocabulary, sorted and each once."""
        return "".join(sorted(set(text) - set(self.characters)))

    def decode(self, ids: ArrayLike) -> str:
        """Return the text of `ids`, ``(n,)`` integers.

        Raises
        ------
        IndexRangeError
            An id is outside the vocabulary; the message names the first and its position.
        """
        array = as_ids(ids)
        outside = (array < 0) | (array >= len(self))
        if outside.any():
            position = int(np.argmax(outside))
            raise IndexRangeError(
                f"Id {array[position]} at position {position} is outside this tokenizer of {len(self)} "
                f"characters (ids 0 to {len(self) - 1})."
            )
        return self._by_id[array].astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")

    def decode_bytes(self, ids: ArrayLike) -> bytes:
        """Return the text of `ids` as UTF-8.

        Raises
        ------
        IndexRangeError
            See `decode`.
        """
        return self.decode(ids).encode("utf-8", "surrogatepass")

    def to_json(self) -> str:
        """Return a JSON object that maps each character to its id."""
        return json.dumps({character: place for place, character in enumerate(self.characters)})

    @classmethod
    def from_json(cls, text: str) -> "CharTokenizer":
        """Read what `to_json` wrote.

        Raises
        ------
        ArgumentError
            `text` is not a JSON object whose keys are single characters, each once, and whose values are the
            ids from 0 to the number of characters less one, each once.
        """
        try:
            entries = json.loads(text, object_pairs_hook=_unique_entries)
        except ArgumentError:
            raise
        except json.JSONDecodeError as error:
            raise ArgumentError(f"A tokenizer must be JSON: {error}.") from error
        except (RecursionError, ValueError):
            raise ArgumentError(
                "A tokenizer must be a JSON object of characters and ids, got one that is nested too deeply or has a "
                "number of thousands of digits."
            ) from None
        if not isinstance(entries, Mapping):
            raise ArgumentError(f"A tokenizer must be a JSON object of characters and ids, got {text:.40}.")
        by_id: dict[int, str] = {}
        for character, place in entries.items():
            _check_entry(character, place, len(entries))
            if place in by_id:
                raise ArgumentError(f"Id {place} is given to both {by_id[place]!r} and {character!r}.")
            by_id[place] = character
        return cls("".join(by_id[place] for place in range(len(by_id))))


def _unique_entries(pairs: list[tuple[str, object]]) -> dict[str, object]:
    entries: dict[str, object] = {}
    for character, place in pairs:
        if character in entries:
            raise ArgumentError(f"Character {character!r:.40} is a duplicate in this tokenizer.")
        entries[character] = place
    return entries


def _check_entry(character: str, place: object, count: int) -> None:
    if len(character) != 1:
        raise ArgumentError(f"A tokenizer's keys must be single characters, got {character!r:.40}.")
    if not isinstance(place, int) or isinstance(place, bool) or not 0 <= place < count:
        raise ArgumentError(
            f"The id of {character!r} must be an integer from 0 to {count - 1} "
            f"(there are {count} characters), got {place!r:.40}."
        )
