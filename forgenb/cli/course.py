"""``forgenb course``: chapters to work in, exercises to be judged, submissions to be graded.

Imports `forgenb.course` when it runs; what is judged and kept is decided there.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

from forgenb.cli.common import Commands, Parser, check_file, say, say_json, termination_interrupts

if TYPE_CHECKING:
    from forgenb.course import Chapter, Grade, Progress, Verdict

__all__ = ["add_to"]

FOLDER = "forgenb-course"
SECONDS, MEMORY = 120.0, 4.0


def add_to(commands: Commands) -> None:
    """Add the command and its own commands."""
    parser = commands.add_parser(
        "course",
        help="work through the course, and grade others who do",
        description="List the chapters, copy them into a folder to work in, judge the answers to their exercises, and "
        "grade a folder of submissions.",
    )
    parser.set_defaults(run=_list, folder=FOLDER, json=False)
    parts = parser.add_subparsers(dest="part", metavar="PART")

    def part(name: str, run: Callable[[Namespace], int], help: str, description: str = "") -> Parser:
        made = parts.add_parser(name, help=help, description=description or f"{help[0].upper()}{help[1:]}.")
        made.set_defaults(run=run)
        return made

    def folder(made: Parser) -> None:
        made.add_argument("--folder", default=FOLDER, metavar="DIR", help=f"where to work (default {FOLDER})")

    def number(made: Parser, **keywords: str) -> None:
        made.add_argument("number", metavar="NUMBER", help="of the chapter", **keywords)  # type: ignore[arg-type]

    def limits(made: Parser) -> None:
        text = f"for a file to run, and again for each of its exercises (default {SECONDS:g})"
        made.add_argument("--seconds", type=float, default=SECONDS, metavar="S", help=text)
        text = f"the most address space of a process (default {MEMORY:g})"
        made.add_argument("--memory", type=float, default=MEMORY, metavar="GIB", help=text)

    made = part("list", _list, "list the chapters and how far you are")
    folder(made)
    made.add_argument("--json", action="store_true", help="print one JSON object a chapter")
    made = part("open", _open, "copy a chapter into your folder, unless it is there, and say where it is")
    number(made)
    folder(made)
    made.add_argument("--notebook", action="store_true", help="as a notebook")
    made = part("reset", _reset, "put the original of a chapter back; your file is kept under a new name")
    number(made)
    folder(made)
    made.add_argument("--notebook", action="store_true", help="the notebook")
    text = "What a function prints while it is judged stands below its verdict. To see what the file prints, or to "
    text += "stop in it, run the file itself. The exit code is 1 if an exercise is not passed yet."
    made = part("check", _check, "judge your answers", f"Run your file, and judge its functions. {text}")
    number(made, nargs="?")
    folder(made)
    limits(made)
    made.add_argument("--json", action="store_true", help="print one JSON object an exercise")
    made = part(
        "grade",
        _grade,
        "judge a folder of submissions",
        "Judge what learners have handed in. FOLDER has a subfolder for each, with files whose names begin with the "
        "chapter's number; or a file for each, all of one --chapter. Each is run in a process of its own, which is no "
        "sandbox: grade the files of people whom you do not trust on a machine that you can lose.",
    )
    made.add_argument("submissions", metavar="FOLDER", help="what was handed in; it is only read")
    made.add_argument("--chapter", metavar="NUMBER", help="only this chapter")
    made.add_argument("--json", metavar="FILE", help="write the grades as JSON")
    made.add_argument("--csv", metavar="FILE", help="write the grades as a table")
    limits(made)
    made = part("notebooks", _notebooks, "write chapters as notebooks")
    number(made, nargs="?")
    made.add_argument("--out", required=True, metavar="DIR", help="a folder; files of these names are replaced")


def _list(arguments: Namespace) -> int:
    from forgenb.course import WorkingFolder, chapters

    progress = WorkingFolder(arguments.folder).progress()
    found = [(each, progress(each)) for each in chapters()]
    width = max(len(each.title) for each, _ in found)
    for each, reached in found:
        if arguments.json:
            file = str(reached.file) if reached.file else None
            row = {"chapter": each.number, "title": each.title, "file": file, "current": reached.current}
            say_json(row | {"exercises": reached.statuses})
        else:
            say(f"{each.number}  {each.title:{width}}  {_reached(each, reached)}".rstrip())
    return 0


def _reached(each: Chapter, reached: Progress) -> str:
    if not reached.statuses:
        return "" if reached.file is None else "opened"
    passed = [number for number, status in reached.statuses.items() if status == "passed"]
    named = f": {', '.join(passed)}" if 0 < len(passed) < len(each.exercises) else ""
    text = f"{len(passed)} of {len(each.exercises)} passed{named}"
    return text if reached.current else f"{text}, changed since"


def _open(arguments: Namespace) -> int:
    from forgenb.course import WorkingFolder, chapter
    from forgenb.errors import ArgumentError

    folder, each = WorkingFolder(arguments.folder), chapter(arguments.number)
    path, was_there = folder.open(each, arguments.notebook)
    say(f"{path} (as you left it)" if was_there else str(path))
    try:
        folder.find(each)
    except ArgumentError as both:
        print(f"forgenb course open: {both}", file=sys.stderr)
    return 0


def _reset(arguments: Namespace) -> int:
    from forgenb.course import WorkingFolder, chapter

    path, kept = WorkingFolder(arguments.folder).reset(chapter(arguments.number), arguments.notebook)
    say(f"{path} is as at the beginning." + (f" What you had is in {kept}" if kept else ""))
    return 0


def _check(arguments: Namespace) -> int:
    from forgenb.course import Limits, WorkingFolder, chapter, chapters
    from forgenb.errors import ArgumentError

    folder, limits = WorkingFolder(arguments.folder), Limits(arguments.seconds, arguments.memory)
    wanted = arguments.number
    asked = [each for each in chapters() if folder.find(each)] if wanted is None else [chapter(wanted)]
    if not asked:
        raise ArgumentError(f"no chapter is in {arguments.folder!r}: forgenb course open 0 puts the first one there")
    good = True
    with termination_interrupts():
        for each in asked:
            verdicts = folder.check(each, limits)
            _say_verdicts(verdicts, arguments.json)
            good = good and all(verdict.passed for verdict in verdicts)
    return 0 if good else 1


def _say_verdicts(verdicts: Iterable[Verdict], as_json: bool) -> None:
    """A line each, and one for those that have the same reason, such as an error of the file."""
    if as_json:
        for each in verdicts:
            say_json(each.row | {"printed": each.printed})
        return
    for _, group in groupby(verdicts, key=lambda each: (each.status, each.explanation)):
        same = list(group)
        say(str(replace(same[0], number=", ".join(each.number for each in same))))
        for each in same:
            if each.printed:
                say(indent(f"{each.number} printed:\n{indent(each.printed.rstrip(), '  ')}", "  "))


def _grade(arguments: Namespace) -> int:
    from forgenb.course import grade, write_csv, write_json
    from forgenb.errors import ArgumentError
    from forgenb.interop.display import escaped

    check_file("--json", arguments.json)
    check_file("--csv", arguments.csv)
    if arguments.json and arguments.csv and os.path.realpath(arguments.json) == os.path.realpath(arguments.csv):
        raise ArgumentError(f"--json and --csv are both {arguments.csv!r}: give each a file of its own")
    grades = []
    with termination_interrupts():
        for each in grade(arguments.submissions, arguments.chapter, arguments.seconds, arguments.memory):
            grades.append(each)
            say(escaped(_line(each)))
    if arguments.json:
        write_json(arguments.json, grades)
    if arguments.csv:
        write_csv(arguments.csv, grades)
    return 0


def _line(each: Grade) -> str:
    if each.problem:
        return f"{each.file}: {each.problem}"
    return f"{each.file}: {', '.join(f'{v.number} {v.status}' for v in each.verdicts)}"


def _notebooks(arguments: Namespace) -> int:
    from forgenb.course import chapter, chapters, notebook
    from forgenb.storage.files import write_whole

    asked: Iterable[Chapter] = chapters() if arguments.number is None else [chapter(arguments.number)]
    made = [(Path(arguments.out, each.path.stem + ".ipynb"), notebook(each)) for each in asked]
    Path(arguments.out).mkdir(parents=True, exist_ok=True)
    for path, content in made:
        write_whole(path, content)
        say(str(path))
    return 0
