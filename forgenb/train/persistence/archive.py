"""An npz archive that is read with care: a zip file with one array, in NumPy's format, for each name.

Three things are read in turn, each only if the one before was in order: the list of members, which must be one that
NumPy could have written; the header of an array, of at most 4096 bytes; and its values, when somebody who compared the
header with what to expect asks for them. Nothing is unpickled, nothing is written to the disk, and of no member more
is decompressed than its header accounts for.

Imports NumPy's format, zipfile and `opening`; which names and shapes are right is not known here.
"""

import copy
import io
import math
import os
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from tokenize import TokenError
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from forgenb.errors import CheckpointError
from forgenb.storage.documents import shown
from forgenb.storage.opening import StrPath, filled, opened

__all__ = ["Archive", "opened_archive", "unusable"]

HEADER = 4096
DIRECTORY = 1 << 20
ENTRY = 1 << 10
SUFFIX = ".npy"
LONGEST = 1000
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, OverflowError)
"""What zipfile raises for a file that is none, or none that it can read; NotImplementedError is a RuntimeError."""
UNREADABLE = (ValueError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError, Warning)
"""What NumPy raises for a header that is none; Python's parser calls one that is nested too deeply a MemoryError."""


class Archive:
    """An npz archive whose list of members was checked; `opened_archive` makes one.

    Attributes
    ----------
    names : list of str
        The arrays, in the order of the archive.
    layouts : dict
        Name -> (shape, dtype) of those whose header was read by `look_at`.
    """

    def __init__(self, file: zipfile.ZipFile, place: str):
        self._file, self.place = file, place
        self._members: dict[str, zipfile.ZipInfo] = {}
        self._headers: dict[str, tuple[int, bool]] = {}
        self.layouts: dict[str, tuple[tuple[int, ...], np.dtype]] = {}
        for member in file.infolist():
            self._list(member)
        self.names = list(self._members)

    def look_at(self, name: str) -> None:
        """Read the header of one array into `layouts`."""
        member = self._members[name]
        with self._member(member) as source:
            start = io.BytesIO(source.read(min(HEADER, member.file_size)))
        try:
            shape, transposed, dtype = _header(start)
        except UNREADABLE as error:
            raise self._refused(f"{name!r} has no header of an array that is read here ({shown(str(error))})") from None
        if dtype.hasobject:
            raise self._refused(f"{name!r} holds Python objects, and no pickle is ever read")
        if not all(type(size) is int and size >= 0 for size in shape):
            raise self._refused(f"{name!r} has the shape {shown(shape)}")
        needed = start.tell() + math.prod(shape) * dtype.itemsize
        if member.file_size != needed:
            raise self._refused(
                f"{name!r} has {member.file_size} bytes, and its shape {shown(shape)} and dtype {dtype} make "
                f"{shown(needed)}"
            )
        self.layouts[name], self._headers[name] = (shape, dtype), (start.tell(), transposed)

    def read(self, name: str) -> NDArray:
        """The values of one array, which take as much memory as `layouts` says."""
        shape, dtype = self.layouts[name]
        length, transposed = self._headers[name]
        with self._member(self._members[name]) as source:
            source.read(length)
            array = filled(source, shape[::-1] if transposed else shape, dtype)
            more = source.read(1)  # at the end zipfile compares the checksum
        if array is None or more:
            raise self._refused(f"{name!r} has {'more' if more else 'fewer'} bytes than the archive says")
        return np.ascontiguousarray(array.T).reshape(shape) if transposed else array

    def _list(self, member: zipfile.ZipInfo) -> None:
        """Take over one member, as long as it is one that an npz archive may have."""
        full = member.orig_filename
        name = full.removesuffix(SUFFIX)
        if name in self._members:
            raise self._refused(f"{shown(name)} stands in it twice")
        if name == full:
            raise self._refused(f"{shown(full)} in it is no array: its name does not end in {SUFFIX}")
        wrong = unusable(name)
        if wrong:
            raise self._refused(f"{shown(full)} in it {wrong}")
        if member.flag_bits & 1:
            raise self._refused(f"{shown(full)} in it is encrypted")
        if member.compress_type not in METHODS:
            raise self._refused(f"{shown(full)} in it is compressed by method {member.compress_type}, not by deflate")
        if member.compress_type == zipfile.ZIP_STORED and member.compress_size != member.file_size:
            raise self._refused(f"{shown(full)} in it is not compressed and has two sizes")
        self._members[name] = member

    @contextmanager
    def _member(self, member: zipfile.ZipInfo) -> Iterator[zipfile.ZipExtFile]:
        longer = copy.copy(member)
        longer.file_size += 1  # otherwise a byte too many would be cut off and not be seen
        try:
            with self._file.open(longer) as source:
                yield source  # type: ignore[misc]  # it reads, which is all that is asked of it
        except BROKEN as error:
            raise self._refused(f"{shown(member.orig_filename)} in it cannot be read: {shown(str(error))}") from error

    def _refused(self, why: str) -> CheckpointError:
        return CheckpointError(
            f"{self.place!r} is not loaded: {why}. Use a file that save_params or numpy.savez wrote."
        )


class _Bounded:
    """A file of which nobody reads more than so much at a time, whatever the file says of itself."""

    def __init__(self, file: BinaryIO, most: int):
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable
        self._file, self._most = file, most

    def read(self, size: int = -1) -> bytes:
        """Read as a file does, the rest where `size` is negative."""
        data = self._file.read(self._most + 1 if size < 0 else min(size, self._most + 1))
        if len(data) > self._most:
            raise zipfile.BadZipFile(f"its list of members has more than {self._most} bytes")
        return data


@contextmanager
def opened_archive(path: StrPath, expected: int) -> Iterator[Archive]:
    """Open an npz archive.

    Parameters
    ----------
    path
        The file.
    expected
        How many arrays there should be, which bounds the list of members: 1 MiB, and 1 KiB for each.

    Raises
    ------
    CheckpointError
        It is missing, no zip file, or has a member that no npz archive has.
    """
    place = os.fspath(path)
    with opened(path) as file:
        try:
            archive = zipfile.ZipFile(_Bounded(file, DIRECTORY + ENTRY * expected))
        except BROKEN as error:
            raise CheckpointError(
                f"{place!r} is not loaded: it is no zip file, or not all of one ({shown(str(error))}). Use a file that "
                "save_params or numpy.savez wrote."
            ) from error
        with archive:
            yield Archive(archive, place)


def unusable(name: str) -> str:
    """Why an array cannot have a name, as words that follow the name; empty where it can."""
    parts = re.split(r"[/\\]", name)
    if not name or len(name) > LONGEST or not name.isprintable():
        return f"has a name that is empty, longer than {LONGEST} characters or not printable"
    if name[0] in "/\\" or ".." in parts or re.match(r"[A-Za-z]:[/\\]", name):
        return "has a name that is a path"
    return ""


def _header(start: io.BytesIO) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, whether the values are in column-major order, and dtype."""
    version = np.lib.format.read_magic(start)
    if version not in READERS:
        raise ValueError(f"version {version} of the format")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy only warns of what Python 2 wrote
        shape, transposed, dtype = READERS[version](start, max_header_size=HEADER)
    return shape, transposed, dtype
