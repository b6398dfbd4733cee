"""``forgenb course``."""

import csv
import json
import os
import sys
from pathlib import Path

import pytest

from forgenb.course import Limits, Verdict, WorkingFolder, chapters, notebook

RIGHT = "def curvature(f, x, h):\n    return (f(x + h) - 2 * f(x) + f(x - h)) / h**2\n"


@pytest.fixture
def examined(monkeypatch):
    """The limits that files would be judged with; the first exercise passes."""
    calls = []

    def examine(files, name, numbers, limits):
        calls.append((name, limits.seconds, limits.memory))
        return tuple(Verdict(n, "passed" if n.endswith("1") else "not written", f"about {n}") for n in numbers)

    monkeypatch.setattr("forgenb.course.working.examine", examine)
    monkeypatch.setattr("forgenb.course.grading.examine", examine)
    return calls


def line(done, number):
    return next(line for line in done.out.splitlines() if line.startswith(number))


@pytest.mark.parametrize("words", [["course"], ["course", "list"]])
def test_all_chapters_are_listed(forgenb, words):
    done = forgenb(*words)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [f"{each.number}  {each.title}" for each in chapters()]
    assert not Path("forgenb-course").exists()


def test_a_chapter_is_opened_checked_and_put_back(forgenb, examined):
    done = forgenb("course", "open", 3)
    path = WorkingFolder().path / "03_arrays.py"
    assert (done.code, done.out) == (0, f"{path}\n")
    assert forgenb("course", "open", 3).out == f"{path} (as you left it)\n"
    assert line(forgenb("course"), "03").endswith("  opened")
    done = forgenb("course", "check", 3)
    assert done.code == 1
    assert done.out.splitlines() == [
        "03-1 passed: about 03-1",
        "03-2 not yet: about 03-2",
        "03-3 not yet: about 03-3",
    ]
    assert examined == [("03_arrays.py", Limits.seconds, Limits.memory)]
    assert line(forgenb("course"), "03").endswith("  1 of 3 passed: 03-1")
    path.write_text("mine")
    assert line(forgenb("course"), "03").endswith("  1 of 3 passed: 03-1, changed since")
    done = forgenb("course", "reset", 3)
    assert done.out == f"{path} is as at the beginning. What you had is in {path.parent / 'old-1-03_arrays.py'}\n"
    assert Path("forgenb-course/old-1-03_arrays.py").read_text() == "mine"
    assert forgenb("course", "reset", 3).out == f"{path} is as at the beginning.\n"
    path.unlink()
    assert line(forgenb("course"), "03") == "03  From scalars to arrays"


def test_all_that_is_there_is_checked(forgenb, refused, examined):
    assert "no chapter is in 'w': forgenb course open 0 puts the first one there" in refused(
        "course", "check", "--folder", "w"
    )
    for number in (1, 3):
        forgenb("course", "open", number, "--folder", "w")
    done = forgenb("course", "check", "--folder", "w", "--json", "--seconds", 7, "--memory", 2)
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["exercise"] for row in rows] == ["01-1", "01-2", "01-3", "03-1", "03-2", "03-3"]
    assert rows[1] == {"exercise": "01-2", "status": "not written", "explanation": "about 01-2", "printed": ""}
    assert examined == [("01_slopes.py", 7, 2), ("03_arrays.py", 7, 2)]
    listed = forgenb("course", "list", "--folder", "w", "--json").out
    found = {row["chapter"]: row for row in map(json.loads, listed.splitlines())}
    statuses = {"03-1": "passed", "03-2": "not written", "03-3": "not written"}
    assert found["03"] == {
        "chapter": "03",
        "title": "From scalars to arrays",
        "file": str(Path("w/03_arrays.py")),
        "current": True,
        "exercises": statuses,
    }
    assert (found["00"]["file"], found["00"]["exercises"]) == (None, {})


def test_one_reason_is_told_once_and_prints_are_shown(forgenb, monkeypatch):
    def examine(files, name, numbers, limits):
        first, *others = numbers
        return (Verdict(first, "failed", "it is.", "a\nb\n"), *(Verdict(n, "error", "the file.") for n in others))

    monkeypatch.setattr("forgenb.course.working.examine", examine)
    forgenb("course", "open", 1)
    shown = ["01-1 not yet: it is.", "  01-1 printed:", "    a", "    b", "01-2, 01-3 not yet: the file."]
    assert forgenb("course", "check", 1).out.splitlines() == shown


def test_all_passed_is_code_0(forgenb, monkeypatch):
    def examine(files, name, numbers, limits):
        return tuple(Verdict(number, "passed", "") for number in numbers)

    monkeypatch.setattr("forgenb.course.working.examine", examine)
    forgenb("course", "open", 1)
    assert forgenb("course", "check").code == 0
    assert line(forgenb("course"), "01").endswith("  3 of 3 passed")


