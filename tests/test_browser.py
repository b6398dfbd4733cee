"""The browser of the tests sees errors and requests, fits the size and colours that were asked for, or is missed."""

import pytest
from support.browser import chromium, missing, opened, program

__all__ = ["chromium"]


def write(tmp_path, body):
    path = tmp_path / "page.html"
    path.write_text(f'<!doctype html><meta name="viewport" content="width=device-width"><p id="p">told</p>{body}')
    return path


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("<script>console.error('a line')</script>", "a line"),
        ("<script>console.warn('a warning')</script>", "a warning"),
        ("<script>throw new Error('uncaught')</script>", "uncaught"),
        ("<script>console.log('no error')</script>", None),
    ],
)
def test_errors_are_seen(chromium, tmp_path, body, error):
    with opened(chromium, write(tmp_path, body)) as found:
        assert found.text("#p") == "told"
        assert found.errors == ([] if error is None else [error])
        assert found.requests == []


def test_requests_are_seen_and_reach_nothing(chromium, tmp_path):
    with opened(chromium, write(tmp_path, '<img src="https://example.org/a.png" alt="">')) as found:
        assert found.requests == ["https://example.org/a.png"]
        assert "Failed to load resource" in found.errors[0]


def test_size_colours_and_overflow(chromium, tmp_path):
    page = write(tmp_path, '<div style="width: 500px">wide</div>')
    with opened(chromium, page, 360, 700, "dark") as found:
        asked = "[innerWidth, innerHeight, matchMedia('(prefers-color-scheme: dark)').matches]"
        assert found.page.evaluate(asked) == [360, 700, True]
        assert found.overflow() > 100
    with opened(chromium, page, 900) as found:
        assert found.overflow() <= 0
        found.page.screenshot(path=tmp_path / "seen.png")
    assert (tmp_path / "seen.png").read_bytes()[1:4] == b"PNG"


def test_without_a_browser_tests_skip_or_fail_as_the_run_says(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program() is None
    monkeypatch.delenv("REQUIRE_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match="none there"):
        missing("none there")
    monkeypatch.setenv("REQUIRE_BROWSER", "1")
    with pytest.raises(pytest.fail.Exception, match="none there"):
        missing("none there")
