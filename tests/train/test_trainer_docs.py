"""The examples of docs/trainer.md run as they stand, one after the other."""

import re
from pathlib import Path

import pytest

import forgenb as fnb

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "trainer.md").read_text(encoding="utf-8")


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    pytest.importorskip("sklearn", reason="the digits are those of scikit-learn")
    pytest.importorskip("matplotlib", reason="pictures are drawn by matplotlib")
    monkeypatch.chdir(tmp_path)
    names, printed = {}, []
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(block, names)
        printed.append(capsys.readouterr().out)
    first, folder, own, halves = printed
    rows = [[float(word) for word in line.split()] for line in first.splitlines()]
    assert [row[0] for row in rows] == [25, 50, 75, 100, 125, 150, 175, 200]
    assert rows[-1][2] < 0.6 < rows[0][2]
    assert re.search(r"the validation loss has not improved in 5 evaluations|None", folder)
    assert sorted(path.name for path in (tmp_path / "runs" / "digits").iterdir()) == [
        "best.safetensors",
        "last.safetensors",
        "metrics.jsonl",
    ]
    assert (tmp_path / "losses.svg").exists()
    assert re.fullmatch(r"25 0\.9\d\d of the digits are right\n", own)
    assert float(halves) < 0.5


def test_every_callback_is_in_the_table():
    found = set(re.findall(r"^\| `(\w+)\(", TEXT, re.MULTILINE))
    public = {name for name, value in vars(fnb.train).items() if isinstance(value, type)}
    callbacks = {name for name in public if issubclass(getattr(fnb.train, name), fnb.train.Callback)}
    assert found == callbacks - {"Callback"}


def test_every_method_of_a_callback_is_named():
    methods = [name for name in vars(fnb.train.Callback) if name.startswith("on_")]
    assert [name for name in methods if f"`{name}(" not in TEXT] == []
    assert len(methods) == 5
