"""The files of a GPT-2 tokenizer, read without trusting them: vocab.json, merges.txt, and tokenizer.json for both.

Imports the standard library and `forgenb.errors`; what a vocabulary must have is checked in `bpe`.
"""

import json
from pathlib import Path
from typing import Any

from forgenb.errors import CheckpointError

__all__ = ["read_merges", "read_tokenizer", "read_vocabulary"]


def read_vocabulary(path: Path) -> dict[str, int]:
    """The ids of ``vocab.json``.

    Raises
    ------
    CheckpointError
        If the file cannot be read, or is not an object of tokens and ids.
    """
    return _vocabulary(_json(path), path)


def read_merges(path: Path) -> list[tuple[str, str]]:
    """The pairs of ``merges.txt``, whose first line may name a version.

    Raises
    ------
    CheckpointError
        If the file cannot be read, or a line is not two tokens.
    """
    lines = _text(path).split("\n")
    first = 1 if lines[0].startswith("#version") else 0
    return [_pair(line, path, n) for n, line in enumerate(lines[first:], first + 1) if line.rstrip("\r")]


def read_tokenizer(path: Path) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Vocabulary and merges of a ``tokenizer.json`` that does what GPT-2's does.

    Raises
    ------
    CheckpointError
        If the file cannot be read, or describes another kind of tokenizer.
    """
    found = _json(path)
    model = found.get("model") if isinstance(found, dict) else None
    before = found.get("pre_tokenizer") if isinstance(found, dict) else None
    if not isinstance(model, dict) or model.get("type", "BPE") != "BPE" or not isinstance(before, dict):
        raise CheckpointError(f"{str(path)!r} is no byte-level BPE tokenizer: it needs a model and a pre_tokenizer")
    plain = before.get("type") == "ByteLevel" and not before.get("add_prefix_space") and before.get("use_regex", True)
    if not plain or found.get("normalizer") is not None:
        raise CheckpointError(
            f"{str(path)!r} splits or changes text in another way than GPT-2: its pre_tokenizer must be a plain "
            "ByteLevel, and its normalizer null"
        )
    merges = model.get("merges")
    if not isinstance(merges, list):
        raise CheckpointError(f"{str(path)!r} has no list of merges")
    vocabulary = _vocabulary(model.get("vocab"), path)
    for token in found.get("added_tokens") or []:
        if not isinstance(token, dict) or not isinstance(token.get("content"), str):
            raise CheckpointError(f"{str(path)!r} has an added token that is none: {token!r:.60}")
        vocabulary |= _vocabulary({token["content"]: token.get("id")}, path)
    return vocabulary, [_pair(pair, path, n) for n, pair in enumerate(merges, 1)]


def _pair(given: Any, path: Path, number: int) -> tuple[str, str]:
    parts = given.rstrip("\r").split(" ") if isinstance(given, str) else given
    if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(p, str) and p for p in parts):
        raise CheckpointError(f"merge {number} of {str(path)!r} must be two tokens, got {given!r:.60}")
    return parts[0], parts[1]


def _vocabulary(found: Any, path: Path) -> dict[str, int]:
    if not isinstance(found, dict) or not found:
        raise CheckpointError(f"{str(path)!r} must have an object of tokens and ids, got {found!r:.40}")
    for token, place in found.items():
        if not isinstance(place, int) or isinstance(place, bool):
            raise CheckpointError(
                f"{str(path)!r} gives token {token!r:.40} the id {place!r:.40}: it must be an integer"
            )
    return dict(found)


def _json(path: Path) -> Any:
    try:
        return json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{str(path)!r} is not JSON: {error!s:.80}") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{str(path)!r} cannot be read as text: {error!s:.120}") from None
