"""Text that is shown or written to a file: `Written`, which pictures and pages are.

Imports storage; what the text means is not known here.
"""

from __future__ import annotations

import os

from ..errors import ArgumentError
from ..storage.files import write_whole
from ..storage.opening import StrPath

__all__ = ["Written"]


class Written:
    """A finished text: ``str()`` gives it, and `save` writes it to a file."""

    def __init__(self, text: str):
        self.text = text

    def __str__(self) -> str:
        return self.text

    def save(self, path: StrPath) -> None:
        """Write the text to a file in UTF-8, whole or not at all.

        Raises
        ------
        ArgumentError
            The path is none.
        CheckpointError
            The file cannot be written; what was there before is unchanged.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise ArgumentError(f"a picture or page is written to a file, got {type(path).__name__}: give its path")
        write_whole(path, self.text.encode())
