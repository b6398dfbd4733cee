"""The examples of docs/routines.md and docs/debugging.md run as they stand; the first has a small model put in."""

import re
from pathlib import Path

import numpy as np
import pytest
from support.pages import examples, page

import forgenb as fnb

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = page("routines.md")
DEBUGGING = page("debugging.md")


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    w = fnb.Parameter(fnb.tensor(np.zeros((3, 1), "float32"), name="w"))
    optimizer = fnb.optim.SGD([w], lr=0.1)
    rng = np.random.default_rng(0)
    data, wanted = (fnb.tensor(rng.normal(size=(40, 8, n)).astype("float32")) for n in (3, 1))

    def model_loss(x, y):
        return ((x @ w - y) ** 2.0).mean()

    def step(x, y):
        optimizer.zero_grad()
        loss = model_loss(x, y)
        loss.backward()
        optimizer.step()
        return loss

    names = {"fnb": fnb, "model_loss": model_loss, "step": step, "data": data, "wanted": wanted}
    names |= {"x": data.numpy()[0], "y": wanted.numpy()[0]}
    blocks = examples(TEXT)
    assert len(blocks) == 2
    for block in blocks:
        exec(block, names)
    assert names["routine"].runs == 400
    best = np.linalg.lstsq(data.numpy().reshape(-1, 3), wanted.numpy().reshape(-1, 1), rcond=None)[0]
    np.testing.assert_allclose(w.numpy(), best, atol=0.15)
    printed = capsys.readouterr().out
    assert "digraph" in printed


def test_the_examples_of_debugging_run(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib", reason="pictures are drawn by matplotlib")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in examples(DEBUGGING):
        exec(block, names)
    printed = capsys.readouterr().out
    assert "digraph" in printed
    assert "us a run, mean of 20" in printed
    assert "\nmodel " in printed
    assert (tmp_path / "profile.svg").exists()
    assert "grad: " in (tmp_path / "tape.svg").read_text(encoding="utf-8")
    assert len(names["tape"]) == 6
    assert (tmp_path / "tape.html").exists()
    found = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert found == sorted(re.findall(r"^\| `(00_.*?)`", DEBUGGING, re.MULTILINE))
    memory = names["run"].routine.memory()
    assert memory.keys() == set(re.findall(r"\w+", re.search(r"# bytes: (.*)", DEBUGGING)[1]))


@pytest.mark.parametrize("name", ["materialize", "retain", "inline"])
def test_decisions_are_documented(name):
    assert f"t.{name}()" in TEXT
    assert getattr(fnb.Tensor, name).__doc__
