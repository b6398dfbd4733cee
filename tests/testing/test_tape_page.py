"""The page beside forge-ml is up to date, and every function and test that it names is there."""

from pathlib import Path

import pytest
from support.named import absent

from forgenb.testing.tape_checks import CHECKS
from forgenb.testing.tape_defects import DEFECTS, REPAIRED
from forgenb.testing.tape_page import FEATURES, page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tape.md"
ROWS = [row for rows in FEATURES.values() for row in rows]
ENTRIES = [*ROWS, *CHECKS, *DEFECTS, *REPAIRED]
NOT_HERE = ["59"]
"""What runs in a browser."""


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.number)
def test_what_a_row_names_is_there(entry):
    assert absent(entry) == []


def test_every_row_is_there_once():
    assert [e.number for e in ROWS] == [str(n) for n in range(1, 61)]
    assert [e.number for e in CHECKS] == [f"v{n}" for n in range(1, 23)]
    assert [e.number for e in DEFECTS] == [f"b{n}" for n in range(1, 17)]
    assert [e.number for e in REPAIRED] == [f"f{n}" for n in range(1, 8)]
    assert all(e.theirs for e in ENTRIES)
    assert [e.number for e in ENTRIES if not (e.ours and e.tests)] == NOT_HERE
    assert all(e.differs for e in (*DEFECTS, *REPAIRED))
    assert not any("|" in text for e in ENTRIES for text in e)


def test_what_is_not_there_upstream_says_so():
    assert [e.number for e in ROWS if e.theirs.startswith("unmerged: ")] == ["19", "60"]
    assert all("it is unmerged there" in e.differs for e in ROWS if e.theirs.startswith("unmerged: "))


def test_the_page_is_up_to_date():
    wanted = "python -m forgenb.testing.tape_page > docs/tape.md"
    assert PAGE.read_text(encoding="utf-8") == page(), wanted
