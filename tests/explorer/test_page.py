"""The page as text: what stands in it, how it is escaped and bounded, and how it is written."""

import html
import json
import re

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.explorer import page as pages


def data(page):
    """What the page's script reads."""
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', str(page))
    return json.loads(found)


def neuron(keep=True, name="x"):
    with fnb.Tape(keep=keep) as tape:
        x = tape.leaf(fnb.tensor([0.5, -2.0], name=name))
        fnb.ops.tanh(x * 3.0).sum().backward()
    return tape


def test_entries_steps_and_sources():
    found = data(neuron().explore())
    assert [entry["name"] for entry in found["entries"]] == ["x#0", "mul#1", "tanh#2", "sum#3"]
    assert found["entries"][1] == {
        "name": "mul#1",
        "leaf": False,
        "inputs": [0, None],
        "shapes": ["(2,)"],
        "dtype": "float32",
        "saved": found["entries"][1]["saved"],
        "kernels": ["mul_kernel"],
        "source": found["entries"][1]["source"],
    }
    sources = [found["sources"][entry["source"]] for entry in found["entries"]]
    assert sources[0] == ""
    assert sources[2].startswith("def backward(dout, out):\n    return")
    assert [step["kind"] for step in found["steps"]] == ["leaf", *["forward"] * 3, *["backward"] * 3, "arrived"]
    assert found["steps"][0]["seen"] == [
        {
            "missing": "",
            "value": "[0.5, -2]",
            "grad": "grad: [0.5, -2]",
            "numbers": "[0.5,  -2]",
            "about": "float32, shape (2,), -2 to 0.5",
        }
    ]
    assert found["kept"] is True


def test_the_rule_of_a_custom_op_is_the_users_own():
    cube = fnb.custom_op(lambda x: x * x * x, lambda dout, x: 3.0 * x * x * dout)
    with fnb.Tape(keep=True) as tape:
        cube(tape.leaf(fnb.tensor(2.0)))
    found = data(tape.explore())
    rule = found["sources"][found["entries"][1]["source"]]
    assert "lambda dout, x: 3.0 * x * x * dout" in rule
    assert "def rule(*douts):" in rule


def test_a_closure_without_a_source_is_said_to_have_none():
    space = {"fnb": fnb}
    exec("op = fnb.custom_op(lambda x: x * 2.0, lambda dout, x: dout * 2.0)", space)
    with fnb.Tape(keep=True) as tape:
        space["op"](tape.leaf(fnb.tensor(2.0)))
    found = data(tape.explore())
    assert "its source is no file that can be read" in found["sources"][found["entries"][1]["source"]]


def test_without_keep_closures_that_a_sweep_freed_are_gone():
    found = data(neuron(keep=False).explore())
    assert set(found["sources"]) == {""}
    assert [step["kind"] for step in found["steps"]] == ["leaf", "forward", "forward", "forward"]
    assert found["steps"][1]["seen"][0]["missing"] == "freed"
    assert found["kept"] is False
    with fnb.Tape() as tape:
        fnb.ops.tanh(tape.leaf(fnb.tensor(1.0)))
    assert "tanh_grad" in "".join(data(tape.explore())["sources"])


HOSTILE = '</script><!--<script>alert("1")</script>&amp;\'\u2028@@data@@'


def test_names_cannot_end_the_element_that_holds_them():
    page = neuron(name=HOSTILE).explore()
    shown = HOSTILE.replace("\u2028", r"\u2028")
    assert data(page)["entries"][0]["name"] == shown + "#0"
    assert len(re.findall("</script>", str(page), re.I)) == 2
    assert "<!--" not in str(page)
    assert html.escape(shown) in str(page)


def test_the_page_asks_for_nothing():
    text = str(neuron().explore())
    assert "default-src 'none'" in text
    assert re.findall(r"(?:src|href)\s*=\s*[\"'](?!data:)", text) == []
    assert "url(" not in text
    assert "@@" not in text


def test_the_same_computation_gives_the_same_page():
    first, second = (data(neuron().explore()) for _ in range(2))
    assert first == second
    tape = neuron()
    assert str(tape.explore()) == str(tape.explore())


def test_of_many_steps_the_first_are_in_the_page(monkeypatch):
    monkeypatch.setattr(pages, "MOST", 5)
    found = data(neuron().explore())
    assert len(found["steps"]) == 5
    assert found["left_out"] == 3


def test_a_large_array_is_abbreviated():
    with fnb.Tape(keep=True) as tape:
        x = tape.leaf(fnb.tensor(np.arange(1e6).reshape(1000, 1000)))
        (x + 1.0).sum().backward()
    page = tape.explore()
    assert len(str(page)) < 60_000
    assert data(page)["steps"][1]["seen"][0]["about"] == "float64, shape (1000, 1000), 1 to 1e+06"


def test_a_notebook_shows_it_in_a_frame():
    page = neuron().explore()
    shown = page._repr_html_()
    (inner,) = re.findall('srcdoc="([^"]*)"', shown)
    assert html.unescape(inner) == str(page)
    assert shown.startswith('<iframe title="')
    assert "save(path) writes it" in repr(page)


def test_the_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "tape.html"
    page = neuron().explore(path)
    assert path.read_text(encoding="utf-8") == str(page)
    with pytest.raises(ArgumentError, match="got int: give its path"):
        neuron().explore(3)
    with pytest.raises(CheckpointError, match="cannot be written"):
        neuron().explore(tmp_path / "missing" / "tape.html")
    assert [found.name for found in tmp_path.iterdir()] == ["tape.html"]
