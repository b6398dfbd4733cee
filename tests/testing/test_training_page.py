"""The page on the training module is up to date, and every function and test that it names is there."""

from pathlib import Path

import pytest
from support.named import absent

from forgenb.testing.training_defects import DEFECTS, OWN_DEFECTS
from forgenb.testing.training_page import page
from forgenb.testing.training_rows import ROWS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "training.md"
ENTRIES = [*ROWS, *DEFECTS, *OWN_DEFECTS]


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


def test_the_page_is_up_to_date():
    wanted = "python -m forgenb.testing.training_page > docs/training.md"
    assert PAGE.read_text(encoding="utf-8") == page(), wanted
