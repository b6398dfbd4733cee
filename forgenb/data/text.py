"""Where text comes from, and its split into training and validation.

Imports NumPy and the standard library; never the network.
"""

import os

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


def load_text(path: str | os.PathLike[str], most: int | None = None) -> str:
    """Read a UTF-8 file as it is: no newline is changed and no byte replaced.

    Parameters
    ----------
    path
        The file.
    most
        The most bytes that it may have; more are not read.

    Raises
    ------
    ArgumentError
        The file cannot be read, is empty, has more than `most` bytes, or has bytes that are not UTF-8 (the message
        names the first).
    """
    try:
        with open(path, "rb") as file:
            data = file.read() if most is None else file.read(most + 1)
    except OSError as error:
        raise ArgumentError(f"The text {os.fspath(path)!r} cannot be read: {error.strerror}.") from error
    if not data:
        raise ArgumentError(f"The text {os.fspath(path)!r} is empty; give a file with some text.")
    if most is not None and len(data) > most:
        raise ArgumentError(
            f"The text {os.fspath(path)!r} has more than {most} bytes, more than is read here; give a part of it."
        )
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
