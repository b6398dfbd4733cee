"""The tensors of a model's folder by name: one safetensors file, or the shards that an index lists.

Nothing but headers is read until somebody asks for a tensor. Imports `forgenb.storage`; which tensors a model has is
not known here.
"""

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from forgenb.errors import ArgumentError, CheckpointError
from forgenb.storage.documents import MOST, listed, parsed, shown
from forgenb.storage.opening import StrPath, read_small
from forgenb.storage.quantized.reading import QuantizedFile, opened_arrays
from forgenb.storage.tensor_file import NAMES, TensorFile

__all__ = ["BFLOAT16", "INDEX", "WHOLE", "Stored", "named", "opened_folder"]

WHOLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
PICKLE = "pytorch_model.bin"
BFLOAT16 = np.dtype("uint16")
"""What the bytes of bfloat16 are read as, since NumPy has no such dtype; no other dtype of a file is."""

DTYPES = NAMES | {"BF16": BFLOAT16, "U8": np.dtype("uint8")}
"""Those of weights, and of the masks that older files have among them."""

PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\.safetensors")
PREFIX = "transformer."


class Stored(NamedTuple):
    """A tensor in a file, and its name there."""

    file: TensorFile | QuantizedFile
    name: str

    @property
    def layout(self) -> tuple[tuple[int, ...], np.dtype]:
        """Its shape and dtype."""
        return self.file.layouts[self.name]


def named(folder: StrPath, caller: str) -> Path:
    """The folder that is meant.

    Raises
    ------
    ArgumentError
        `folder` is no name of one.
    """
    name = os.fspath(folder) if isinstance(folder, (str, os.PathLike)) else None
    try:
        if isinstance(name, str) and name and b"\0" not in os.fsencode(name):
            return Path(name)
    except UnicodeEncodeError:  # half a character, which no system has in a name
        pass
    raise ArgumentError(f"{caller} needs the name of a folder, got {folder!r}")


@contextmanager
def opened_folder(folder: Path) -> Iterator[dict[str, Stored]]:
    """Open the files of a folder, and give its tensors in their order, without the prefix ``transformer.``.

    Raises
    ------
    CheckpointError
        There is neither file nor index, one of them is damaged, the index and the shards contradict each other, or a
        tensor is there twice.
    """
    with ExitStack() as stack:
        if os.path.lexists(folder / WHOLE):
            shards = {WHOLE: stack.enter_context(opened_arrays(folder / WHOLE, MOST, DTYPES))}
        elif os.path.lexists(folder / INDEX):
            places = _places(folder / INDEX)
            names = sorted(set(places.values()))
            shards = {name: stack.enter_context(opened_arrays(folder / name, MOST, DTYPES)) for name in names}
            _compare(folder / INDEX, places, shards)
        else:
            pickle = f" ({PICKLE} is a pickle, which is never read)" if os.path.lexists(folder / PICKLE) else ""
            raise CheckpointError(
                f"{str(folder)!r} has neither {WHOLE} nor {INDEX}{pickle}: put the file of the model there, which "
                "save_pretrained writes too."
            )
        yield _by_name(folder, shards)


def _places(index: Path) -> dict[str, str]:
    """Tensor -> shard, as an index says; a shard is a file of the same folder and nothing else."""
    about = parsed(read_small(index, MOST), f"{str(index)!r} is damaged: it")
    places = about.get("weight_map")
    if not isinstance(places, dict) or not places:
        raise CheckpointError(f"{str(index)!r} is damaged: its weight_map must be an object and is {shown(places)}.")
    wrong = [shown(shard) for shard in places.values() if not isinstance(shard, str) or not PLAIN.fullmatch(shard)]
    if wrong:
        raise CheckpointError(
            f"{str(index)!r} is not followed: a shard is a safetensors file in the same folder, and it names "
            f"{listed(wrong)}. Use an index that belongs to these files."
        )
    return places


def _compare(index: Path, places: dict[str, str], shards: dict[str, TensorFile | QuantizedFile]) -> None:
    """Refuse an index that lists other tensors than its shards have."""
    wrong = [f"{shown(name)} is not in {shard}" for name, shard in places.items() if name not in shards[shard].layouts]
    for shard, file in shards.items():
        wrong += [
            f"{shown(name)} of {shard} is said to be in {shown(places.get(name, 'no file'))}"
            for name in file.layouts
            if places.get(name) != shard
        ]
    if wrong:
        raise CheckpointError(f"{str(index)!r} does not fit its shards: {listed(wrong)}. Get all of the files again.")


def _by_name(folder: Path, shards: dict[str, TensorFile | QuantizedFile]) -> dict[str, Stored]:
    found: dict[str, Stored] = {}
    for file in shards.values():
        for name in file.layouts:
            plain = name.removeprefix(PREFIX)
            if plain in found:
                raise CheckpointError(
                    f"{str(folder)!r} is not loaded: {shown(plain)} stands there twice, with and without {PREFIX!r} "
                    "before it. Keep one of them."
                )
            found[plain] = Stored(file, name)
    return found