def test_submissions_are_graded(forgenb):
    """With real processes: one file that is right in part, and one that is none."""
    Path("in").mkdir()
    Path("in/7.py").write_text(RIGHT)
    Path("in/8.py").mkdir()
    done = forgenb("course", "grade", "in", "--chapter", 1, "--json", "g.json", "--csv", "g.csv")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "7.py: 01-1 passed, 01-2 not written, 01-3 not written",
        "8.py: there is no file of chapter 01 in it.",
    ]
    rows = json.loads(Path("g.json").read_text())["submissions"]
    assert [(row["learner"], row["passed"]) for row in rows] == [("7", 1), ("8.py", 0)]
    with open("g.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["status"] for row in table] == ["passed", "not written", "not written", "error", "error", "error"]


def test_names_of_files_move_no_cursor(forgenb, examined):
    path = Path("in", "7\n8\x1b[2J")
    path.mkdir(parents=True)
    (path / "01.py").write_text("")
    done = forgenb("course", "grade", "in")
    assert done.out == "7\\n8\\x1b[2J/01.py: 01-1 passed, 01-2 not written, 01-3 not written\n"


def test_limits_of_grading(forgenb, examined):
    Path("in").mkdir()
    Path("in/7.py").write_text("")
    assert forgenb("course", "grade", "in", "--chapter", 1, "--seconds", 3, "--memory", 1.5).code == 0
    assert examined == [("01_slopes.py", 3, 1.5)]


def test_a_notebook_is_opened(forgenb):
    pytest.importorskip("jupytext", reason="notebooks need pip install forgenb[docs]")
    path = Path("forgenb-course/01_slopes.ipynb")
    assert forgenb("course", "open", 1, "--notebook").out == f"{path}\n"
    assert path.read_bytes() == notebook(chapters()[1])
    path.write_text("{}")
    kept = path.with_name("old-1-01_slopes.ipynb")
    assert forgenb("course", "reset", 1, "--notebook").out.endswith(f"What you had is in {kept}\n")
    done = forgenb("course", "open", 1)
    assert (done.code, done.out) == (0, f"{path.with_suffix('.py')}\n")
    assert "forgenb course open: chapter 01 is in 'forgenb-course' as a Python file and as a notebook" in done.err


def test_notebooks_are_written(forgenb, monkeypatch):
    pytest.importorskip("jupytext", reason="notebooks need pip install forgenb[docs]")
    assert forgenb("course", "notebooks", 3, "--out", "one/deep").out == f"{Path('one/deep/03_arrays.ipynb')}\n"
    assert Path("one/deep/03_arrays.ipynb").read_bytes() == notebook(chapters()[3])
    first = chapters()[:2]
    monkeypatch.setattr("forgenb.course.chapters", lambda: first)
    assert forgenb("course", "notebooks", "--out", "all").code == 0
    assert sorted(path.name for path in Path("all").iterdir()) == ["00_ten_minutes.ipynb", "01_slopes.ipynb"]


def test_refusals(refused, monkeypatch):
    Path("in").mkdir()
    Path("in/7.py").write_text("")
    assert "there is no chapter '50': there are 00, 01" in refused("course", "open", 50)
    assert "there is no 01_slopes.py in 'forgenb-course': forgenb course open 1 puts" in refused("course", "check", 1)
    assert "'7.py' does not say which chapter it answers" in refused("course", "grade", "in")
    assert "there is no folder 'out' to grade" in refused("course", "grade", "out")
    assert "--json 'no/g.json' is not a file in a folder that is there" in refused(
        "course", "grade", "in", "--json", "no/g.json"
    )
    assert "--csv '.' is not a file" in refused("course", "grade", "in", "--csv", ".")
    assert "--json and --csv are both './in/g': give each a file of its own" in refused(
        "course", "grade", "in", "--json", "in/g", "--csv", "./in/g"
    )
    monkeypatch.setattr("os.access", lambda path, mode: (path, mode) != ("in", os.W_OK))
    assert "--csv 'in/g' is in a folder that cannot be written to" in refused("course", "grade", "in", "--csv", "in/g")
    for words in (("open", ""), ("check", ""), ("notebooks", "", "--out", "nb")):
        assert "there is no chapter ''" in refused("course", *words)
    assert "seconds must be above 0" in refused("course", "grade", "in", "--chapter", 1, "--seconds", 0)
    assert "invalid choice: 'opne'" in refused("course", "opne")
    assert "the following arguments are required: --out" in refused("course", "notebooks")
    monkeypatch.setitem(sys.modules, "jupytext", None)
    assert "pip install 'forgenb[docs]'" in refused("course", "notebooks", "--out", "nb")
    assert not Path("nb").exists()
