"""The folder of a training as a place for files: what they are called, and how it is made.

Imports `files` and `opening`; what the files hold is not known here.
"""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from forgenb.errors import ArgumentError
from forgenb.storage.files import is_temporary, sync_folder
from forgenb.storage.opening import reason

__all__ = ["Places", "make_folder", "remove_folders"]


class Places:
    """Base of what has a folder `path`: the names of the files that every training keeps in it."""

    path: Path

    @property
    def last(self) -> Path:
        """The checkpoint that training resumes from."""
        return self.path / "last.safetensors"

    @property
    def best(self) -> Path:
        """The model of the lowest validation loss, without an optimiser."""
        return self.path / "best.safetensors"

    @property
    def metrics(self) -> Path:
        """The curve, one JSON object a line."""
        return self.path / "metrics.jsonl"


def make_folder(path: Path) -> tuple[tuple[Path, ...], list[str]]:
    """Make a folder where there is none.

    Returns
    -------
    tuple
        The folders that had to be made, the innermost first, and the names in it, but for what a killed process left.

    Raises
    ------
    ArgumentError
        It cannot be made; nothing is left behind.
    """
    missing = tuple(folder for folder in (path, *path.parents) if not os.path.exists(folder))
    try:
        path.mkdir(parents=True, exist_ok=True)
        held = sorted(entry.name for entry in path.iterdir() if not is_temporary(entry.name))
        for folder in missing:
            sync_folder(folder.parent)
    except OSError as error:
        remove_folders(missing)
        raise ArgumentError(f"The folder {str(path)!r} cannot be made: {reason(error)}. Choose another.") from error
    return missing, held


def remove_folders(folders: Iterable[Path]) -> None:
    """Remove those that are empty."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
