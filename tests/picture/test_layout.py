"""Places of boxes: rows, no overlaps, arrows that cross no box, and Graphviz's places in their stead."""

import itertools
import os
import random
import stat
import sys

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError
from forgenb.picture.graphviz import by_dot, find_dot
from forgenb.picture.layout import arrows, layered, rising


def random_graph(seed, count=25):
    draws = random.Random(seed)
    inputs = [tuple(draws.sample(range(n), min(n, draws.choice([0, 1, 1, 2, 3])))) for n in range(count)]
    return [(draws.uniform(40, 200), 18 * draws.randint(2, 6)) for _ in inputs], arrows(inputs)


def edges(middle, size):
    (x, y), (width, height) = middle, size
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def bezier(path, steps=12):
    for k in range(0, len(path) - 1, 3):
        a, b, c, d = (np.array(point) for point in path[k : k + 4])
        for t in np.linspace(0, 1, steps):
            yield (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d


def test_an_arrow_for_each_pair():
    assert arrows([(), (0, 0), (None, 1, 0)]) == [(0, 1), (1, 2), (0, 2)]


@pytest.mark.parametrize("seed", range(8))
def test_boxes_stand_apart_below_what_they_read_and_inside(seed):
    sizes, links = random_graph(seed)
    found = layered(sizes, links)
    frames = [edges(middle, size) for middle, size in zip(found.middles, sizes, strict=True)]
    for (left, top, right, bottom), other in itertools.combinations(frames, 2):
        assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
    for tail, head in links:
        assert frames[tail][3] < frames[head][1]
    for left, top, right, bottom in frames:
        assert left >= 0
        assert top >= 0
        assert right <= found.size[0] + 0.1
        assert bottom <= found.size[1] + 0.1


@pytest.mark.parametrize("seed", range(8))
def test_arrows_go_from_box_to_box_and_enter_no_other(seed):
    sizes, links = random_graph(seed)
    found = layered(sizes, links)
    frames = [edges(middle, size) for middle, size in zip(found.middles, sizes, strict=True)]
    for (tail, head), path in zip(links, found.paths, strict=True):
        assert len(path) % 3 == 1
        assert path[0] == pytest.approx((found.middles[tail][0], frames[tail][3]))
        assert path[-1] == pytest.approx((found.middles[head][0], frames[head][1]))
        for n, (left, top, right, bottom) in enumerate(frames):
            if n not in (tail, head):
                inside = [(x, y) for x, y in bezier(path) if left + 1 < x < right - 1 and top + 1 < y < bottom - 1]
                assert inside == []


def test_a_leaf_stands_just_above_the_first_that_reads_it():
    found = layered([(50, 20)] * 5, arrows([(), (0,), (1,), (), (2, 3)]))
    rows = [y for _, y in found.middles]
    assert rows[3] == rows[2]
    assert rows[0] < rows[1] < rows[2] < rows[4]


def test_a_chain_hangs_straight():
    found = layered([(50, 20), (90, 20), (50, 20)], arrows([(), (0,), (1,)]))
    assert len({x for x, _ in found.middles}) == 1


def test_rows_are_ordered_so_that_arrows_do_not_cross():
    found = layered([(50, 20)] * 6, arrows([(), (), (1,), (0,), (2,), (3,)]))
    x = [x for x, _ in found.middles]
    assert (x[0] < x[1]) == (x[3] < x[2]) == (x[5] < x[4])
    assert (x[0], x[1]) == (x[5], x[4])


def test_the_same_graph_has_the_same_places():
    assert layered(*random_graph(3)) == layered(*random_graph(3))
    assert layered([], []).middles == []


@pytest.mark.parametrize(
    ("wanted", "found"),
    [([], []), ([1, 2], [1, 2]), ([2, 1], [1.5, 1.5]), ([3, 1, 2, 5], [2, 2, 2, 5]), ([1, 4, 2, 0], [1, 2, 2, 2])],
)
def test_numbers_that_do_not_fall(wanted, found):
    assert rising(wanted) == pytest.approx(found)


FAKE = """#!{python}
import re, sys
asked = sys.stdin.read()
assert sys.argv[1:] == ["-Tplain"]
nodes = re.findall(r"^(n\\d+) \\[width=([\\d.]+) height=([\\d.]+)\\]", asked, re.M)
links = re.findall(r"^(n\\d+) -> (n\\d+)", asked, re.M)
print(f"graph 1 9 {{len(nodes)}}")
for k, (name, width, height) in enumerate(nodes):
    print(f'node {{name}} {{k + 1}} {{len(nodes) - k - 0.5}} {{width}} {{height}} "" solid box black lightgrey')
for tail, head in links:
    print(f"edge {{tail}} {{head}} 4 1 3 1 2.5 2 2 2 1.5 solid black")
print("stop")
"""


@pytest.fixture
def fake_dot(tmp_path, monkeypatch):
    """A program named dot, which answers in dot's plain format, alone on PATH."""
    if os.name == "nt":
        pytest.skip("the stand-in for dot is a script with a line that says who runs it")

    def install(text=FAKE):
        path = tmp_path / "dot"
        path.write_text(text.format(python=sys.executable))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path))
        return str(path)

    return install


def small_tape():
    with fnb.Tape() as tape:
        x = tape.leaf(fnb.tensor(2.0, name="x"))
        x * x
    return tape


def test_dot_places_the_boxes_where_it_is_found(fake_dot):
    tape = small_tape()
    own = str(tape.draw())
    program = fake_dot()
    assert find_dot() == program
    found = by_dot(program, [(72, 36), (72, 36)], [(0, 1)])
    assert found.size == (9 * 72 + 24, 2 * 72 + 24)
    assert found.middles == [(84, 48), (156, 120)]
    assert found.paths == [[(84, -60), (84, -24), (156, 12), (156, 48)]]
    assert str(tape.draw()) == str(tape.draw(graphviz=True)) != own
    assert str(tape.draw(graphviz=False)) == own
    assert 'width="672" height="168"' in str(tape.draw())


@pytest.mark.parametrize("text", ["exit 3", "echo nonsense", "echo 'graph 1 x 2'", "echo", "kill -9 $$"])
def test_a_dot_that_fails_is_left_out_unless_it_was_asked_for(fake_dot, text):
    tape = small_tape()
    own = str(tape.draw())
    fake_dot(f"#!/bin/sh\n{text}\n")
    assert str(tape.draw()) == own
    with pytest.raises(ArgumentError, match="dot did not place 2 boxes: .*graphviz=False"):
        tape.draw(graphviz=True)


def test_without_dot_asking_for_it_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ArgumentError, match="needs the program dot, which is not on PATH"):
        small_tape().draw(graphviz=True)


@pytest.mark.skipif(find_dot() is None, reason="Graphviz is not installed")
def test_the_real_dot_answers():
    sizes, links = random_graph(0)
    found = by_dot(find_dot(), sizes, links)
    assert len(found.middles) == len(sizes)
    assert all(len(path) % 3 == 1 for path in found.paths)


def test_long_arrows_of_a_large_graph_go_straight(monkeypatch):
    """Each of n steps reads the first: bends in every row would be n²/2."""
    links = [(0, n) for n in range(1, 200)] + [(n, n + 1) for n in range(1, 199)]
    monkeypatch.setattr("forgenb.picture.layout.BENDS", 1000)
    found = layered([(40, 36)] * 200, links)
    bends = [(len(path) - 4) // 6 for path in found.paths]
    assert bends[:45] == [*range(45)]
    assert sum(bends) <= 1000
    assert all(len(path) == 4 for path in found.paths[45:])
    assert len(found.middles) == 200
