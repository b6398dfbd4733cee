"""The site builds offline without a warning, and what it must have is in it."""

import importlib
import re

import pytest
from support.site import ROOT, built_site

sphinx = pytest.importorskip("sphinx", reason="the site needs pip install forgenb[docs]")

from api_pages import MODULES  # noqa: E402  # the same
from sphinx.util.inventory import InventoryFile  # noqa: E402  # after the skip

import forgenb as fnb  # noqa: E402  # the same
from forgenb.ops import TABLE  # noqa: E402  # the same

__all__ = ["built_site"]

REMOTE = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc\s*=\s*[\"']?(?:https?:)?//"
    r"|<link\b[^>]*\bhref\s*=\s*[\"']?(?:https?:)?//"
    r"|(?:@import|url\()\s*[\"']?(?:https?:)?//"
)
"""A script, style, font or picture that a page would fetch."""


def test_the_site(built_site):
    _nothing_is_remote(built_site)
    _every_formula_is_understood(built_site)
    _every_picture_is_there(built_site / "tutorials")
    _each_public_name_has_an_entry(built_site)
    assert 'srcdoc="&lt;!doctype html&gt;' in (built_site / "tutorials/02_scalar_tape.html").read_text()
    _each_op_has_a_page_with_its_parts(built_site)
    assert "mean_rule is still to be written" in (built_site / "tutorials/03_arrays.html").read_text()
    assert "<math " in (built_site / "tutorials/03_arrays.html").read_text()


def _nothing_is_remote(html):
    pages = [*html.rglob("*.html"), *html.rglob("*.css")]
    assert len(pages) > 30
    assert [(path.name, found.group()) for path in pages if (found := REMOTE.search(path.read_text()))] == []


def _every_formula_is_understood(html):
    """An environment that the converter does not know leaves its ampersands in the formula."""
    assert [path.name for path in html.rglob("*.html") if "<mi>&</mi>" in path.read_text()] == []


def _every_picture_is_there(pages):
    """What a chapter's cells show, with the words for those who do not see it."""
    told = {path: re.findall(r'"alt": "([^"]+)"', path.read_text()) for path in (ROOT / "tutorials").glob("*.py")}
    assert any(told.values())
    for path, words in told.items():
        page = (pages / f"{path.stem}.html").read_text()
        assert [text for text in words if f'alt="{text}"' not in page] == []


def _each_public_name_has_an_entry(html):
    with open(html / "objects.inv", "rb") as file:
        inventory = InventoryFile.load(file, "", lambda base, uri: uri)
    known = {name for kind in inventory.values() for name in kind}
    public = [f"{name}.{each}" for name in MODULES for each in importlib.import_module(name).__all__]
    public += [f"forgenb.ops.{name}" for name in TABLE]
    assert len(public) > 350
    assert [name for name in public if name not in known and name not in MODULES] == []
    assert [name for name in fnb.__all__ if f"forgenb.{name}" not in public] == []


PARTS = ("equation", "code", "saved-for-backward", "check", "slopes", "support", "planted-faults", "see-also")
ERRORS = re.compile(r"<td><p>\d\.\de[+-]\d\d</p></td>")


def _each_op_has_a_page_with_its_parts(html):
    entries, home = (html / "api/forgenb.ops.html").read_text(), (html / "index.html").read_text()
    listed = (html / "ops/index.html").read_text()
    assert 'href="ops/index.html"' in home
    for name, row in TABLE.items():
        text = (html / f"ops/{name}.html").read_text()
        why = "backward-rule" if row.differentiable or name == "astype" else "why-there-is-no-gradient"
        assert [part for part in (*PARTS, why) if f'<section id="{part}">' not in text] == [], name
        assert f'href="../api/forgenb.ops.html#forgenb.ops.{name}"' in text, name
        assert f'href="../ops/{name}.html"' in entries, name
        assert listed.count(f'href="{name}.html"') >= 2, name
        assert text.count("<math ") > 0, name
        assert text.count("<table") == text.count("<thead>") > 0, name
        levels = [int(level) for level in re.findall(r"<h([1-6])\b", text)]
        assert all(lower <= upper + 1 for upper, lower in zip([0, *levels], levels)), name
        source = (html / f"_modules/{row.function.__module__.replace('.', '/')}.html").read_text()
        if row.function.__name__ == name:
            assert f'api/forgenb.ops.html#forgenb.ops.{name}"' in source, name
        if why == "backward-rule":
            assert '<svg role="img" aria-label="' in text, name
            assert len(ERRORS.findall(text)) >= 1, name


@pytest.mark.parametrize(
    ("text", "remote"),
    [
        ('<script src="https://cdn.example/x.js">', True),
        ('<link href="//fonts.example/a.css" rel="stylesheet">', True),
        ("a { background: url(http://example/a.png) }", True),
        ('<a href="https://example.org">', False),
        ('<script src="_static/a.js">', False),
    ],
)
def test_what_is_remote_is_seen(text, remote):
    assert bool(REMOTE.search(text)) is remote
