"""Pages in headless Chromium, driven by Playwright: sizes, colour schemes, keys, errors, requests and screenshots.

Chromium is the system's own (``apt-get install chromium``), found on PATH; nothing is downloaded and no page reaches a
network. A module takes the fixture `chromium` and opens pages with `opened`.
"""

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND"


@dataclass
class Opened:
    """A page that is open.

    Attributes
    ----------
    page
        Playwright's own: ``page.evaluate(script)``, ``page.keyboard.press("End")``, ``page.screenshot(path=...)``.
    errors : list of str
        Errors and warnings of the console, and exceptions that no script caught.
    requests : list of str
        Addresses that were asked for after the page itself.
    """

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def text(self, selector: str) -> str:
        """The text of the first element that fits."""
        return self.page.text_content(selector)

    def overflow(self) -> int:
        """By how many pixels the page is wider than its window."""
        return self.page.evaluate("document.documentElement.scrollWidth - innerWidth")


def program() -> str | None:
    """The path of a Chromium, or None."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


def missing(reason: str) -> None:
    """Skip, or fail where the run says that nothing of this kind may be skipped."""
    if os.environ.get("REQUIRE_BROWSER"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def chromium():
    """A running browser for one module; a longer life would leave its event loop to other tests."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("pages are driven by playwright: pip install forgenb[test]")
    path = program()
    if path is None:
        missing(f"none of {', '.join(PROGRAMS)} is on PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[OFFLINE], chromium_sandbox=False)
        yield browser
        browser.close()


@contextmanager
def opened(browser, path, width=1300, height=900, scheme="light"):
    """Open a file at a size and in a colour scheme, inside a ``with`` block that gives an `Opened`."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, offline=True)
    found = Opened(context.new_page())
    found.page.set_default_timeout(60_000)
    found.page.on("console", lambda said: said.type in ("error", "warning") and found.errors.append(said.text))
    found.page.on("pageerror", lambda error: found.errors.append(str(error)))
    address = path.resolve().as_uri()
    found.page.on("request", lambda asked: asked.url != address and found.requests.append(asked.url))
    try:
        found.page.goto(address)
        yield found
    finally:
        context.close()
