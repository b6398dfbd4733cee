"""docs/parallel.md: its examples run as they stand, and its projection is that of the constants which it shows."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from support import ranks
from support.pages import examples, shown

from forgenb.bench import write_markdown
from forgenb.bench.projection import Cost, Link
from forgenb.bench.report import MARKS
from forgenb.bench.scaling_report import NETWORKS, constants, projected

PAGE = Path(__file__).resolve().parents[2] / "docs" / "parallel.md"
TEXT = PAGE.read_text(encoding="utf-8")
RESULTS = TEXT.partition(MARKS[0])[2].partition(MARKS[1])[0]
EXAMPLES = examples(TEXT)
PROCESSES = TEXT.partition("<!-- processes -->\n```python\n")[2].partition("```")[0]


def table(heading):
    """The cells of the rows under a heading, up to the end of the table."""
    lines = RESULTS.partition(heading)[2].partition("\n\n")[0].strip().split("\n")
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_examples_of_streams_run(capsys):
    assert len(EXAMPLES) == 4
    names, printed = {}, []
    for block in EXAMPLES[:3]:
        exec(block, names)
        printed.append(capsys.readouterr().out.splitlines())
    first, classified, shared = printed
    assert first == shown(EXAMPLES[0])
    assert [line.split()[0] for line in classified] == ["0", "1", "2", "3", "4"]
    found = [float(line.split()[1]) for line in classified]
    assert found == sorted(found, reverse=True)
    assert shared == [str(names["shared"])]
    assert len(names["losses"]) == 60
    assert names["losses"][-1] < 1e-3 * names["losses"][0]
    np.testing.assert_allclose(names["w"].numpy(), names["truth"], atol=1e-2)
    assert names["shared"] == sorted(names["shared"], reverse=True)


def test_the_example_of_processes_runs(tmp_path):
    """And has the losses that its two neighbours, the streams, have."""
    file = tmp_path / "train.py"
    file.write_text(PROCESSES, encoding="utf-8")
    job = ranks.start(2, sys.executable, str(file))
    out, err = job.communicate(timeout=120)
    assert job.returncode == 0, err
    losses = [float(line.split()[1]) for line in out.splitlines()]
    assert len(losses) == 6
    assert losses == sorted(losses, reverse=True)


def test_the_projection_is_that_of_the_constants_on_the_page():
    costs = [
        Cost(row[0], int(row[1]), float(row[2]), float(row[3]), *map(int, row[4:]))
        for row in table("| workload | batch | fixed ms |")
    ]
    links = [Link(row[0], float(row[1]), float(row[2])) for row in table("| link | latency")]
    assert [cost.workload for cost in costs] == ["nanocpu", "charsix"]
    assert links[1:] == list(NETWORKS)
    assert constants(costs, links) in RESULTS
    assert projected(costs, links) in RESULTS


@pytest.mark.parametrize("scaling", ["strong", "weak"])
def test_what_the_page_says_of_the_projection(scaling):
    """Half is lost on the slow link alone, to bandwidth, by a shared batch alone, which nowhere waits for latency."""
    rows = [row for row in table("| workload | link | samples |") if row[2].startswith(scaling)]
    assert len(rows) == 6
    for row in rows:
        slow = row[1] == "1 Gbit/s"
        assert row[-2].startswith("from" if slow and scaling == "strong" else "not up to 1,024"), row
        assert scaling == "weak" or not row[-1].startswith("latency"), row
        if slow:
            assert row[-1].startswith("bandwidth"), row


def test_results_have_their_place(tmp_path):
    copy = tmp_path / "page.md"
    copy.write_text(TEXT, encoding="utf-8")
    write_markdown("new results", copy)
    assert copy.read_text(encoding="utf-8").partition(MARKS[0])[0] == TEXT.partition(MARKS[0])[0]
    assert copy.read_text(encoding="utf-8").count("new results") == 1


def test_the_command_on_the_page_is_one():
    from forgenb.cli import build_parser

    line = re.search(r"^forgenb (bench --scaling .*)$", TEXT, re.MULTILINE)[1]
    assert build_parser().parse_args(line.split()).run.__name__ == "run_scaling"
