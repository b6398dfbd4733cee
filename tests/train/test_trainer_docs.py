"""The examples of docs/trainer.md run as they stand, one after the other."""

import re
import subprocess
import sys
from dataclasses import fields

import pytest
from support.pages import examples, page

import forgenb as fnb

TEXT = page("trainer.md")


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    pytest.importorskip("sklearn", reason="the digits are those of scikit-learn")
    pytest.importorskip("matplotlib", reason="pictures are drawn by matplotlib")
    monkeypatch.chdir(tmp_path)
    names, printed = {}, []
    for block in examples(TEXT):
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


def test_every_field_of_a_report_is_in_the_table():
    table = TEXT.partition("| field | what it is |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [f.name for f in fields(fnb.train.StepReport)]


def test_what_initial_values_depend_on():
    def first_weight():
        return fnb.nn.Linear(2, 1).weight.tolist()

    fnb.seed(0)
    first, second = first_weight(), first_weight()
    assert first != second
    fnb.seed(0)
    assert first_weight() == first
    code = "import forgenb as fnb; print(fnb.nn.Linear(2, 1).weight.tolist())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{first}\n"
