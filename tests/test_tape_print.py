"""A tape as text: the table and the list of what reads what."""

import numpy as np
from support.leaves import leaf

import forgenb as fnb


def test_the_table_fits_a_terminal():
    with fnb.Tape() as tape:
        x = leaf(np.zeros((100, 20, 300), np.float32), "float32")
        x.name = "a name that is longer than any op's"
        y = x
        for _ in range(30):
            y = fnb.ops.gelu(y).reshape(300, 20, 100)
        y = fnb.ops.layernorm(y, leaf(np.ones(100), "float32"), leaf(np.ones(100), "float32"))
        root = y.sum()
    tape.backward(root)
    lines = repr(tape).splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].split() == [
        "#",
        "op",
        "inputs",
        "output",
        "dtype",
        "saved",
        "kernels",
        "fwd",
        "us",
        "bwd",
        "us",
    ]
    assert len(lines) == len(tape) + 3
    assert "2.4MB" in lines[3]
    assert lines[-1].startswith(f"{len(tape)} entries, ")


def test_an_empty_tape_prints():
    assert repr(fnb.Tape()).splitlines()[-1].startswith("0 entries")
    assert fnb.Tape().text() == ""


def test_the_text_names_what_each_entry_reads():
    with fnb.Tape() as tape:
        x = tape.leaf(fnb.tensor(np.array([1.0, 2.0]), name="x"))
        x * x + 1.0
    assert tape.text().splitlines() == ["x#0 (2,)", "mul#1 (2,) <- x#0, x#0", "add#2 (2,) <- mul#1, constant"]
