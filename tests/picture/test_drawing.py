"""The picture of a tape: boxes with values and gradients, what is absent, and the file."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError, CheckpointError

SVG = "{http://www.w3.org/2000/svg}"


def boxes(tape):
    """Each box as its lines and the classes of its frames of gradients."""
    picture = ElementTree.fromstring(str(tape.draw(graphviz=False)))
    for group in picture.iter(f"{SVG}g"):
        lines = [text.text for text in group.iter(f"{SVG}text")]
        frames = [rect.get("class") for rect in group.iter(f"{SVG}rect")]
        yield lines, [name for name in frames if name.startswith("grad")], "leaf" in group.get("class")


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("data", [2.0, [1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]], ids=["scalar", "vector", "matrix"])
def test_values_and_gradients_of_scalars_vectors_and_matrices(data, keep):
    array = np.asarray(data)
    with fnb.Tape(keep=keep) as tape:
        x = tape.leaf(fnb.tensor(array, name="x<1>"))
        square = x * x
        loss = square.sum()
        loss.backward()
    leaf, mul, total = boxes(tape)
    written = str(array.astype(int).tolist())
    assert leaf == ([f"x<1>#0 {array.shape}", written, f"grad: {(2 * array).astype(int).tolist()}"], ["grad"], True)
    ones = np.ones_like(array, int).tolist()
    squared = str((array * array).astype(int).tolist())
    arrived, frame = (f"grad: {ones}", "grad") if keep else ("grad: freed", "grad freed")
    assert mul == ([f"mul#1 {array.shape}", squared, arrived], [frame], False)
    assert total == (
        ["sum#2 ()", str(int((array * array).sum())), "grad: 1" if keep else "grad: freed"],
        [frame],
        False,
    )


def test_an_absent_gradient_has_a_dashed_frame_of_its_own():
    with fnb.Tape() as tape:
        x, unused = (tape.leaf(fnb.tensor(1.0, name=name)) for name in ("x", "unused"))
        y = x * 2.0
    assert [(lines[2], frames) for lines, frames, _ in boxes(tape)] == [("grad: none", ["grad none"])] * 3
    y.backward()
    assert [lines[2] for lines, _, _ in boxes(tape)] == ["grad: 2", "grad: none", "grad: freed"]
    assert ".grad.none{fill:#fff;stroke-dasharray:4 3}" in str(tape.draw())
    assert unused.grad is None


def test_a_gradient_that_was_asked_for_is_shown_and_a_cleared_one_is_not():
    with fnb.Tape(keep=True) as tape:
        x = tape.leaf(fnb.tensor(3.0))
    with fnb.Tape() as plain:
        y = (x * x).retain_grad()
        (y * 2.0).backward()
    assert [lines[2] for lines, _, _ in boxes(plain)] == ["grad: 12", "grad: 2", "grad: freed"]
    x.grad = None
    assert next(boxes(tape))[0][2] == next(boxes(plain))[0][2] == "grad: none"


def test_freed_values_are_said_to_be_freed():
    with fnb.Tape() as tape:
        y = (fnb.tensor([1.0, 2.0], requires_grad=True) * 3.0 + 1.0).sum()
    assert [lines[1] for lines, _, _ in boxes(tape)] == ["[1, 2]", "value: freed", "value: freed", "11"]
    del y
    assert [lines[1] for lines, _, _ in boxes(tape)] == ["[1, 2]", "value: freed", "value: freed", "value: freed"]


def test_gradients_are_freed_by_a_watched_sweep_that_keeps_the_tape():
    with fnb.Tape() as tape:
        x = tape.leaf(fnb.tensor(3.0))
        y = x * x
        assert [lines[2] for lines, _, _ in boxes(tape)] == ["grad: none", "grad: none"]
        y.backward(retain_graph=True)
    assert [lines[2] for lines, _, _ in boxes(tape)] == ["grad: 6", "grad: freed"]


def test_an_output_that_the_closure_keeps_is_shown_until_a_sweep_frees_it():
    x = fnb.tensor(0.0, requires_grad=True)
    with fnb.Tape() as tape:
        y = fnb.ops.exp(x) + 1.0
    assert [lines[1] for lines, _, _ in boxes(tape)] == ["0", "1", "2"]
    y.backward()
    assert [lines[1] for lines, _, _ in boxes(tape)] == ["0", "value: freed", "2"]


def test_values_written_in_place_are_those_of_now():
    x = fnb.tensor([1.0, 2.0], requires_grad=True, name="x")
    with fnb.Tape() as tape:
        y = x + 1.0
    with fnb.no_grad():
        x.assign_(7.0)
    assert [lines[1] for lines, _, _ in boxes(tape)] == ["[7, 7] (changed since)", "[2, 3]"]
    assert y.shape == (2,)


@pytest.mark.parametrize("keep", [False, True])
def test_an_op_with_several_outputs_has_lines_for_each(keep):
    pair = fnb.custom_op(lambda x: (x * 2.0, x * 3.0), lambda da, db, x: db * 3.0)
    with fnb.Tape(keep=keep) as tape:
        x = tape.leaf(fnb.tensor(2.0, name="x"))
        first, second = pair(x)
        second.retain_grad()
        (second * 5.0).backward()
    assert first.item() == 4.0
    _, (lines, frames, _), _ = boxes(tape)
    absent, frame = ("none", "grad none") if keep else ("freed", "grad freed")
    assert lines == ["custom_op#1 (), ()", "4", f"grad: {absent}", "6", "grad: 5"]
    assert frames == [frame, "grad"]


def test_drawing_records_and_launches_nothing_and_is_the_same_each_time():
    x = fnb.tensor(np.arange(200.0), requires_grad=True)
    with fnb.Tape() as tape:
        y = (x * x).sum()
        before = fnb.stats()
        text = str(tape.draw())
        done = fnb.stats().since(before)
    assert (done.launches, done.products, done.allocations) == (0, 0, 0)
    assert len(tape) == 3
    assert str(tape.draw()) == text == tape._repr_svg_() == tape.draw()._repr_svg_()
    assert "0 to 199" in text
    assert y.size == 1


def test_a_picture_has_a_name_for_those_who_do_not_see_it_and_keeps_its_style_to_itself():
    picture = ElementTree.fromstring(str(fnb.Tape().draw()))
    assert picture.get("role") == "img"
    assert picture.find(f"{SVG}title").text == "A tape of 0 entries"
    rules = re.findall(r"^(.*)\{", picture.find(f"{SVG}style").text, re.M)
    assert len(rules) > 5
    assert all(rule.startswith(".forgenb-tape ") for rule in rules)
    assert list(picture.iter(f"{SVG}g")) == []


def test_a_picture_is_saved_whole_or_not_at_all(tmp_path):
    picture = fnb.Tape().draw()
    assert "save(path) writes it" in repr(picture)
    picture.save(tmp_path / "tape.svg")
    assert (tmp_path / "tape.svg").read_text(encoding="utf-8") == str(picture)
    assert [path.name for path in tmp_path.iterdir()] == ["tape.svg"]
    with pytest.raises(ArgumentError, match="written to a file, got int: give its path"):
        picture.save(3)
    with pytest.raises(CheckpointError, match="cannot be written"):
        picture.save(tmp_path / "missing" / "tape.svg")
