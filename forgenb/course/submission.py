"""What learners hand in: chapter files and notebooks, found in a folder and read with care.

Imports storage and the chapters. Nothing here runs any of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import ArgumentError, CheckpointError
from ..storage.documents import parsed
from ..storage.opening import StrPath, read_small, reason
from .contents import Chapter, chapter, chapters

MOST = 1 << 20
"""Bytes of a Python file."""
MOST_NOTEBOOK = 1 << 24
"""Bytes of a notebook, which may hold pictures."""
MAGIC = re.compile(r"^(?=\s*[%!])", re.MULTILINE)


@dataclass(frozen=True)
class Submission:
    """One file of one learner.

    Attributes
    ----------
    learner : str
        The name of the file in the folder, or of the subfolder.
    chapter : Chapter or None
        What it answers; None where that cannot be told.
    path : Path
        The file, from the folder on.
    files : mapping
        Name -> content of what it finds where it runs; itself as the chapter's name.
    problem : str
        Why it cannot be run, if it cannot.
    """

    learner: str
    chapter: Chapter | None
    path: Path
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    problem: str = ""


def source_of(path: Path) -> bytes:
    """The Python code of a file, or of a notebook's code cells; magic lines of a notebook become comments.

    Raises
    ------
    CheckpointError
        It is a link, cannot be read, is larger than what is read, or is no notebook.
    """
    if path.is_symlink():
        raise CheckpointError(f"{str(path)!r} is a link, which is not followed: put the file itself there.")
    if path.suffix != ".ipynb":
        return read_small(path, MOST)
    where = f"{str(path)!r} is no notebook: it"
    cells = parsed(read_small(path, MOST_NOTEBOOK), where, MOST_NOTEBOOK).get("cells")
    try:
        code = ["".join(cell["source"]) for cell in cells or () if cell["cell_type"] == "code"]
    except (TypeError, KeyError) as error:
        raise CheckpointError(f"{where} has cells without a kind or without lines of text.") from error
    return "\n\n".join(MAGIC.sub("# ", text) for text in code).encode("utf-8", "backslashreplace") + b"\n"


def beside(path: Path) -> dict[str, bytes]:
    """Name -> content of the Python files in the folder of a file; those that cannot be read are left out."""
    found = {}
    for other in sorted(path.parent.glob("*.py")):
        try:
            found[other.name] = source_of(other)
        except CheckpointError:
            continue
    return found


def submissions(folder: StrPath, number: str | int | None = None) -> tuple[Submission, ...]:
    """What lies in a folder, by learner and chapter.

    Parameters
    ----------
    folder
        A file ``7.py`` or ``7.ipynb`` is what the learner 7 has written for chapter `number`. In a subfolder
        ``7`` files whose names begin with a chapter's number are, such as ``03_arrays.py``. Names that begin with a
        dot or an underscore are passed over.
    number
        Only this chapter.

    Raises
    ------
    ArgumentError
        There is no such folder, nothing in it, or a file without a chapter to go with.
    """
    top = Path(folder)
    if not top.is_dir():
        raise ArgumentError(f"there is no folder {str(folder)!r} to grade: give the one that holds the submissions")
    asked = None if number is None else chapter(number)
    entries = sorted(entry for entry in top.iterdir() if entry.name[0] not in "._")
    if not entries:
        raise ArgumentError(f"nothing lies in {str(folder)!r}: put a file or a subfolder there for each learner")
    single = next((entry for entry in entries if _is_answer(entry) and not entry.is_dir()), None)
    if asked is None and single is not None:
        raise ArgumentError(
            f"{single.name!r} does not say which chapter it answers: give --chapter, or a subfolder for each learner "
            "with files named as chapters are, such as 03_arrays.py"
        )
    found = [each for entry in entries for each in _of(entry, asked)]
    return tuple(found)


def _of(entry: Path, asked: Chapter | None) -> Iterator[Submission]:
    if entry.is_dir() and not entry.is_symlink():
        yield from _of_folder(entry, asked)
    elif _is_answer(entry) and asked is not None:
        yield _read(entry.stem, asked, entry, Path(entry.name), {})
    else:
        yield Submission(entry.name, asked, Path(entry.name), problem="it is no .py file, no notebook and no folder.")


def _of_folder(folder: Path, asked: Chapter | None) -> Iterator[Submission]:
    try:
        answers = sorted(entry for entry in folder.iterdir() if _is_answer(entry))
    except OSError as error:
        yield Submission(folder.name, asked, Path(folder.name), problem=f"it cannot be read: {reason(error)}.")
        return
    count = 0
    for each in (asked,) if asked else chapters():
        own = [entry for entry in answers if re.match(rf"{each.number}(?!\d)", entry.name)]
        count += len(own)
        if len(own) > 1:
            names = ", ".join(entry.name for entry in own)
            problem = f"more than one file is of chapter {each.number}: {names}."
            yield Submission(folder.name, each, Path(folder.name), problem=problem)
        elif own:
            path = Path(folder.name, own[0].name)
            yield _read(folder.name, each, own[0], path, beside(own[0]))
    if not count:
        what = f"of chapter {asked.number}" if asked else "whose name begins with a chapter's number"
        yield Submission(folder.name, asked, Path(folder.name), problem=f"there is no file {what} in it.")


def _read(learner: str, each: Chapter, place: Path, path: Path, others: dict[str, bytes]) -> Submission:
    try:
        return Submission(learner, each, path, {**others, each.name: source_of(place)})
    except CheckpointError as error:
        return Submission(learner, each, path, problem=str(error).replace(repr(str(place)), repr(path.as_posix())))


def _is_answer(entry: Path) -> bool:
    return entry.suffix in (".py", ".ipynb")
