"""The examples of docs/routines.md run as they stand, with a small model in place of the reader's."""

import re
from pathlib import Path

import numpy as np
import pytest

import forgenb as fnb

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "routines.md").read_text(encoding="utf-8")


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
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(block, names)
    assert names["routine"].runs == 400
    best = np.linalg.lstsq(data.numpy().reshape(-1, 3), wanted.numpy().reshape(-1, 1), rcond=None)[0]
    np.testing.assert_allclose(w.numpy(), best, atol=0.15)
    printed = capsys.readouterr().out
    assert "digraph" in printed
    assert "us a run, mean of 1" in printed
    assert sorted((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("name", ["materialize", "retain", "inline"])
def test_decisions_are_documented(name):
    assert f"t.{name}()" in TEXT
    assert getattr(fnb.Tensor, name).__doc__
