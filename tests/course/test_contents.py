"""Chapters are found and named."""

from pathlib import Path

import pytest

from forgenb.course import chapter, chapters
from forgenb.errors import ArgumentError

ROOT = Path(__file__).resolve().parents[2]


def test_all_chapters_in_order():
    assert [each.path for each in chapters()] == sorted((ROOT / "tutorials").glob("[0-9]*.py"))
    for each in chapters():
        first = each.path.read_text(encoding="utf-8").splitlines()[1]
        assert first == f"# # {int(each.number)}. {each.title}"
        assert [exercise.number for exercise in each.exercises] == [f"{each.number}-{k}" for k in (1, 2, 3)]


def test_a_chapter_by_its_number():
    assert chapter(3) == chapter("3") == chapter("03")
    assert (chapter(3).name, chapter(3).title) == ("03_arrays.py", "From scalars to arrays")
    for number in ("77", "../03", "x", "003", ""):
        with pytest.raises(ArgumentError, match=f"there is no chapter {number!r}: there are 00, 01, 02, 03, "):
            chapter(number)


def test_a_heading_may_be_missing(tmp_path):
    path = tmp_path / "05_mine.py"
    path.write_text("x = 1\n")
    assert type(chapter(3))(path).title == "05_mine"


def test_an_installation_without_chapters(tmp_path, monkeypatch):
    monkeypatch.setattr("forgenb.course.contents.INSTALLED", tmp_path / "none")
    monkeypatch.setattr("forgenb.course.contents.CHECKOUT", tmp_path)
    with pytest.raises(ArgumentError, match="this forgenb has no chapters in '.*': install it from"):
        chapters()
