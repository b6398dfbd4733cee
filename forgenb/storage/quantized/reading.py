"""A safetensors file whose matrices are codes, read as one of the arrays that the codes stand for.

What the metadata claim is compared with the header before anything is read, so shapes that the codes are too few for
cost nothing. Imports `groups`, `tensor_file` and the reader of metadata.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forgenb.errors import CheckpointError
from forgenb.storage.documents import MOST, listed, shown
from forgenb.storage.metadata import Fields, read_metadata
from forgenb.storage.opening import StrPath
from forgenb.storage.quantized.groups import BITS, CODES, ENDS, code_layouts, is_group, pieces
from forgenb.storage.tensor_file import NAMES, Dtypes, InPieces, TensorFile, is_shape, opened_tensors

__all__ = ["FORMAT", "KEY", "QuantizedFile", "is_quantized", "opened_arrays", "parts_of"]

KEY = "forgenb.quantized"
FORMAT = 1
BYTES = {"U8": CODES}
"""The dtype that only files with the metadata `KEY` may have."""


def _are_shapes(value: Any) -> bool:
    return isinstance(value, dict) and all(map(is_shape, value.values()))


FIELDS: Fields = {
    "bits": (str(BITS), lambda x: type(x) is int and x == BITS),
    "group": ("the size of a group", is_group),
    "shapes": ("shapes by name", _are_shapes),
}


def parts_of(name: str) -> tuple[str, str]:
    """What the codes and the ends of an array are called in a file."""
    return f"{name}.codes", f"{name}.ends"


class QuantizedFile(InPieces):
    """What a file of codes stands for; `opened_arrays` makes one.

    Attributes
    ----------
    place : str
        The name of the file.
    group : int
        How many numbers share two ends.
    layouts : dict
        Name -> (shape, dtype) of each array: float32 of those that are quantised, then the others as they are.
    metadata : dict
        The other texts that travel with them.

    Raises
    ------
    CheckpointError
        Its metadata and its tensors contradict each other; the first twenty contradictions are listed.
    """

    def __init__(self, file: TensorFile):
        self._file, self.place = file, file.place
        self.metadata = {key: text for key, text in file.metadata.items() if key != KEY}
        about = read_metadata(file.place, file.metadata[KEY], FORMAT, FIELDS)
        self.group: int = about["group"]
        self._shapes = {name: tuple(shape) for name, shape in about["shapes"].items()}
        self._compare()
        own = {part for name in self._shapes for part in parts_of(name)}
        self.layouts = {name: (shape, ENDS) for name, shape in self._shapes.items()}
        self.layouts |= {name: layout for name, layout in file.layouts.items() if name not in own}

    def read_piece(self, name: str, start: int, piece: NDArray) -> None:
        """See `InPieces`; every piece begins at an even position, and so at a whole byte of codes."""
        if name not in self._shapes:
            self._file.read_piece(name, start, piece)
            return
        codes, ends = parts_of(name)
        group, offset = divmod(start, self.group)
        stop = offset + piece.size
        packed, limits = np.empty(-(-piece.size // 2), CODES), np.empty((-(-stop // self.group), 2), ENDS)
        self._file.read_piece(codes, start // 2, packed)
        self._file.read_piece(ends, 2 * group, limits.reshape(-1))
        for place, values in pieces(packed, limits, self.group, offset, stop):
            piece[place - offset :][: values.size] = values

    def _compare(self) -> None:
        """Refuse codes or ends that are missing, of another size, or of no array."""
        found, wrong = dict(self._file.layouts), []
        for name, shape in self._shapes.items():
            for part, needed in zip(parts_of(name), code_layouts(shape, self.group), strict=True):
                wrong += _difference(part, found.pop(part, None), needed)
        wrong += [f"{shown(name)} is there as it is, and as codes" for name in self._shapes if name in found]
        wrong += [f"{shown(name)} are codes of no array" for name, layout in found.items() if layout[1] == CODES]
        if wrong:
            raise CheckpointError(
                f"The quantised file {self.place!r} does not hold what its metadata say: {listed(wrong)}. Make it "
                "again from the model that it was made of."
            )


def _difference(name: str, found: tuple | None, needed: tuple) -> list[str]:
    if found is None:
        return [f"{shown(name)} is missing"]
    if found != needed:
        return [f"{shown(name)} is {shown(found[0])} of {found[1]}, needed is {shown(needed[0])} of {needed[1]}"]
    return []


@contextmanager
def opened_arrays(path: StrPath, most: int = MOST, names: Dtypes = NAMES) -> Iterator[TensorFile | QuantizedFile]:
    """Open a safetensors file, and read its arrays as what they stand for where it is a quantised one.

    Parameters
    ----------
    path, most, names
        See `opened_tensors`.

    Raises
    ------
    CheckpointError
        See `opened_tensors` and `QuantizedFile`.
    """
    with opened_tensors(path, most, names, {KEY: BYTES}) as file:
        yield QuantizedFile(file) if KEY in file.metadata else file


def is_quantized(path: StrPath) -> bool:
    """Whether a file is a quantised one, of which nothing but the header is read.

    Raises
    ------
    CheckpointError
        See `opened_arrays`.
    """
    with opened_arrays(path) as file:
        return isinstance(file, QuantizedFile)
