"""docs/benchmarks.md has every workload, and a place for the results."""

import re
import shlex
from pathlib import Path

import pytest

from forgenb.bench import DECODE_MARKS, DECODINGS, LOAD_MARKS, LOADERS, SPECS, write_markdown
from forgenb.bench.cold import KINDS
from forgenb.bench.load import KINDS as LOADS
from forgenb.bench.report import MARKS
from forgenb.cli import build_parser
from forgenb.models import GPTConfig

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


def between(marks):
    """The recorded results between two marks."""
    return TEXT.partition(marks[0])[2].partition(marks[1])[0]


@pytest.mark.parametrize(("word", "marks"), [("decode", DECODE_MARKS), ("load", LOAD_MARKS)])
def test_results_of_a_word_have_their_place_and_their_command(word, marks, tmp_path):
    copy = tmp_path / "page.md"
    copy.write_text(TEXT, encoding="utf-8")
    write_markdown("new results", copy, marks)
    before, after = TEXT.partition(marks[0])[0], TEXT.partition(marks[1])[2]
    written = copy.read_text(encoding="utf-8")
    assert written == f"{before}{marks[0]}\n\nnew results\n{marks[1]}{after}"
    (line,) = re.findall(rf"^forgenb (bench {word} .*)$", before, re.MULTILINE)
    arguments = build_parser().parse_args(shlex.split(line))
    assert (arguments.word, arguments.markdown) == (word, "docs/benchmarks.md")


def test_shapes_and_sizes_that_the_page_names():
    for name, shape in DECODINGS.items():
        spec = shape.model
        config = GPTConfig(spec.vocab, spec.context, spec.layers, spec.heads, spec.width)
        (line,) = re.findall(rf"^\| `{name}` \| \d+ layers.*$", TEXT, re.MULTILINE)
        millions = config.parameters / 1e6
        for words in (
            f"{spec.layers} layers, width {spec.width}, context {spec.context:,}, {spec.vocab:,} ids",
            f"{millions:.1f} million" if millions < 100 else f"{millions:.0f} million",
            f"a prompt of {shape.prompt}, then {shape.ids}",
        ):
            assert words in line
        assert f"{shape.prefill} ids for `{name}`" in TEXT or f"{shape.prefill} for `{name}`" in TEXT
        assert f"| decode-{name} | forgenb-routine |" in between(DECODE_MARKS)
    assert f"{config.parameters:,} numbers" in TEXT


def test_loading_is_recorded_beside_its_bar():
    results = between(LOAD_MARKS)
    for kind in LOADS:
        assert f"| {kind} | forgenb-eager |" in results
    assert all(f"`{name}`" in TEXT for name in LOADERS if name != "forgenb-eager")
    assert "ratio of at most 1.2 for forgenb under `load-again`" in TEXT
