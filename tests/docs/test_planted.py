"""A fault that is planted in a copy of the project turns its tests or its site red."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.site import ROOT, WRITTEN, variables

pytest.importorskip("sphinx", reason="the site needs pip install forgenb[docs]")

LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "golden", "benchmarks.svg")
CHAPTER = "# %% [markdown]\n# # A chapter\n\n# %%\nfound = 1 + 1\nassert found == 2\n"
HOME = "# Home\n\nThe [conventions](conventions.md).\n\n```{toctree}\nconventions\ntutorials/00_a\n```\n"


@pytest.fixture
def copy(tmp_path):
    folder = tmp_path / "project"
    shutil.copytree(ROOT, folder, ignore=_left_out)
    return folder


def _left_out(folder, names):
    """What a build of the site writes may be in the making."""
    return LEFT_OUT(folder, names) | (WRITTEN if Path(folder) == ROOT / "docs" else set())


def run(copy, *command):
    """A program of Python on the copy."""
    environment = variables(copy)
    environment.pop("PYTEST_ADDOPTS", None)
    found = subprocess.run(
        [sys.executable, *map(str, command)], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    return found.returncode, found.stdout + found.stderr


def plant(path, old, new):
    """Replace `old`, which is there once."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, path
    path.write_text(text.replace(old, new), encoding="utf-8")


def pytest_on(copy, file, word):
    return run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"tests/{file}", "-k", word)


def test_a_chapter_that_is_wrong_fails(copy):
    code, said = pytest_on(copy, "test_tutorials.py", "01_slopes and helpful")
    assert (code, "1 passed" in said) == (0, True), said
    with open(copy / "tutorials/01_slopes.py", "a", encoding="utf-8") as file:
        file.write("\nassert False, 'planted'\n")
    code, said = pytest_on(copy, "test_tutorials.py", "01_slopes and helpful")
    assert (code, "AssertionError: planted" in said) == (1, True), said


def test_a_wrong_number_in_a_docstring_fails(copy):
    plant(copy / "forgenb/tape_table.py", "    [2.0, 4.0]\n", "    [2.0, 5.0]\n")
    code, said = pytest_on(copy, "test_doctests.py", "tape_table or scaling")
    assert (code, "1 failed, 1 passed" in said, "[2.0, 5.0]" in said) == (1, True, True), said


@pytest.fixture
def site(copy):
    """A home page, one page and one chapter, with the settings of the whole site."""
    for path in copy.glob("docs/*"):
        if path.is_dir() and path.name != "_ext":
            shutil.rmtree(path)
        elif path.suffix == ".md" and path.name != "conventions.md":
            path.unlink()
    shutil.rmtree(copy / "tutorials")
    (copy / "tutorials").mkdir()
    (copy / "tutorials/00_a.py").write_text(CHAPTER, encoding="utf-8")
    (copy / "docs/index.md").write_text(HOME, encoding="utf-8")
    return copy


def build(site):
    """With every warning an error, as the whole site is built; leaves out what makes the reference."""
    options = ["-n", "-W", "--keep-going", "-q", "-E", "-b", "html", "-D", "extensions=myst_nb,mathml,chapters"]
    return run(site, "-m", "sphinx", *options, "docs", "docs/_build/html")


def test_a_page_that_did_not_run_and_broken_links_fail(site):
    code, said = build(site)
    assert code == 0, said
    plant(site / "tutorials/00_a.py", "found == 2", "found == 3")
    code, said = build(site)
    assert (code != 0, "ExecutionError" in said, "00_a.py" in said) == (True, True, True), said
    plant(site / "tutorials/00_a.py", "found == 3", "found == 2")
    links = ("absent.md", "conventions.md#absent", "tutorials/01_absent.py")
    plant(site / "docs/index.md", "[conventions](conventions.md)", " ".join(f"[a]({link})" for link in links))
    code, said = build(site)
    assert (code != 0, said.count("myst.xref_missing")) == (True, len(links)), said
