"""Each statement of the list has a test that names it, on every backend where the backend can matter.

The list is of public reports of what went wrong in other libraries of this kind, as statements with the right value.
"""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
EVERYWHERE = {
    "tape": "P01 P03 P05 P07 P08 P10 P12 P14 P16",
    "aliasing": "P18 P20 P22",
    "shapes": "P24 P26 P28 P30 P32",
    "conventions": "P33 P36 P38 P40 P42 P44 P46",
    "training": "P57 P59 P61 P63 P65 P67 P69",
    "data": "P70",
}
ONCE = {"checking": "P49 P51 P53 P55", "surroundings": "P106 P108 P110 P112 P114 P116"}


def statements(sections):
    return {statement for text in sections.values() for statement in text.split()}


def named_in(tree, docs="", everywhere=False):
    """(docstrings of a test and its class, whether it takes each backend) of all tests in a file."""
    marks = [n for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "pytestmark"]
    everywhere = everywhere or any("each_backend" in ast.unparse(mark) for mark in marks)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from named_in(node, ast.get_docstring(node) or "", everywhere)
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            own = ast.unparse(node.args) + "".join(map(ast.unparse, node.decorator_list))
            yield docs + (ast.get_docstring(node) or ""), everywhere or "each_backend" in own


def named():
    """Statement -> whether one of the tests that name it takes each backend."""
    found = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for docs, everywhere in named_in(ast.parse(path.read_text(encoding="utf-8"))):
            for statement in re.findall(r"\bP\d+\b", docs):
                found[statement] = found.get(statement, False) or everywhere
    return found


def test_every_statement_is_named_by_a_test():
    found = named().keys()
    assert sorted((statements(EVERYWHERE) | statements(ONCE)) - found) == []


def test_every_statement_is_shown_on_every_backend():
    found = named()
    assert sorted(s for s in statements(EVERYWHERE) if not found.get(s)) == []


def test_the_look_for_statements_finds_them():
    text = 'class TestThis:\n  """P1."""\n  def test_it(self, each_backend):\n    """P2."""\n  def test_too(self): pass'
    assert list(named_in(ast.parse(text))) == [("P1.P2.", True), ("P1.", False)]
    assert list(named_in(ast.parse("pytestmark = uses('each_backend')\ndef test(): 'P3'"))) == [("P3", True)]
