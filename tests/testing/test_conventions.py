"""The table of conventions holds on every backend, eagerly and in a routine, and its page is up to date."""

import dataclasses
from pathlib import Path

import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError
from forgenb.testing.conventions import conventions, differences, page, results, seed_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conventions.md"
ROWS = {row.call: row for row in conventions()}


@pytest.mark.usefixtures("each_backend")
@pytest.mark.parametrize("call", ROWS)
def test_a_row(call):
    row = ROWS[call]
    operands = [fnb.tensor(a) for a in row.arrays()]
    if row.refused:
        with pytest.raises(ArgumentError, match=row.value):
            results(row, None, operands)
        return
    seed = seed_of(row, 2.0)  # not the page's 1, which is its own square
    assert differences(row, results(row, seed, operands), 2.0) == []
    recorded = fnb.compile(lambda seed, *operands: results(row, seed, operands))
    assert differences(row, recorded(seed, *operands), 2.0) == []


@pytest.mark.parametrize("change", [{"value": 2.0}, {"gradients": (0.25, 0.5)}], ids=str)
def test_a_row_that_says_something_else_differs(change):
    row = dataclasses.replace(ROWS["maximum(1, 1)"], **change)
    operands = [fnb.tensor(a) for a in row.arrays()]
    assert len(differences(row, results(row, seed_of(row), operands))) == 1


def test_the_table_names_a_row_once():
    assert len(ROWS) == len(list(conventions())) > 70


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m forgenb.testing.conventions > docs/conventions.md"
