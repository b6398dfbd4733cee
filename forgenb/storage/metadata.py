"""The text that travels with the tensors of a checkpoint: a JSON object of a known version and known fields.

Imports `documents`; what the fields are for is not known here.
"""

from collections.abc import Callable, Mapping
from typing import Any

from forgenb.errors import CheckpointError
from forgenb.storage.documents import parsed, shown

__all__ = ["Fields", "read_metadata"]

Fields = Mapping[str, tuple[str, Callable[[Any], bool]]]
"""Name -> what the value must be, in words and as a test."""

MOST_NAMED = 10


def read_metadata(place: str, text: str, version: int, fields: Fields) -> dict[str, Any]:
    """Read the metadata of the checkpoint `place`: `fields`, and ``format``, which must be `version`.

    Raises
    ------
    CheckpointError
        `text` is no JSON that is read here, of another version, or has a field too few, too many or of another kind.
    """
    about = parsed(text, f"The checkpoint {place!r} is damaged: its metadata")
    found = about.pop("format", None)
    if type(found) is not int or found != version:
        raise CheckpointError(
            f"The checkpoint {place!r} has format {shown(found)}, this forgenb reads {version}; use the version "
            "of forgenb that wrote it."
        )
    lacking = [name for name in fields if name not in about]
    if lacking:
        raise CheckpointError(f"The checkpoint {place!r} is incomplete: its metadata lacks {', '.join(lacking)}.")
    wrong = [
        f"{name} must be {words} and is {shown(about[name])}"
        for name, (words, fits) in fields.items()
        if not fits(about[name])
    ]
    wrong += [f"{shown(name)} is unknown" for name in about if name not in fields]
    if wrong:
        raise CheckpointError(f"The checkpoint {place!r} is damaged: in its metadata {'; '.join(wrong[:MOST_NAMED])}.")
    return about
