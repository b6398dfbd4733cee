"""``forgenb docs``."""

import importlib.util
import subprocess

import pytest

from forgenb.cli import docs

ROOT = docs.ROOT


@pytest.fixture
def opened(monkeypatch):
    """The addresses that the browser is given."""
    found = []
    monkeypatch.setattr("webbrowser.open", found.append)
    return found


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """One with a site of a single page."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/conf.py").write_text("project = 'small'\nhtml_theme = 'basic'\n")
    (tmp_path / "docs/index.rst").write_text("Small\n=====\n")
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    return tmp_path


def test_a_checkout_has_a_site():
    assert (ROOT / "docs" / "conf.py").is_file()


def test_the_site_is_built_and_opened(forgenb, checkout, opened):
    pytest.importorskip("sphinx", reason="the site needs pip install forgenb[docs]")
    done = forgenb("docs")
    first = checkout / "docs/_build/html/index.html"
    building = f"Building the site in {first.parent}: chapters run for it, about five minutes the first time.\n"
    assert (done.code, done.out, done.err) == (0, f"{building}The site is at {first}\n", "")
    assert "<h1>Small" in first.read_text()
    assert opened == [first.as_uri()]


def test_it_is_built_elsewhere_and_not_opened(forgenb, checkout, opened, monkeypatch):
    commands = []

    def build(command, **keywords):
        commands.append(command[1:])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", build)
    pytest.importorskip("sphinx", reason="the site needs pip install forgenb[docs]")
    done = forgenb("docs", "--no-open", "--out", "elsewhere")
    assert done.out.endswith(f"The site is at {checkout / 'elsewhere/index.html'}\n")
    assert commands == [["-m", "sphinx", "-q", str(checkout / "docs"), "elsewhere"]]
    assert opened == []


def test_a_site_that_cannot_be_built(forgenb, checkout, opened):
    pytest.importorskip("sphinx", reason="the site needs pip install forgenb[docs]")
    (checkout / "docs/conf.py").write_text("1 / 0\n")
    done = forgenb("docs")
    assert (done.code, opened) == (1, [])
    assert "forgenb docs: Sphinx ended with code 2; what it says is above.\n" in done.err


def test_an_installation_has_none(refused, tmp_path, monkeypatch, opened):
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    told = refused("docs")
    assert f"there is no docs/ beside '{tmp_path / 'forgenb'}': the site is built from a checkout" in told
    assert "Say pip install -e '.[docs]' in the folder of the checkout, and forgenb docs again" in told
    assert opened == []


def test_without_sphinx_it_says_what_to_install(refused, checkout, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    told = refused("docs")
    assert f"Sphinx, which builds the site, is not installed: pip install -e '.[docs]' in '{checkout}'" in told
