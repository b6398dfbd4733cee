"""The pages about generating and judging text: their examples run as they are printed."""

import numpy as np
import pytest
from support.pages import ROOT, examples, shown

from forgenb.data import CharTokenizer
from forgenb.models import GPT, GPTConfig

PAGE = ROOT / "docs" / "generation.md"
SURPRISAL = ROOT / "docs" / "surprisal.md"


CODE = examples(PAGE.read_text(encoding="utf-8"))


def test_there_are_two_examples():
    assert len(CODE) == 2


def test_the_first_example_runs(capsys):
    code = CODE[0]
    assert code.count(", 200, ") == 2
    model, prompts = GPT(GPTConfig(9, 12, 1, 2, 8)), [[1, 2], [3]]
    names = {"model": model, "ids": np.array([1, 2]), "prompts": prompts, "tokenizer": CharTokenizer("abcdefghi")}
    exec(code.replace(", 200, ", ", 6, "), names)
    printed = [int(line) for line in capsys.readouterr().out.split()]
    batch = names["generate_batch"](model, prompts, 6, [names["Sampler"](0.8, top_p=0.9, seed=7), names["Greedy"]()])
    assert printed == batch[0][2:]


def test_the_example_of_surprisal_prints_what_it_says(capsys):
    (code,) = examples(SURPRISAL.read_text(encoding="utf-8"))
    exec(compile(code, SURPRISAL.name, "exec"), {})
    wanted = shown(code)
    assert len(wanted) == 7
    assert capsys.readouterr().out.splitlines() == wanted


def test_readme_lists_the_page_and_the_command():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(docs/surprisal.md)" in readme
    assert "    forgenb surprise FILE " in readme


def test_the_example_of_traces_runs(capsys, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    names = {"model": GPT(GPTConfig(9, 12, 1, 2, 8)), "ids": [1, 2]}
    exec(CODE[1], names)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[:4]] == [[str(n), str(names["text"][n])] for n in range(2, 6)]
    assert lines[4:] == ["(1, 2, 2, 2) (1, 2, 3)", "(32,)"]
    assert (tmp_path / "attention.svg").stat().st_size > 1000
