"""The guide for instructors has an entry for each chapter, commands that exist and an example that runs."""

import re

import pytest
from support.pages import examples, page, shown

from forgenb.cli import build_parser
from forgenb.course import EXERCISES, chapters
from forgenb.course.grading import COLUMNS

GUIDE = page("instructors.md")
FIELDS = ["Goals", "Before", "Time", "Mistakes"]


def entries():
    """Number -> title and text of each entry."""
    parts = re.split(r"^### (\d+)\. (.+)\n", GUIDE.partition("## Chapter by chapter")[2], flags=re.MULTILINE)[1:]
    return {int(number): (title, text) for number, title, text in zip(parts[::3], parts[1::3], parts[2::3])}


def test_each_chapter_has_an_entry():
    found = entries()
    missing = [f"### {int(c.number)}. {c.title}" for c in chapters() if found.get(int(c.number), "")[:1] != (c.title,)]
    assert missing == [], "docs/instructors.md lacks an entry with this heading"
    assert list(found) == sorted(found)


@pytest.mark.parametrize("number", entries())
def test_an_entry_is_complete(number):
    _, text = entries()[number]
    assert re.findall(r"^- \*\*(\w+):\*\* ", text, re.MULTILINE) == FIELDS
    before = re.search(r"\*\*Before:\*\*(.*?)\n-", text, re.DOTALL).group(1)
    assert all(int(earlier) < number for earlier in re.findall(r"\d+", before))
    assert re.search(r"^- \*\*Time:\*\* \d+ \+ \d+ minutes\.$", text, re.MULTILINE)


def test_times_are_said_to_be_estimates():
    assert "Times are estimates" in GUIDE
    assert {number.split("-")[1] for number in EXERCISES} == {"1", "2", "3"}  # "its three exercises"


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = examples(GUIDE)
    exec(code, {})
    assert capsys.readouterr().out.splitlines() == shown(code)
    header, *rows = (tmp_path / "grades.csv").read_text().splitlines()
    assert (header, len(rows)) == (",".join(COLUMNS), 6)


def test_columns_and_statuses_are_those_that_there_are():
    told = re.search(r"with the columns (.*?)\.", GUIDE, re.DOTALL).group(1)
    assert tuple(re.findall(r"`(\w+)`", told)) == COLUMNS
    statuses = re.findall(r"^\| `([\w ]+)` \|", GUIDE, re.MULTILINE)
    assert statuses == ["passed", "failed", "not written", "error", "timeout", "memory"]


def test_the_commands_are_understood():
    commands = re.findall(r"^forgenb (.+)$", GUIDE, re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        build_parser().parse_args(command.split())
