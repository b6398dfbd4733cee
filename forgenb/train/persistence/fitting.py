"""Whether a file of arrays holds what is needed: layouts first, which cost nothing, and then the values.

No model is made here, so sizes that nobody could allocate are compared like any others. Imports the sizes of a GPT and
of an optimiser; opening and closing files is for others.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from forgenb.dtypes import FLOAT32
from forgenb.errors import CheckpointError
from forgenb.nn.module import misfits
from forgenb.optim import AdamW
from forgenb.optim.optimizer import state_layouts
from forgenb.train.characters.build import gpt_config
from forgenb.train.characters.config import TrainConfig
from forgenb.train.persistence.state import OPTIMIZER, both, under

__all__ = ["ArrayFile", "Layouts", "check_finite", "check_layouts", "finite", "first_not_finite", "needed_layouts"]

Layouts = Mapping[str, tuple[tuple[int, ...], np.dtype]]
PIECE = 1 << 20
MOST_NAMED = 20


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


def needed_layouts(config: TrainConfig, vocabulary: int, stored: Layouts) -> Layouts:
    """What a checkpoint of a run holds, by the names that `save_checkpoint` gives: the model, and AdamW or nothing.

    Of a model with more parameters than `stored` has arrays, one more than that are listed, since these are enough to
    see that it does not fit.
    """
    shapes = islice(gpt_config(config, vocabulary).shapes(), len(stored) + 1)
    model = {name: (shape, FLOAT32) for name, shape in shapes}
    kept = under(OPTIMIZER, stored)
    return both(model, state_layouts(model, AdamW.slots, kept) if kept else {})


def check_layouts(place: str, needed: Layouts, stored: Layouts) -> None:
    """Compare what a checkpoint holds with what it needs.

    Raises
    ------
    CheckpointError
        Names, shapes or dtypes differ; the message has the first twenty differences.
    """
    names, shapes = misfits(needed, stored)
    wrong = names + shapes
    if wrong:
        more = f" and {len(wrong) - MOST_NAMED} more" if len(wrong) > MOST_NAMED else ""
        raise CheckpointError(
            f"The checkpoint {place!r} does not fit the model that it describes: {'; '.join(wrong[:MOST_NAMED])}{more}."
        )
