"""Formulas as MathML: names of functions stand apart from what they are applied to, and derivations can be shown."""

import re
from pathlib import Path
from xml.dom.minidom import parseString

import pytest

pytest.importorskip("latex2mathml", reason="the site needs pip install forgenb[docs]")
pytest.importorskip("docutils", reason="the site needs pip install forgenb[docs]")

import mathml  # after the skip

from forgenb.ops import TABLE  # the same

DOCS = Path(__file__).resolve().parents[2] / "docs"
RULES = sorted((DOCS / "rules").glob("*.md"))
FORMULA = re.compile(r"\$\$\n(.+?)\n\$\$|\$([^$]+)\$", re.DOTALL)


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        (r"\log p", "log p"),
        (r"a \cos\theta - b \sin\theta", "a cos θ−b sin θ"),
        (r"x_i \tanh c", "xi tanh c"),
        (r"\cos^2 x", "cos2 x"),
        (r"\log_2 x", "log2 x"),
        (r"\log(x)", "log(x)"),
        (r"2 - \exp x", "2−exp x"),
        (r"\log\,p", "log p"),
        (r"e^{-\log x}", "e−log x"),
        (r"logs", "logs"),
    ],
)
def test_a_thin_space_stands_where_tex_has_one(formula, shown):
    markup = mathml._spaced(mathml.convert(formula))
    told = parseString(markup.replace(mathml.THIN, "<mtext> </mtext>"))
    assert "".join(node.data for node in _texts(told)) == shown


def _texts(node):
    if node.nodeType == node.TEXT_NODE:
        yield node
    for child in node.childNodes:
        yield from _texts(child)


@pytest.mark.parametrize(
    ("formula", "boxes"),
    [
        ("x_i", ["depth"]),
        ("x^2", ["height"]),
        (r"\sigma_r^2", ["depth", "height"]),
        (r"\hat x_j", ["depth"]),
        (r"(x)^2", []),
        ("x + y", []),
    ],
)
def test_indices_have_a_place_without_a_font_for_formulas(formula, boxes):
    told = parseString(mathml._placed(mathml.convert(formula)))
    found = [name for box in told.getElementsByTagName("mpadded") for name in sorted(dict(box.attributes.items()))]
    assert found == boxes


def test_a_derivation_is_that_of_an_op_and_begins_with_its_equation():
    assert len(RULES) > 80
    for path in RULES:
        text = path.read_text(encoding="utf-8")
        assert path.stem in TABLE
        assert re.match(r"\$\$\n.+?\n\$\$\n\n", text, re.DOTALL), path.name
        assert (5 <= text.count("\n") <= 25, text.startswith("#")) == (True, False), path.name


def test_formulas_of_derivations_are_understood():
    """What the converter does not know stays in its result as it was written."""
    for path in RULES:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"[$\\]", FORMULA.sub("", text)), path.name
        for block, inline in FORMULA.findall(text):
            markup = mathml._spaced(mathml.convert(mathml._lines(block or inline)))
            left = "".join(node.data for node in _texts(parseString(markup)))
            assert not re.search(r"[&\\]", left), (path.name, block or inline)
