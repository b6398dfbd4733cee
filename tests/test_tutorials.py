"""Each chapter runs alone in a process of its own, with names that were said before, and starters that fail kindly."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from forgenb.course import EXERCISES, chapters

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = sorted((ROOT / "tutorials").glob("[0-9]*.py"))


def cells(path):
    """The cells of a chapter in order, each with whether it is prose."""
    for cell in path.read_text(encoding="utf-8").split("# %%")[1:]:
        head, _, body = cell.partition("\n")
        yield "[markdown]" in head, body


def said(prose):
    """The dotted names of forgenb in backticks, of which fences are none."""
    prose = prose.replace("```", "")
    return {name for text in re.findall(r"`([^`]+)`", prose) for name in re.findall(r"\bfnb(?:\.\w+)+", text)}


def used(code):
    """The longest dotted names of forgenb in code."""
    found = set()

    class Names(ast.NodeVisitor):
        def visit_Attribute(self, node):
            text = ast.unparse(node)
            if re.fullmatch(r"fnb(\.\w+)+", text):
                found.add(text)
            else:
                self.generic_visit(node)

    Names().visit(ast.parse(code))
    return found


def test_there_are_chapters_and_each_has_three_exercises():
    assert CHAPTERS
    numbers = {path.name[:2] for path in CHAPTERS}
    assert len(numbers) == len(CHAPTERS)
    assert set(EXERCISES) == {f"{number}-{k}" for number in numbers for k in (1, 2, 3)}


def test_the_entrance_has_a_line_for_each_chapter():
    entrance = (ROOT / "tutorials/index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| \[([^\]]+)\]\((\S+)\) \| \w.* \|$", entrance, re.MULTILINE)
    assert rows == [(str(int(each.number)), each.title, each.name) for each in chapters()]
    assert f"in {len(rows)} chapters" in entrance


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_runs_and_its_starters_fail_with_a_helpful_text(path, tmp_path):
    chapter = path.name[:2]
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "tests/course/chapter.py"), str(path), chapter],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    verdicts = [json.loads(line) for line in done.stdout.rpartition("verdicts:\n")[2].splitlines()]
    assert [number for number, _, _ in verdicts] == [f"{chapter}-{k}" for k in (1, 2, 3)]
    for number, passed, explanation in verdicts:
        assert not passed
        assert f"{EXERCISES[number].function} is still to be written: " in explanation


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_exercises_begin_with_how_they_are_judged(path):
    _, _, exercises = path.read_text(encoding="utf-8").partition("# ## Exercises\n#\n")
    command = f"`forgenb course check {int(path.name[:2])}`"
    assert exercises.startswith(
        f"# Write the functions, then run the file, or {command}: a judge tries them on hidden inputs."
    )


def test_a_name_is_said_in_prose_before_code_uses_it():
    known = set()
    for path in CHAPTERS:
        for prose, body in cells(path):
            if prose:
                known |= said(body)
            else:
                missing = {name for name in used(body) if not any(k == name or k.startswith(name + ".") for k in known)}
                assert not missing, f"{path.name} uses {sorted(missing)} before any prose has them in backticks"


def test_the_scan_sees_names():
    assert used("y = fnb.ops.exp(x).sum()\nfnb.seed(1)") == {"fnb.ops.exp", "fnb.seed"}
    assert said("use `fnb.ops.exp(x)`, not fnb.seed") == {"fnb.ops.exp"}
