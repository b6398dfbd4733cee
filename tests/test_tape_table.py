"""`fnb.Tape`: entries, gradients by entry, times, and how it prints."""

import threading
from xml.etree import ElementTree

import numpy as np
import pytest
from support.leaves import leaf

import forgenb as fnb
from forgenb.backend import seam
from forgenb.errors import ArgumentError, DTypeError, TapeError


def test_entries_say_what_was_recorded():
    constant = fnb.tensor([2.0, 2.0], dtype="float64")
    with fnb.Tape() as tape:
        x = tape.leaf(fnb.tensor(np.array([1.0, 2.0]), name="x"))
        w = leaf([[1.0, 2.0], [3.0, 4.0]])
        y = x * constant
        z = (y + w).sum(axis=0)
    assert [entry.number for entry in tape.entries] == [0, 1, 2, 3, 4]
    assert [entry.op for entry in tape.entries] == ["x", "mul", "leaf", "add", "sum"]
    assert [entry.inputs for entry in tape.entries] == [(), (0, None), (), (1, 2), (3,)]
    assert [entry.shapes for entry in tape.entries] == [((2,),), ((2,),), ((2, 2),), ((2, 2),), ((2,),)]
    assert {entry.dtype for entry in tape.entries} == {"float64"}
    assert [entry.saved for entry in tape.entries] == [0, 32, 0, 0, 0]
    assert tape.entries[1].kernels == ["mul_kernel"]
    assert tape.entries[1].forward > 0
    assert [entry.leaf for entry in tape.entries] == [True, False, True, False, False]
    assert z.shape == (2,)
    assert len(tape) == 5


def test_backward_lists_gradients_by_entry():
    with fnb.Tape() as tape:
        x = tape.leaf(fnb.tensor(np.array([1.0, 2.0])))
        unused = tape.leaf(fnb.tensor(1.0))
        y = (x * x).retain_grad()
        root = (y * 3.0).sum()
    found = tape.backward(root)
    assert unused.requires_grad
    assert [None if g is None else g.tolist() for g in found] == [[6.0, 12.0], None, [3.0, 3.0], None, None]
    assert x.grad.tolist() == [6.0, 12.0]
    assert sum(entry.backward for entry in tape.entries) > 0
    assert tape.entries[0].backward == 0


def test_backward_takes_a_seed_and_lists_only_this_sweep():
    with fnb.Tape() as tape:
        x = tape.leaf(fnb.tensor(np.array([1.0, 2.0])))
        y = x * x
    seed = fnb.tensor(np.array([1.0, 0.0]))
    assert tape.backward(y, seed, retain_graph=True)[0].tolist() == [2.0, 0.0]
    assert tape.backward(y, seed)[0].tolist() == [2.0, 0.0]
    assert x.grad.tolist() == [4.0, 0.0]


def test_backward_refuses_what_is_not_on_the_tape():
    x = leaf([1.0, 2.0])
    with fnb.Tape() as first:
        y = (x * x).sum()
    with fnb.Tape() as second:
        (x + x).sum()
    with pytest.raises(TapeError, match="not on this tape \\(made by sum.* elsewhere\\)"):
        second.backward(y)
    with pytest.raises(TapeError, match="not on this tape \\(not tracked\\)"):
        first.backward(fnb.tensor(1.0))
    with fnb.Tape() as third:
        z = x * x
    with pytest.raises(TapeError, match="needs a seed gradient of that shape"):
        third.backward(z)
    with pytest.raises(TapeError, match="must have the root's shape"):
        third.backward(z, fnb.tensor(np.ones(3)))
    first.backward(y)
    with pytest.raises(TapeError, match="consumed"):
        first.backward(y)
    with pytest.raises(ArgumentError, match="tape.backward starts from a tensor, got float: give the result"):
        first.backward(1.0)


