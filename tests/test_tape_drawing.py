"""The picture of a tape: boxes, arrows, rows."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import forgenb as fnb

SVG = "{http://www.w3.org/2000/svg}"


def drawn(f, data):
    with fnb.Tape() as tape:
        f(tape.leaf(fnb.tensor(np.asarray(data, np.float64), name="x<1>")))
    return tape, ElementTree.fromstring(tape.svg())


@pytest.mark.parametrize("data", [2.0, [1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]], ids=["scalar", "vector", "matrix"])
def test_a_box_for_each_entry_and_an_arrow_for_each_pair(data):
    tape, picture = drawn(lambda x: fnb.ops.exp(x * x + 1.0).sum(), data)
    shape = str(np.shape(data))
    words = [text.text for text in picture.iter(f"{SVG}text")]
    assert words == ["x<1>#0", shape, "mul#1", shape, "add#2", shape, "exp#3", shape, "sum#4", "()"]
    assert [box.get("class") for box in picture.iter(f"{SVG}rect")] == ["leaf", None, None, None, None]
    assert len(list(picture.iter(f"{SVG}line"))) == 4
    assert tape._repr_svg_() == tape.svg()


def test_entries_stand_below_what_they_read_and_beside_each_other():
    _, picture = drawn(lambda x: fnb.ops.exp(x) + fnb.ops.sqrt(x), [1.0])
    boxes = [[int(box.get(key)) for key in ("x", "y", "width")] for box in picture.iter(f"{SVG}rect")]
    (_, leaf, _), (left, exp, width), (right, sqrt, _), (_, add, _) = boxes
    assert leaf < exp == sqrt < add
    assert left + width < right
    assert all(x + width < int(picture.get("width")) and y < int(picture.get("height")) for x, y, width in boxes)
    for line in picture.iter(f"{SVG}line"):
        assert int(line.get("y1")) < int(line.get("y2"))


def test_the_same_tape_gives_the_same_text_and_an_empty_one_no_box():
    (tape, _), (again, _) = (drawn(lambda x: x + x, [1.0]) for _ in range(2))
    assert tape.svg() == again.svg()
    assert re.search("<rect|<line", fnb.Tape().svg().split("</style>")[1]) is None
