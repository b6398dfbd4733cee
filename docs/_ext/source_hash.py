"""A hash of all sources that a page's output depends on, so that a changed kernel runs all chapters again."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

SUFFIXES = (".py", ".html", ".css", ".js")


def source_hash(root: Path, folders: Iterable[str] = ("forgenb", "backends")) -> str:
    """Of the files of the package and its backends under `root`, by name and content."""
    found = hashlib.sha256()
    for folder in folders:
        for path in sorted(path for path in (root / folder).rglob("*") if path.suffix in SUFFIXES):
            found.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:16]