def test_leaf_refuses_integers_inner_tensors_and_other_things():
    tape = fnb.Tape()
    with pytest.raises(DTypeError, match="int64 cannot require a gradient"):
        tape.leaf(fnb.tensor([1, 2]))
    with pytest.raises(TapeError, match="the result of mul.*detach"):
        tape.leaf(leaf(1.0) * 2.0)
    with pytest.raises(ArgumentError, match="needs a tensor, got float"):
        tape.leaf(1.0)
    assert len(tape) == 0


def test_what_was_recorded_before_the_tape_is_no_entry():
    x = leaf(2.0)
    before = x * x
    with fnb.Tape() as tape:
        y = before * x
    assert [entry.inputs for entry in tape.entries] == [(), (None, 0)]
    assert tape.backward(y)[0].item() == 12.0


def test_unrecorded_launches_are_not_charged_to_the_next_op():
    x, constant = leaf([1.0, 2.0]), fnb.tensor([1.0, 2.0], dtype="float64")
    with fnb.Tape() as tape:
        constant.sum()
        with fnb.no_grad():
            x.sum()
        y = x + x
    assert tape.entries[-1].kernels == ["add_kernel"]
    assert y.shape == (2,)


def test_tapes_nest():
    x = leaf(2.0)
    with fnb.Tape() as outer:
        y = x * x
        with fnb.Tape() as inner:
            z = y * x
        w = z + 1.0
    assert [entry.op for entry in outer.entries] == ["leaf", "mul", "mul", "add"]
    assert [entry.op for entry in inner.entries] == ["leaf", "mul"]
    assert outer.entries[2].kernels == inner.entries[1].kernels == ["mul_kernel"]
    w.backward()
    with pytest.raises(TapeError, match="active already"), outer, outer:
        pass


def test_a_sweep_inside_the_block_is_timed_and_its_own_ops_are_entries_under_create_graph():
    x = leaf(2.0)
    with fnb.Tape() as tape:
        (x * x).backward(create_graph=True)
    names = [entry.op for entry in tape.entries]
    assert names[:2] == ["leaf", "mul"]
    assert len(names) > 2
    assert tape.entries[1].backward > 0


def test_nothing_is_noted_after_the_block():
    x = leaf(2.0)
    with fnb.Tape() as tape:
        x * x
    x * x
    assert len(tape) == 2


def test_two_threads_note_their_own_launches():
    """One enters first and leaves first, while the other is in the middle of its own."""
    inside, left, found = threading.Event(), threading.Event(), []

    def other():
        with fnb.Tape() as tape:
            inside.set()
            assert left.wait(60)
            found.append((leaf(2.0) * 3.0, tape))

    thread = threading.Thread(target=other)
    with fnb.Tape() as mine:
        thread.start()
        assert inside.wait(60)
        leaf(2.0) * 3.0
    left.set()
    thread.join()
    assert [entry.kernels for entry in mine.entries] == [entry.kernels for entry in found[0][1].entries]
    assert mine.entries[1].kernels == ["mul_kernel"]
    assert set() == seam._TRACING  # launches of programs that trace nothing pay nothing


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\nb", r"a\nb"),
        ("x\0", r"x\x00"),
        ("\ud800\x1b", r"\ud800\x1b"),
        ("é" * 81, "é" * 80 + "..."),
        ("<&'\"", "<&'\""),
    ],
)
def test_names_may_be_anything(tmp_path, name, shown):
    with fnb.Tape() as tape:
        (fnb.tensor(2.0, name=name, requires_grad=True) * 3.0).backward()
    assert tape.text().splitlines() == [f"{shown}#0 ()", f"mul#1 () <- {shown}#0, constant"]
    assert len(repr(tape).splitlines()) == 5
    tape.draw(graphviz=False).save(tmp_path / "tape.svg")
    title = ElementTree.parse(tmp_path / "tape.svg").find(".//{*}text[@class='title']")
    assert title.text == f"{shown}#0 ()"
    assert str(tape.explore(tmp_path / "tape.html")) == (tmp_path / "tape.html").read_text(encoding="utf-8")
