"""The pages under docs/, and the examples on them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def page(name):
    """The text of a page."""
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def examples(text):
    """The blocks of Python on a page, in order."""
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def shown(code):
    """What an example says that it prints: the comments behind its prints."""
    return re.findall(r"print\(.*\)  # (.*)", code)
