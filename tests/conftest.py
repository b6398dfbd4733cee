"""Fixtures of several folders. No test may leave process-wide state changed: one fails it, and puts the state back."""

import os

import pytest
from support.state import differences, restore, snapshot


def pytest_report_header():
    """Which backend tensors are made on, and whether other plug-ins are left out."""
    names = ("FORGENB_BACKEND", "FORGENB_DISABLE_PLUGINS")
    return "forgenb: " + ", ".join(f"{name}={os.environ.get(name, 'unset')}" for name in names)


@pytest.fixture(autouse=True)
def _nothing_is_left_changed():
    before = snapshot()
    yield
    changed = differences(before, snapshot())
    restore(before)
    assert changed == [], f"the test left state changed: {', '.join(changed)}"


@pytest.fixture
def text(tmp_path):
    """A file with 400 characters of twelve kinds."""
    path = tmp_path / "text.txt"
    path.write_text("abcde fghij\n" * 33 + "abcd")
    return path
