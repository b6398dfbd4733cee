"""A safetensors file: eight bytes with the length of a header in JSON, the header, and the bytes of the tensors.

The header is read and checked as a whole before any tensor is: what it declares must be the rest of the file, without
a gap. A tensor's bytes are read only when somebody who knows what to expect asks for them. The file is not mapped into
memory, so that one that is cut while it is read is an error and no crash.

Imports dtypes and `documents`; writing is `files`, and nothing here knows what a checkpoint is.

References
----------
The safetensors format, version 0.4.
"""

import io
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forgenb.dtypes import ORDER
from forgenb.errors import CheckpointError
from forgenb.storage.documents import MOST, parsed, shown
from forgenb.storage.opening import PIECE, RandomAccess, StrPath, opened

__all__ = ["NAMES", "Dtypes", "InPieces", "TensorFile", "is_shape", "opened_tensors"]

Dtypes = Mapping[str, np.dtype]
NAMES = dict(zip(("BOOL", "I32", "I64", "F16", "F32", "F64"), ORDER))
"""The format's names of dtypes -> forgenb's."""

FIELDS = {"dtype", "shape", "data_offsets"}
MOST_AXES = 32
MOST_SIZE = 1 << 59
"""The most elements that the other axes of an empty array have: NumPy makes none with more."""
ZIP = b"PK"
"""A zip archive begins with it, and as a length its first eight bytes fit into no file of that length."""


