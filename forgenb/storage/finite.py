"""Arrays in files whose values must all be finite.

A NaN that is loaded shows much later, and then everywhere; here it is refused with its place. Imports NumPy and
`forgenb.errors`; what the arrays are for is not known here.
"""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from forgenb.errors import CheckpointError

__all__ = ["ArrayFile", "Layouts", "check_finite", "finite", "first_not_finite"]

Layouts = Mapping[str, tuple[tuple[int, ...], np.dtype]]
PIECE = 1 << 20


class ArrayFile(Protocol):
    """An open file of named arrays; `place` names it, `layouts` has the shape and dtype of each."""

    place: str

    @property
    def layouts(self) -> Layouts:
        """Name -> (shape, dtype)."""
        ...

    def read(self, name: str) -> NDArray:
        """The values of one array, in row-major order."""
        ...


def finite(file: ArrayFile, name: str) -> NDArray:
    """Read one array.

    Raises
    ------
    CheckpointError
        A value is NaN or infinite; the message names the first one's position.
    """
    array = file.read(name)
    position = first_not_finite(array)
    if position is not None:
        raise CheckpointError(
            f"{file.place!r} is not loaded: {name!r} has {array[position]} at position {position}, and only finite "
            "numbers go on; use an earlier file."
        )
    return array


def check_finite(place: str, arrays: Mapping[str, NDArray]) -> None:
    """Refuse to write what `finite` would not read.

    Raises
    ------
    CheckpointError
        A value is NaN or infinite; the message names the array and the first one's position.
    """
    for name, array in arrays.items():
        position = first_not_finite(np.ascontiguousarray(array).reshape(np.shape(array)))
        if position is not None:
            raise CheckpointError(
                f"{place!r} was not written: {name!r} has {array[position]} at position {position}, and only finite "
                "numbers are read again. What was there before is unchanged."
            )


def first_not_finite(array: NDArray) -> tuple[int, ...] | None:
    """Where the first NaN or infinity of a row-major array is, found piece by piece."""
    flat = array.reshape(-1)
    for start in range(0, flat.size if array.dtype.kind == "f" else 0, PIECE):
        good = np.isfinite(flat[start : start + PIECE])
        if not good.all():
            return tuple(int(i) for i in np.unravel_index(start + int(np.argmin(good)), array.shape))
    return None
