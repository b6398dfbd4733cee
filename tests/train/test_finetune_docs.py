"""The example of docs/finetune.md runs, on a tiny GPT-2; its options and table are those that there are."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from support.pages import ROOT, examples, page

import forgenb as fnb
from forgenb.cli.train import OPTIONS
from forgenb.data.bpe import END_OF_TEXT, byte_letters
from forgenb.models import GPT, GPTConfig

PAGE = page("finetune.md")
TOKENS = [*byte_letters(), "th", "the", END_OF_TEXT]


@pytest.fixture
def _small(tmp_path, monkeypatch):
    """A folder with a model and a tokenizer, and a text."""
    monkeypatch.chdir(tmp_path)
    model = GPT(GPTConfig(len(TOKENS), 8, 2, 2, 8), seed=4)
    state = model.state_dict()
    model.load_state_dict({**state, "wte.weight": 40 * state["wte.weight"]})  # a head that can say something
    model.save_pretrained("gpt2")
    Path("gpt2/vocab.json").write_text(json.dumps({token: place for place, token in enumerate(TOKENS)}))
    Path("gpt2/merges.txt").write_text("#version: 0.2\nt h\nth e\n")
    Path("text.txt").write_text("the cat sat on the mat; the rat ate that.\n" * 12)


@pytest.mark.usefixtures("_small")
def test_the_example_runs(capsys):
    pytest.importorskip("tokenizers", reason="GPT-2's text is encoded by the library tokenizers")
    (block,) = examples(PAGE)
    assert block.count("CONTEXT, STEPS, RATE = 256, 200, 3e-5") == 1
    names = {}
    exec(block.replace("= 256, 200, 3e-5", "= 8, 20, 3e-2"), names)
    printed = capsys.readouterr().out.splitlines()
    rows = [[float(word) for word in line.split()] for line in printed[:10] if line[0].isdigit()]
    assert [row[0] for row in rows] == list(range(2, 2 * len(rows) + 2, 2))
    best = min(row[2] for row in rows)
    assert best < rows[0][2] - 0.3
    assert printed[len(rows)].startswith("The")
    before, after = (GPT.from_pretrained(folder).state_dict() for folder in ("gpt2", "fine"))
    still = {name for name in before if before[name].tobytes() == after[name].tobytes()}
    assert still == {"wte.weight", "wpe.weight"}
    model = GPT.from_pretrained("fine")
    found = fnb.train.evaluate(model, names["inputs"], names["targets"])
    assert found == pytest.approx(best, rel=1e-5)
    assert np.isfinite(found)


def test_the_bytes_of_the_table():
    """The first row, op by op."""
    row = re.search(r"^\| 4 layers .* \| 12 \| ([\d.]+) \| ([\d.]+) \|", PAGE, re.MULTILINE)
    ids = np.random.default_rng(0).integers(0, 65, (2, 12, 64))
    for again, stated in zip((False, True), row.groups(), strict=True):
        model = GPT(GPTConfig(65, 64, 4, 4, 128, 0.2))
        model.recompute_blocks = again
        model.loss(*ids[:, :1]).backward()
        model.zero_grad()
        with fnb.peak_memory() as peak:
            model.loss(*ids).backward()
        assert peak.nbytes / 2**20 == pytest.approx(float(stated), rel=0.02)


def test_options_that_the_page_names_are_there():
    named = set(re.findall(r"--([a-z][a-z-]*)", PAGE))
    flags = {"from", "freeze-embeddings", "recompute", "resume", "patience", "out", "pretrained"}
    assert named <= {name.replace("_", "-") for name in OPTIONS} | flags
    assert {"from", "freeze-embeddings", "accumulate", "seed-rule", "recompute"} <= named


def test_the_readme_lists_the_page():
    assert "(docs/finetune.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
