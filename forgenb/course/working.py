"""A learner's folder: copies of chapters to write in, and which exercises passed.

Imports storage, the chapters and the processes that judge. What a learner wrote is never lost: a chapter that goes back
to its original is kept under a new name.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from ..errors import ArgumentError, CheckpointError
from ..storage.documents import parsed
from ..storage.files import write_whole
from ..storage.opening import StrPath, read_small, reason
from .check import Verdict
from .contents import Chapter
from .notebooks import notebook
from .processes import Limits, examine
from .submission import MOST, MOST_NOTEBOOK, beside, source_of

PROGRESS = "progress.json"


@dataclass(frozen=True)
class Progress:
    """How far a learner is with one chapter.

    Attributes
    ----------
    file : Path or None
        The working copy, where the chapter was opened.
    statuses : dict
        Exercise -> status when it was checked last; empty before.
    current : bool
        Whether the copy is still the one that was checked.
    """

    file: Path | None
    statuses: dict[str, str]
    current: bool


class WorkingFolder:
    """The folder that a learner works in.

    Parameters
    ----------
    path
        It is made when the first chapter is opened.
    """

    def __init__(self, path: StrPath = "forgenb-course"):
        self.path = Path(path)

    def open(self, each: Chapter, as_notebook: bool = False) -> tuple[Path, bool]:
        """The working copy of a chapter, which is made if there is none.

        Returns
        -------
        Path, bool
            The copy, and whether it was there before; such a copy is left as it is.

        Raises
        ------
        ArgumentError
            A notebook is wanted, and what makes it is not installed.
        CheckpointError
            It cannot be written, or something else has its name.
        """
        target = self._target(each, as_notebook)
        if target.exists() and not target.is_file():
            raise CheckpointError(f"{str(target)!r} is in the way, and no file: move it elsewhere.")
        if target.exists():
            return target, True
        content = _original(each, as_notebook)
        self._make()
        write_whole(target, content)
        return target, False

    def reset(self, each: Chapter, as_notebook: bool = False) -> tuple[Path, Path | None]:
        """Put the original in the place of a working copy.

        Returns
        -------
        Path, Path or None
            The copy, and where the old one is kept; None where there was none, or no change in it.
        """
        target = self._target(each, as_notebook)
        content, kept = _original(each, as_notebook), None
        if target.exists():
            old = read_small(target, MOST_NOTEBOOK)
            if old == content:
                return target, None
            kept = next(p for n in count(1) if not os.path.lexists(p := target.with_name(f"old-{n}-{target.name}")))
            write_whole(kept, old)
        self._make()
        write_whole(target, content)
        return target, kept

    def find(self, each: Chapter) -> Path | None:
        """The working copy of a chapter, a Python file or a notebook; None where there is none.

        Raises
        ------
        ArgumentError
            Both are there.
        """
        found = [path for kind in (False, True) if (path := self._target(each, kind)).exists()]
        if len(found) > 1:
            raise ArgumentError(
                f"chapter {each.number} is in {str(self.path)!r} as a Python file and as a notebook, and only one can "
                f"be checked: move {found[0].name} or {found[1].name} elsewhere"
            )
        return found[0] if found else None

    def check(self, each: Chapter, limits: Limits) -> tuple[Verdict, ...]:
        """Judge a working copy, and keep which exercises passed.

        Raises
        ------
        ArgumentError
            The chapter was not opened.
        CheckpointError
            It cannot be read, or the progress cannot be read or written.
        """
        path = self.find(each)
        if path is None:
            raise ArgumentError(
                f"there is no {each.name} in {str(self.path)!r}: forgenb course open {int(each.number)} puts it there"
            )
        self._kept()  # a damaged one is told before anything is judged
        source = source_of(path)
        numbers = [exercise.number for exercise in each.exercises]
        verdicts = examine({**beside(path), each.name: source}, each.name, numbers, limits)
        statuses = {verdict.number: verdict.status for verdict in verdicts}
        kept = self._kept()  # others may have been checked meanwhile
        kept[each.number] = {"content": _hash(source), "statuses": statuses}
        write_whole(self.path / PROGRESS, (json.dumps(kept, indent=1) + "\n").encode())
        return verdicts

    def progress(self) -> Callable[[Chapter], Progress]:
        """Tells of a chapter how far the learner is; the file is read once.

        Raises
        ------
        CheckpointError
            It is damaged.
        """
        kept = self._kept()

        def of(each: Chapter) -> Progress:
            path = self.find(each)
            if path is None or each.number not in kept:
                return Progress(path, {}, path is None)
            found = kept[each.number]
            return Progress(path, dict(found["statuses"]), _is_still(path, found["content"]))

        return of

    def _target(self, each: Chapter, as_notebook: bool) -> Path:
        return self.path / (Path(each.name).with_suffix(".ipynb").name if as_notebook else each.name)

    def _make(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:  # a null character in the name is a ValueError
            raise ArgumentError(f"{str(self.path)!r} cannot be a folder to work in: {reason(error)}") from error

    def _kept(self) -> dict:
        path = self.path / PROGRESS
        if not path.exists():
            return {}
        where = f"{str(path)!r} is damaged, and may be removed, and made again by forgenb course check: it"
        kept = parsed(read_small(path, MOST), where)
        good = all(
            isinstance(row, dict) and isinstance(row.get("content"), str) and _is_statuses(row.get("statuses"))
            for row in kept.values()
        )
        if not good:
            raise CheckpointError(f"{where} is no list of chapters with exercises and a status each.")
        return kept


def _is_statuses(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(status, str) for status in value.values())


def _is_still(path: Path, content: str) -> bool:
    """Whether a copy is what was checked; one that cannot be read now is not."""
    try:
        return _hash(source_of(path)) == content
    except CheckpointError:
        return False


def _original(each: Chapter, as_notebook: bool) -> bytes:
    return notebook(each) if as_notebook else each.path.read_bytes()


def _hash(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()
