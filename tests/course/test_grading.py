"""A folder of submissions becomes a grade each, and two reports."""

import csv
import json

import pytest

from forgenb.course import Grade, Verdict, grade, write_csv, write_json
from forgenb.errors import ArgumentError, CheckpointError


@pytest.fixture
def examined(monkeypatch):
    """What would be run, and a verdict on it that is made up."""
    calls = []

    def examine(files, name, numbers, limits):
        calls.append((dict(files), name, limits.seconds, limits.memory))
        return tuple(Verdict(number, "passed" if number.endswith("1") else "failed", name) for number in numbers)

    monkeypatch.setattr("forgenb.course.grading.examine", examine)
    return calls


def test_grades_in_order(tmp_path, examined):
    (tmp_path / "aa.py").write_text("x = 1\n")
    (tmp_path / "bb.py").write_text("y = 2\n")
    (tmp_path / "cc").write_text("no Python")
    aa, bb, cc = grade(tmp_path, 1, seconds=7, memory=2)
    assert [(each.learner, each.chapter, each.file, each.passed) for each in (aa, bb, cc)] == [
        ("aa", "01", "aa.py", 1),
        ("bb", "01", "bb.py", 1),
        ("cc", "01", "cc", 0),
    ]
    assert examined[1] == ({"01_slopes.py": b"y = 2\n"}, "01_slopes.py", 7, 2)
    assert len(examined) == 2
    assert [verdict.status for verdict in cc.verdicts] == ["error"] * 3
    assert cc.problem == cc.verdicts[0].explanation == "it is no .py file, no notebook and no folder."


def test_arguments_are_looked_at_before_anything_runs(tmp_path, examined):
    (tmp_path / "aa.py").write_text("x = 1\n")
    with pytest.raises(ArgumentError, match="seconds must be above 0"):
        grade(tmp_path, 1, seconds=-1)
    with pytest.raises(ArgumentError, match="memory must be above 0"):
        grade(tmp_path, 1, memory=0)
    with pytest.raises(ArgumentError, match="there is no chapter 50"):
        grade(tmp_path, 50)
    assert examined == []


GRADES = [
    Grade("aa", "01", "aa.py", (Verdict("01-1", "passed", "good, so"), Verdict("01-2", "failed", 'two\n"lines"'))),
    Grade("=1+1", "", "=1+1", (), "no file"),
    Grade("b\udcff", "01", "b\udcff.py", (Verdict("01-1", "error", "x"),)),
]


def test_reports(tmp_path):
    write_json(tmp_path / "grades.json", GRADES)
    found = json.loads((tmp_path / "grades.json").read_text())["submissions"]
    assert found[0] == {
        "learner": "aa",
        "chapter": "01",
        "file": "aa.py",
        "passed": 1,
        "exercises": [
            {"exercise": "01-1", "status": "passed", "explanation": "good, so"},
            {"exercise": "01-2", "status": "failed", "explanation": 'two\n"lines"'},
        ],
        "problem": "",
    }
    assert (found[1]["problem"], found[1]["exercises"]) == ("no file", [])
    write_csv(tmp_path / "grades.csv", GRADES)
    with open(tmp_path / "grades.csv", newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [
            ["learner", "chapter", "file", "exercise", "status", "explanation"],
            ["aa", "01", "aa.py", "01-1", "passed", "good, so"],
            ["aa", "01", "aa.py", "01-2", "failed", 'two\n"lines"'],
            ["'=1+1", "", "'=1+1", "", "error", "no file"],
            ["b\\udcff", "01", "b\\udcff.py", "01-1", "error", "x"],
        ]


@pytest.mark.parametrize("write", [write_json, write_csv])
def test_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path, write):
    path = tmp_path / "grades"
    path.write_text("old")

    def half():
        yield GRADES[0]
        raise ArgumentError("stopped")

    with pytest.raises(ArgumentError, match="stopped"):
        write(path, half())
    assert path.read_text() == "old"
    with pytest.raises(CheckpointError, match="cannot be written: No such file"):
        write(tmp_path / "none" / "grades", GRADES)
    assert [each.name for each in tmp_path.iterdir()] == ["grades"]
