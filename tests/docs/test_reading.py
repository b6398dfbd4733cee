"""The site in a browser: nothing in the way of readers, no error, nothing fetched, wide and narrow, light and dark."""

import pytest
from support.browser import chromium, missing, opened
from support.site import built_site

import forgenb as fnb

pytest.importorskip("sphinx", reason="the site needs pip install forgenb[docs]")

__all__ = ["built_site", "chromium"]

PAGES = ("index", "quickstart", "tutorials/02_scalar_tape", "tutorials/12_attention", "ops/layernorm", "ops/index")
WINDOWS = ((1300, "light"), (360, "light"), (1000, "dark"))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_its_window_and_gives_no_error(chromium, built_site, page):
    for width, scheme in WINDOWS:
        with opened(chromium, built_site / f"{page}.html", width, 900, scheme) as found:
            assert found.overflow() <= 0, (width, scheme)
            assert found.errors == []
            assert [address for address in found.requests if not address.startswith(("file:", "data:", "blob:"))] == []


def judged(chromium, path, width):
    """The violations that axe-core calls critical, its word for what shuts readers out; frames are judged alone."""
    try:
        from axe_core_python.base import AXE_SCRIPT
    except ImportError:
        missing("pages are judged by axe-core: pip install forgenb[test]")
    options = {"iframes": False, "rules": {"color-contrast": {"enabled": False}}}  # slow, and never critical
    with opened(chromium, path, width) as found:
        found.page.evaluate(AXE_SCRIPT)
        said = found.page.evaluate("options => axe.run(document, options)", options)
    assert len(said["passes"]) > 5
    return [(each["id"], each["nodes"][0]["html"]) for each in said["violations"] if each["impact"] == "critical"]


@pytest.mark.parametrize("width", [1300, 360])
def test_axe_finds_nothing_critical(chromium, built_site, width, tmp_path):
    for page in ("index", "tutorials/02_scalar_tape", "ops/layernorm"):
        assert judged(chromium, built_site / f"{page}.html", width) == [], page
    with fnb.Tape(keep=True) as tape:
        (tape.leaf(fnb.tensor([1.0, 2.0])) ** 2).sum().backward()
    tape.explore(tmp_path / "explorer.html")
    assert judged(chromium, tmp_path / "explorer.html", width) == []


def test_axe_sees_what_is_critical(chromium, tmp_path):
    body = "<main><h1>a</h1><p>b</p><img src='data:,'><button></button></main>"
    (tmp_path / "bad.html").write_text(f"<!doctype html><html lang='en'><title>t</title>{body}</html>")
    assert {rule for rule, _ in judged(chromium, tmp_path / "bad.html", 800)} == {"image-alt", "button-name"}


def test_search_finds_an_op_and_a_chapter(chromium, built_site):
    """From the disk, where a browser does not let the search show lines of what it has found."""
    for words, page in (("layernorm", "ops/layernorm.html"), ("broadcasting", "tutorials/03_arrays.html")):
        with opened(chromium, built_site / "index.html") as found:
            found.page.fill("input[name=q]", words)
            found.page.keyboard.press("Enter")
            found.page.wait_for_selector(f'#search-results a[href*="{page}"]')
            assert [e for e in found.errors if "fetch" not in e and "Failed to load resource" not in e] == []
