"""The page on the training module is up to date, and every function and test that it names is there."""

import ast
import functools
import pkgutil
from pathlib import Path

import pytest

from forgenb.testing.training_defects import DEFECTS, OWN_DEFECTS
from forgenb.testing.training_page import page
from forgenb.testing.training_rows import ROWS, Entry

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "training.md"
ENTRIES = [*ROWS, *DEFECTS, *OWN_DEFECTS]


@functools.cache
def names_in(path):
    """Names of the tests in a file below tests/; none where there is no such file."""
    file = ROOT / "tests" / path
    if not file.is_file():
        return None
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def absent(entry):
    """What an entry names and is not there."""
    found = []
    for name in entry.ours.split():
        try:
            pkgutil.resolve_name(f"forgenb.{name}")
        except (ImportError, AttributeError):
            found.append(name)
    for node in entry.tests.split():
        path, _, function = node.partition("::")
        known = names_in(path)
        if known is None or (function and function not in known):
            found.append(node)
    return found


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.number)
def test_what_a_row_names_is_there(entry):
    assert absent(entry) == []


def test_every_row_is_there_once():
    assert [e.number for e in ROWS] == [str(n) for n in range(1, 50)]
    assert [e.number for e in DEFECTS] == [f"r{n}" for n in range(1, 17)]
    assert [e.number for e in OWN_DEFECTS] == [f"c{n}" for n in range(1, 15)]
    assert all(e.theirs and e.ours and e.tests for e in ENTRIES)
    assert all(e.differs for e in (*DEFECTS, *OWN_DEFECTS))
    assert not any("|" in text for e in ENTRIES for text in e)


def test_a_row_that_names_nothing_is_noticed():
    wrong = Entry("1", "", "train.nothing tensor", "test_tape.py::test_nothing test_tape.py no/test.py::test_it")
    assert absent(wrong) == ["train.nothing", "test_tape.py::test_nothing", "no/test.py::test_it"]


def test_the_page_is_up_to_date():
    wanted = "python -m forgenb.testing.training_page > docs/training.md"
    assert PAGE.read_text(encoding="utf-8") == page(), wanted
