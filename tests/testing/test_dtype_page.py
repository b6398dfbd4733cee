"""The published page of dtypes is the one that the table gives."""

from pathlib import Path

from forgenb.dtypes import RULES
from forgenb.ops import TABLE
from forgenb.testing.dtype_page import page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "dtypes.md"


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m forgenb.testing.dtype_page > docs/dtypes.md"


def test_every_op_stands_under_one_rule_and_every_rule_has_an_op():
    assert {row.dtypes for row in TABLE.values()} == set(RULES)
    rows = [line for line in page().splitlines() if line.startswith("| ")]
    for name in TABLE:
        assert sum(f"`{name}`" in row.split(" | ")[-1] for row in rows) == 1
