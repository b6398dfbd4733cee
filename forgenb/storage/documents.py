"""JSON objects as the files of runs and models hold them, read with care.

Python's reader accepts more than JSON and more than such files need: NaN, numbers of any length, a key twice. Here all
of that is one `CheckpointError`. Imports `forgenb.errors`; which keys an object needs is for its reader to say.
"""

import json
import math
from collections.abc import Sequence
from typing import Any

from forgenb.errors import CheckpointError

__all__ = ["MOST", "bounded", "encoded", "listed", "parsed", "shown"]

MOST = 1 << 20
"""The most bytes of a document: some hundred times what a run needs, and parsed in less than 40 MB."""

DIGITS = 20
LONGEST = 80
MOST_NAMED = 20


def parsed(data: bytes | str, where: str, most: int = MOST) -> dict[str, Any]:
    """Read one JSON object.

    Parameters
    ----------
    data
        Its text, or that in UTF-8.
    where
        The subject of the error's sentence, such as ``"'config.json' is damaged: it"``.
    most
        The most bytes that `data` may have.

    Raises
    ------
    CheckpointError
        The text is no UTF-8, no JSON or no object, is nested too deeply, is longer than `most`, gives a key twice, or
        has a number that is NaN, infinite or of more than 20 digits.
    """
    if len(data) > most:
        raise CheckpointError(f"{where} has more than {most} bytes, more than is read.")
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        found = json.loads(
            text, object_pairs_hook=_object, parse_int=_whole, parse_float=_real, parse_constant=_constant
        )
    except RecursionError:
        raise CheckpointError(f"{where} is no JSON that is read here (it is nested too deeply).") from None
    except ValueError as error:
        raise CheckpointError(f"{where} is no JSON that is read here ({error}).") from error
    if not isinstance(found, dict):
        raise CheckpointError(f"{where} is no JSON object but a {type(found).__name__}.")
    return found


def encoded(about: dict[str, Any], where: str, indent: int | None = None) -> str:
    """The text of an object that `parsed` reads, on lines of their own where there is an `indent`.

    Raises
    ------
    CheckpointError
        It is longer than `MOST`, as with a vocabulary of some 50,000 characters.
    """
    return bounded(json.dumps(about, allow_nan=False, indent=indent), where)


def bounded(text: str, where: str) -> str:
    """Return `text`, JSON in ASCII, if it can be read again; see `encoded`."""
    if len(text) > MOST:
        raise CheckpointError(
            f"{where} was not written: its JSON has {len(text)} bytes, at most {MOST} are read again; use a text of "
            "fewer different characters."
        )
    return text


def shown(value: object) -> str:
    """A value for a message: its start, where it is long."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to spell out numbers of thousands of digits
        text = "a number of thousands of digits"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def listed(parts: Sequence[str]) -> str:
    """The first twenty parts of a message, and how many more there are."""
    more = f" and {len(parts) - MOST_NAMED} more" if len(parts) > MOST_NAMED else ""
    return "; ".join(parts[:MOST_NAMED]) + more


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key {shown(name)} stands twice in one object")
        found[name] = value
    return found


def _whole(text: str) -> int:
    if len(text) > DIGITS:
        raise ValueError(f"a number has {len(text)} digits")
    return int(text)


def _real(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {shown(text)} is infinite")
    return value


def _constant(text: str) -> float:
    raise ValueError(f"{text} is no number")
