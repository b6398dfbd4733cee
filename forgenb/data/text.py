"""Where text comes from, and its split into training and validation.

Imports NumPy and the standard library; never the network.
"""

import os
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forgenb.data.ids import as_ids
from forgenb.errors import ArgumentError

__all__ = ["default_text", "load_text", "split"]


def default_text() -> str:
    """Return about half a million characters that every CPython carries.

    They are the help pages of ``pydoc_data.topics``, joined by newlines in the order of their keys. The text
    differs between Python versions (465,048 characters in 3.11.7).
    """
    from pydoc_data.topics import topics

    return "\n".join(topics[key] for key in sorted(topics))


def load_text(path: str | os.PathLike[str]) -> str:
    """Read a UTF-8 file as it is: no newline is changed and no byte replaced.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    ArgumentError
        The file cannot be read, is empty, or has bytes that are not UTF-8 (the message names the first).
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ArgumentError(f"The text {os.fspath(path)!r} cannot be read: {error.strerror}.") from error
    if not data:
        raise ArgumentError(f"The text {os.fspath(path)!r} is empty; give a file with some text.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ArgumentError(
            f"The text {os.fspath(path)!r} is not UTF-8: byte 0x{data[error.start]:02x} at offset "
            f"{error.start} of {len(data)} ({error.reason}). Convert it to UTF-8 first."
        ) from error


def split(ids: ArrayLike, fraction: float = 0.9) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut ids by position into a training and a validation part.

    Parameters
    ----------
    ids
        ``(n,)`` integers.
    fraction
        The share of the first part, between 0 and 1; it gets ``floor(fraction * n)`` ids.

    Returns
    -------
    Two int64 views of `ids`, neither empty.

    Raises
    ------
    ArgumentError
        `fraction` is not between 0 and 1, or a part would be empty.
    """
    array = as_ids(ids)
    if not 0 < fraction < 1:
        raise ArgumentError(f"split needs a fraction between 0 and 1, got {fraction!r}.")
    cut = int(fraction * len(array))
    if not 0 < cut < len(array):
        raise ArgumentError(
            f"split of {len(array)} ids at fraction {fraction} leaves a part empty "
            f"({cut} and {len(array) - cut}); use a longer text."
        )
    return array[:cut], array[cut:]
