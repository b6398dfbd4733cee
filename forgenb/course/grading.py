"""Grade a folder of submissions: `grade`, and the reports that an instructor keeps.

Imports submissions and the processes that judge them.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..storage.files import write_whole
from ..storage.opening import StrPath
from .check import Verdict
from .processes import Limits, examine
from .submission import Submission, submissions

COLUMNS = ("learner", "chapter", "file", "exercise", "status", "explanation")
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the start of a formula."""


@dataclass(frozen=True)
class Grade:
    """What one submission is worth.

    Attributes
    ----------
    learner : str
        Whose it is.
    chapter : str
        Its number; empty where the submission does not show it.
    file : str
        Where it lies in the folder.
    verdicts : tuple of Verdict
        One an exercise.
    problem : str
        Why nothing could be judged; empty where it could.
    """

    learner: str
    chapter: str
    file: str
    verdicts: tuple[Verdict, ...]
    problem: str = ""

    @property
    def passed(self) -> int:
        """How many exercises are right."""
        return sum(verdict.passed for verdict in self.verdicts)


def grade(
    folder: StrPath,
    chapter: str | int | None = None,
    seconds: float = Limits.seconds,
    memory: float = Limits.memory,
) -> Iterator[Grade]:
    """Judge all submissions in a folder, each in a process of its own.

    Parameters
    ----------
    folder
        A file ``7.py`` is what the learner 7 has written for `chapter`; a subfolder ``7`` has files whose names
        begin with a chapter's number, such as ``03_arrays.py``. Notebooks are taken as well. Names that begin with a
        dot or an underscore are passed over.
    chapter
        Only this one; files that lie directly in `folder` need it.
    seconds
        For a file to run, and again for each of its exercises.
    memory
        GiB of address space for one process, where the system can bound it.

    Yields
    ------
    Grade
        By learner and chapter. A file that cannot be read or run is a grade too.

    Raises
    ------
    ArgumentError
        There is no such folder or chapter, nothing to grade, or a limit that is none.
    """
    found, limits = submissions(folder, chapter), Limits(seconds, memory)
    return (_graded(each, limits) for each in found)


def _graded(each: Submission, limits: Limits) -> Grade:
    number, file = each.chapter.number if each.chapter else "", each.path.as_posix()
    asked = [exercise.number for exercise in each.chapter.exercises] if each.chapter else []
    if each.problem or each.chapter is None:
        verdicts = tuple(Verdict(exercise, "error", each.problem) for exercise in asked)
        return Grade(each.learner, number, file, verdicts, each.problem)
    return Grade(each.learner, number, file, examine(each.files, each.chapter.name, asked, limits))


def write_json(path: StrPath, grades: Iterable[Grade]) -> None:
    """Write grades as one JSON object, whole or not at all.

    Raises
    ------
    CheckpointError
        The file cannot be written.
    """
    write_whole(path, (json.dumps({"submissions": [_row(each) for each in grades]}, indent=1) + "\n").encode())


def _row(each: Grade) -> dict[str, object]:
    exercises = [verdict.row for verdict in each.verdicts]
    row = {"learner": each.learner, "chapter": each.chapter, "file": each.file, "passed": each.passed}
    return row | {"exercises": exercises, "problem": each.problem}


def write_csv(path: StrPath, grades: Iterable[Grade]) -> None:
    """Write grades as a table with a line an exercise, whole or not at all.

    A field that a spreadsheet would take for a formula gets an apostrophe in front.

    Raises
    ------
    CheckpointError
        The file cannot be written.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for each in grades:
        for verdict in each.verdicts or (Verdict("", "error", each.problem),):
            fields = (each.learner, each.chapter, each.file, verdict.number, verdict.status, verdict.explanation)
            rows.writerow([f"'{value}" if value.startswith(FORMULA) else value for value in fields])
    write_whole(path, text.getvalue().encode("utf-8", "backslashreplace"))
