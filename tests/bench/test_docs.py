"""docs/benchmarks.md has every workload, and a place for the results."""

import re
from pathlib import Path

from forgenb.bench import SPECS, write_markdown
from forgenb.bench.cold import KINDS
from forgenb.bench.report import MARKS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_every_workload_is_there():
    listed = TEXT.partition("| workload | what a step is |")[2].partition(MARKS[0])[0]
    assert [name for name in (*SPECS, *KINDS) if f"`{name}`" not in listed] == []


def test_results_have_their_place(tmp_path):
    copy = tmp_path / "page.md"
    copy.write_text(TEXT, encoding="utf-8")
    write_markdown("new results", copy)
    written = copy.read_text(encoding="utf-8")
    assert written.startswith(TEXT.partition(MARKS[0])[0])
    assert written.count("new results") == 1
    assert (PAGE.parent / re.search(r"\]\((\w+\.svg)\)", TEXT)[1]).exists()