class InPieces:
    """Arrays in a file that are read in pieces of at most a MiB, by several threads if need be."""

    place: str
    layouts: dict[str, tuple[tuple[int, ...], np.dtype]]

    def read_piece(self, name: str, start: int, piece: NDArray) -> None:
        """Read values of one array; several threads may do so at once.

        Parameters
        ----------
        name
            The array.
        start
            Where a piece begins, a position in row-major order.
        piece
            A row-major array of one axis and the array's dtype, which becomes the values from there on.
        """
        raise NotImplementedError(f"{type(self).__name__} reads no piece")

    def pieces(self, name: str) -> Iterator[tuple[int, int]]:
        """First position and end of each piece of one array."""
        shape, dtype = self.layouts[name]
        size, count = math.prod(shape), PIECE // dtype.itemsize
        for start in range(0, size, count):
            yield start, min(start + count, size)

    def read(self, name: str) -> NDArray:
        """The values of one array, which take as much memory as `layouts` says."""
        array = np.empty(*self.layouts[name])
        for start, stop in self.pieces(name):
            self.read_piece(name, start, array.reshape(-1)[start:stop])
        return array

    def parts(self, name: str) -> Iterator[tuple[int, NDArray]]:
        """Position and values of each piece of one array; the values are gone when the next are asked for."""
        shape, dtype = self.layouts[name]
        buffer = np.empty(min(math.prod(shape), PIECE // dtype.itemsize), dtype)
        for start, stop in self.pieces(name):
            self.read_piece(name, start, buffer[: stop - start])
            yield start, buffer[: stop - start]


class TensorFile(InPieces):
    """A safetensors file whose header was checked; `opened_tensors` makes one.

    Parameters
    ----------
    file
        Open, at any place.
    place
        Its name, for messages.
    most
        The most bytes that its header may have.
    names
        The format's names of the dtypes that are read -> what NumPy has their bytes as.
    marked
        A key of the metadata -> such names that are read besides where a file has that key.

    Attributes
    ----------
    layouts : dict
        Name -> (shape, dtype) of each tensor, in the order of their bytes.
    metadata : dict
        Text that travels with them.
    """

    def __init__(
        self, file: io.BufferedReader, place: str, most: int, names: Dtypes = NAMES, marked: Mapping[str, Dtypes] = {}
    ):
        self.place = place
        size = file.seek(0, 2)
        file.seek(0)
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if not 0 < length <= size - 8:
            if start.startswith(ZIP):
                raise CheckpointError(
                    f"{place!r} is a zip archive, as an npz is, and no safetensors file: fnb.train.load_params reads "
                    "one of parameters into a model, numpy.load its arrays."
                )
            raise self._refused(f"a header of {length} bytes does not fit into its {size}")
        if length > most:
            raise self._refused(f"its header has {length} bytes, at most {most} are read")
        header = parsed(file.read(length), f"{place!r} is not a complete safetensors file: its header", most)
        self.metadata = self._texts(header.pop("__metadata__", {}))
        self._names = dict(names)
        for key in marked.keys() & self.metadata.keys():
            self._names |= marked[key]
        self._bytes, self._begin = RandomAccess(file), 8 + length
        self.layouts = {}
        self._places: dict[str, int] = {}
        self._list(header, size - self._begin)

    def read_piece(self, name: str, start: int, piece: NDArray) -> None:
        """See `InPieces`."""
        place = self._begin + self._places[name] + start * piece.itemsize
        if not self._bytes.fill(place, piece):
            raise self._refused(f"it ends within {shown(name)}")
        if sys.byteorder == "big":
            piece.byteswap(inplace=True)

    def _list(self, header: dict[str, Any], size: int) -> None:
        """Take over the tensors of a header, which fill `size` bytes one after the other."""
        rows = sorted((self._entry(name, about) for name, about in header.items()), key=lambda row: row[3:])
        end = 0
        for name, shape, dtype, begin, stop in rows:
            if begin != end:
                raise self._refused(f"{shown(name)} begins at byte {begin} of its data, and {end} were told of before")
            self.layouts[name], self._places[name], end = (shape, dtype), begin, stop
        if end != size:
            raise self._refused(f"its header tells of {end} bytes of data, and there are {size}")

    def _entry(self, name: str, about: Any) -> tuple[str, tuple[int, ...], np.dtype, int, int]:
        """Name, shape, dtype, first byte and end of one tensor."""
        if not isinstance(about, dict) or about.keys() != FIELDS:
            raise self._refused(f"{shown(name)} is described by {shown(about)}, needed are {', '.join(sorted(FIELDS))}")
        shape, places = about["shape"], about["data_offsets"]
        if not is_shape(shape):
            raise self._refused(f"{shown(name)} has the shape {shown(shape)}")
        if not _are_sizes(places) or len(places) != 2:
            raise self._refused(f"{shown(name)} has the bytes {shown(places)}")
        dtype = self._names.get(about["dtype"]) if isinstance(about["dtype"], str) else None
        if dtype is None:
            raise CheckpointError(
                f"The checkpoint {self.place!r} has {shown(name)} of dtype {shown(about['dtype'])}, which forgenb does "
                f"not have; convert it to one of {', '.join(self._names)}."
            )
        needed = math.prod(shape) * dtype.itemsize
        if places[1] - places[0] != needed:
            raise self._refused(
                f"{shown(name)} of shape {shown(tuple(shape))} and dtype {dtype.name} takes {shown(needed)} bytes, and "
                f"has {shown(places[1] - places[0])}"
            )
        return name, tuple(shape), dtype, places[0], places[1]

    def _texts(self, metadata: Any) -> dict[str, str]:
        if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
            raise self._refused("its metadata are not texts by name")
        return metadata

    def _refused(self, why: str) -> CheckpointError:
        return CheckpointError(
            f"{self.place!r} is not a complete safetensors file ({why}): it is truncated or was made by something "
            "else; use another checkpoint."
        )


@contextmanager
def opened_tensors(
    path: StrPath, most: int = MOST, names: Dtypes = NAMES, marked: Mapping[str, Dtypes] = {}
) -> Iterator[TensorFile]:
    """Open a safetensors file.

    Parameters
    ----------
    path
        The file.
    most, names, marked
        See `TensorFile`.

    Raises
    ------
    CheckpointError
        It is missing, truncated or no safetensors file, or has a dtype that forgenb has not.
    """
    with opened(path) as file:
        yield TensorFile(file, os.fspath(path), most, names, marked)


def is_shape(value: Any) -> bool:
    """Whether a value of a header can be the shape of an array."""
    if not _are_sizes(value) or len(value) > MOST_AXES:
        return False
    return 0 not in value or math.prod(filter(None, value)) <= MOST_SIZE


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(size) is int and size >= 0 for size in value)
