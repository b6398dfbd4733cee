"""Attention as a picture: one square a head, labels, the same bytes each time, and what is refused."""

import re

import numpy as np
import pytest

from forgenb.errors import ArgumentError
from forgenb.models import plot_attention

pytest.importorskip("matplotlib")

WEIGHTS = np.tri(3)[None, None] / np.arange(1, 4)[:, None] * np.ones((2, 4, 1, 1))


def drawn(path, *arguments, **options):
    plot_attention(*arguments[:1], path, *arguments[1:], **options)
    return path.read_text(encoding="utf-8")


def texts(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_a_grid_of_layers_and_heads_with_the_same_bytes_each_time(tmp_path):
    svg = drawn(tmp_path / "a.svg", WEIGHTS, ["T", "\n", "$e"], title="three ids")
    assert len(re.findall("<image", svg)) == 8
    found = texts(svg)
    assert [t for t in found if t.startswith(("head", "layer"))].count("layer 1") == 1
    assert {"head 3", "layer 0", "three ids", r"\n", "$e", "T"} <= set(found)
    assert found.count("T") == 4 + 2
    assert drawn(tmp_path / "b.svg", WEIGHTS, ["T", "\n", "$e"], title="three ids") == svg
    assert drawn(tmp_path / "b.svg", WEIGHTS / 2, ["T", "\n", "$e"], title="three ids") != svg


def test_one_id_is_a_row_and_too_many_labels_are_left_out(tmp_path):
    svg = drawn(tmp_path / "a.svg", WEIGHTS[:, :, -1], ["a", "b", " "])
    assert texts(svg).count("a") == 4
    assert texts(svg).count("\u2423") == 4 + 2
    wide = drawn(tmp_path / "a.svg", np.ones((1, 1, 41)) / 41, ["a"] * 41)
    assert sorted(texts(wide)) == ["head 0", "layer 0"]


def test_other_kinds_of_pictures(tmp_path):
    for name, start in (("a.png", b"\x89PNG"), ("a.pdf", b"%PDF")):
        plot_attention(WEIGHTS[:1, :1], tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("weights", "name", "labels", "message"),
    [
        (WEIGHTS[0, 0], "a.svg", None, r"\[layers, heads, queries, keys\], got shape \(3, 3\)"),
        (WEIGHTS * np.nan, "a.svg", None, "finite weights"),
        (WEIGHTS, "a.svg", ["a"], "3 queries and 3 keys got 1 labels"),
        (WEIGHTS, "a.svg", ["a", "b", 3], "labels and title of a picture of attention must be text"),
        ([[1], [1, 2]], "a.svg", None, "needs an array of weights"),
        (WEIGHTS, "a.txt", None, "written as .svg, .png, .pdf"),
        (WEIGHTS, "none/a.svg", None, "not a file in a folder that is there"),
    ],
)
def test_refusals_leave_nothing_behind(tmp_path, weights, name, labels, message):
    with pytest.raises(ArgumentError, match=message):
        plot_attention(weights, tmp_path / name, labels)
    assert list(tmp_path.iterdir()) == []


def test_letters_that_the_font_has_not_are_no_warning(tmp_path):
    svg = drawn(tmp_path / "a.svg", WEIGHTS[:1, :1], ["\u65e5", "\U0001f642", "\ud800"])
    assert {"\u65e5", "\U0001f642", r"\ud800"} <= set(texts(svg))


def test_a_picture_that_cannot_be_written_is_refused(tmp_path):
    path = tmp_path / ("a" * 300 + ".svg")
    with pytest.raises(ArgumentError, match=r"a.svg' cannot be written: File name too long"):
        plot_attention(WEIGHTS, path)
    assert list(tmp_path.iterdir()) == []
