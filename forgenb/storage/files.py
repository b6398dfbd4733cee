"""Arrays in files: safetensors, written whole or not at all, and never a pickle.

A file is first written under a temporary name in the same folder, flushed to the disk, and then renamed over
the old one, so that a crash at any moment leaves either the old file or the new one.

Imports tensors, dtypes, safetensors and how its files are read; what the arrays mean is not known here.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forgenb.backend import get_backend
from forgenb.dtypes import ORDER
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.storage.opening import StrPath, reason
from forgenb.storage.quantized.reading import opened_arrays
from forgenb.tensor import Tensor, from_array, host_values

__all__ = ["check_own", "is_temporary", "load", "read_arrays", "replacing", "save", "write_arrays", "write_whole"]

Text = Mapping[str, str]
MOST_HEADER = 100_000_000
"""The format's own limit of a header; what a checkpoint may have is less."""
ALIGN = 64
"""Tensors begin at a multiple of it: they are read faster where place and address agree (docs/benchmarks.md)."""


def save(path: StrPath, tensors: Mapping[str, Tensor | ArrayLike], metadata: Text | None = None) -> None:
    """Write named tensors to one safetensors file, whole or not at all.

    Parameters
    ----------
    path
        The file; an old one is replaced once the new one is on the disk.
    tensors
        Tensors or arrays of any shape and of a dtype that forgenb has.
    metadata
        Text that travels with them.

    Raises
    ------
    ArgumentError
        The path is none, or the tensors have no names.
    CheckpointError
        A dtype that forgenb has not, or a file that cannot be written (a full disk, no permission); what was
        there before is left as it was.
    """
    if not isinstance(path, (str, os.PathLike)) or not isinstance(tensors, Mapping):
        raise ArgumentError(
            f"save takes a file and a mapping from names to tensors, in this order, and got {type(path).__name__} and "
            f"{type(tensors).__name__}: fnb.save('model.safetensors', model.state_dict())"
        )
    write_arrays(path, {name: host_values(value) for name, value in tensors.items()}, metadata)


def load(path: StrPath, backend: str | None = None) -> dict[str, Tensor]:
    """Read every tensor of a safetensors file; of a quantised one, what its codes stand for.

    Parameters
    ----------
    path
        The file.
    backend
        Where the tensors go; otherwise what ``use`` or ``FORGENB_BACKEND`` says, else ``"cpu"``.

    Raises
    ------
    CheckpointError
        The file is missing, truncated or no safetensors file, or has a dtype that forgenb has not.
    """
    arrays, _ = read_arrays(path)
    target = get_backend(backend)
    return {name: from_array(array, target) for name, array in arrays.items()}


def write_arrays(
    path: StrPath, arrays: Mapping[str, np.ndarray], metadata: Text | None = None, dtypes: Sequence[np.dtype] = ORDER
) -> None:
    """`save` for host arrays alone, of `dtypes`."""
    from safetensors.numpy import save as encode

    for name, array in arrays.items():
        if array.dtype not in dtypes:
            raise CheckpointError(
                f"{os.fspath(path)!r} was not written: {name!r} has dtype {array.dtype}, which is none of "
                f"{', '.join(dtype.name for dtype in dtypes)}; convert it first."
            )
    whole = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    with replacing(path) as file:
        for part in _aligned(encode(whole, dict(metadata) if metadata else None)):
            file.write(part)


def _aligned(data: bytes) -> tuple[bytes | memoryview, ...]:
    """A safetensors file in parts, with spaces behind its header, as the format allows."""
    length, view = int.from_bytes(data[:8], "little"), memoryview(data)
    spaces = -(8 + length) % ALIGN
    return (length + spaces).to_bytes(8, "little"), view[8 : 8 + length], b" " * spaces, view[8 + length :]


def read_arrays(path: StrPath) -> tuple[dict[str, NDArray], dict[str, str]]:
    """Return the arrays and the metadata of a safetensors file; see `load` for the errors."""
    with opened_arrays(path, MOST_HEADER) as file:
        return {name: file.read(name) for name in file.layouts}, file.metadata


@contextlib.contextmanager
def replacing(path: StrPath) -> Iterator[BinaryIO]:
    """Give a file to write, which takes the place of `path` at the end of the ``with`` block, unless that raises.

    Raises
    ------
    CheckpointError
        The file cannot be written; the old one is untouched and nothing else is left behind.
    """
    target = Path(path)
    try:
        if not target.name or "\0" in str(target):
            raise OSError("it is no name of a file")
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        if target.exists() and not target.is_file():
            raise OSError("it is no regular file")
        try:
            temporary.unlink(missing_ok=True)
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        sync_folder(target.parent)
    except OSError as error:
        raise CheckpointError(
            f"{os.fspath(path)!r} cannot be written: {reason(error)}. What was there before is unchanged; "
            "make room or choose another place."
        ) from error


def write_whole(path: StrPath, data: bytes) -> None:
    """Replace a file by `data`, so that a crash at any moment leaves the old content or the new; see `replacing`."""
    with replacing(path) as file:
        file.write(data)


def sync_folder(folder: Path) -> None:
    """Flush a folder's list of names to the disk, where the system can do that."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_temporaries(folder: Path) -> None:
    """Remove what interrupted calls of `write_whole` left; nobody else may be writing."""
    for entry in folder.iterdir():
        if is_temporary(entry.name):
            with contextlib.suppress(OSError):
                entry.unlink()


def check_own(places: Iterable[Path]) -> None:
    """Refuse links, folders and devices in place of a folder's own files, where there is something at all.

    Raises
    ------
    CheckpointError
        One of `places` cannot be looked at, or is no regular file, so that reading or writing it would reach what is
        not the folder's.
    """
    for place in places:
        try:
            own = not place.is_symlink() and (not os.path.lexists(place) or place.is_file())
        except OSError as error:
            raise CheckpointError(
                f"{str(place)!r} cannot be looked at: {reason(error)}. Choose another place."
            ) from error
        if not own:
            raise CheckpointError(
                f"{str(place)!r} is no regular file of its own: a run reads and writes only files that lie in its "
                "folder. Put the file itself there."
            )


def is_temporary(name: str) -> bool:
    """Whether a file name is one that an interrupted `write_whole` leaves."""
    return name.startswith(".") and name.endswith(".tmp")
