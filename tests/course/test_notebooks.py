"""Chapters become notebooks that read well and run."""

import inspect
import json
import re
import sys

import pytest

from forgenb.course import chapter, chapters, notebook
from forgenb.course.plain_markdown import plain
from forgenb.errors import ArgumentError
from forgenb.ops import arithmetic

needs_jupytext = pytest.mark.skipif(
    not all(map(__import__("importlib.util").util.find_spec, ("jupytext", "nbformat", "nbclient", "ipykernel"))),
    reason="notebooks need pip install forgenb[docs]",
)


@needs_jupytext
@pytest.mark.parametrize("each", chapters(), ids=lambda each: each.path.stem)
def test_every_chapter_reads_well(each):
    import nbformat

    made = nbformat.reads(notebook(each).decode(), as_version=4)
    nbformat.validate(made)
    prose = [cell.source for cell in made.cells if cell.cell_type == "markdown"]
    code = [cell.source for cell in made.cells if cell.cell_type == "code"]
    assert prose[0].startswith(f"# {int(each.number)}. {each.title}\n")
    assert "fnb.course.check(number, answer)" in code[-1]
    for text in prose:
        assert re.search(r"\{[a-z:]+\}`|^(```|:::)\{|\]\(\.\.?/|align\*", text, re.MULTILINE) is None, text
    assert made.metadata.kernelspec.name == "python3"


@needs_jupytext
def test_a_notebook_runs(tmp_path):
    import nbclient
    import nbformat

    made = nbformat.reads(notebook(chapter(1)).decode(), as_version=4)
    nbclient.NotebookClient(made, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    told = "".join(out.get("text", "") for out in made.cells[-2].outputs)
    assert "01-1 not yet: curvature is still to be written: " in told


def test_without_jupytext_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jupytext", None)
    with pytest.raises(
        ArgumentError, match=r"jupytext, which is not installed .*: pip install 'forgenb\[docs\]', or work"
    ):
        notebook(chapter(1))


def include(path, *options):
    return "\n".join(["before", "", f"```{{literalinclude}} /../{path}", *options, "```", "", "after"])


def test_included_code_is_there():
    found = plain(include("forgenb/ops/arithmetic.py", ":pyobject: mul"))
    code = inspect.getsource(arithmetic.mul).rstrip()
    assert found == f"before\n\nFrom `forgenb/ops/arithmetic.py`:\n\n```python\n{code}\n```\n\nafter"
    found = plain(include("backends/forgenb_python/__init__.py", ":language: python"))
    assert "```python\n" in found
    assert '"""' in found
    assert "    def shape(self)" in plain(include("forgenb/tensor.py", ":pyobject: Tensor.shape"))


def test_a_stretch_of_code_is_moved_to_the_left():
    marks = ":pyobject: mul", ":start-at: def backward", ":dedent: 4"
    whole = [line.removeprefix("    ") for line in inspect.getsource(arithmetic.mul).splitlines()]
    begin = whole.index("def backward(dout):")
    end = next(i for i in range(begin, len(whole)) if "return" in whole[i])
    for last, stop in ((":end-at: return", end + 1), (":end-before: return", end)):
        code = "\n".join(whole[begin:stop])
        assert f"```python\n{code}\n```" in plain(include("forgenb/ops/arithmetic.py", *marks, last))


@pytest.mark.parametrize(
    ("path", "option", "message"),
    [
        (
            "forgenb/ops/arithmetic.py",
            ":start-at: no such line",
            "no line of what is included of .* has 'no such line'",
        ),
        ("forgenb/ops/arithmetic.py", ":pyobject: no_such", "there is no no_such in forgenb/ops/arithmetic.py"),
        ("forgenb/ops/arithmetic.py", ":lines: 1-2", "has options that are not known here: lines"),
        ("forgenb/none.py", ":pyobject: mul", "forgenb/none.py is not there: its code cannot be included"),
        ("no_such_package/none.py", ":pyobject: mul", "no_such_package/none.py is not there"),
    ],
)
def test_what_cannot_be_included(path, option, message):
    with pytest.raises(ArgumentError, match=message):
        plain(include(path, option))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("see {py:func}`~forgenb.ops.exp`", "see `exp`"),
        ("see {func}`forgenb.ops.exp`", "see `forgenb.ops.exp`"),
        ("see {doc}`the page <../tape>`", "see `the page`"),
        ("[the page](../gradcheck.md#top) says", "the page (docs/gradcheck.md) says"),
        ("[out](https://example.org)", "[out](https://example.org)"),
        ("$$ a \\\\ b $$", "$$ \\begin{aligned} a \\\\ b \\end{aligned} $$"),
        ("$$\n\\begin{align*}a\\\\b\\end{align*}\n$$", "$$\n\\begin{aligned}a\\\\b\\end{aligned}\n$$"),
        ("$$ a = b $$ and $x$", "$$ a = b $$ and $x$"),
        ("```python\nx = {1: 2}\n```", "```python\nx = {1: 2}\n```"),
    ],
)
def test_what_only_the_site_understands(text, wanted):
    assert plain(text) == wanted


@needs_jupytext
def test_cells_are_numbered():
    data = notebook(chapter(3))
    assert data == notebook(chapter(3))
    cells = json.loads(data)["cells"]
    assert [cell["id"] for cell in cells] == [f"cell-{place}" for place in range(len(cells))]
    assert all(cell["metadata"] == {} for cell in cells)
