"""A hash of all sources that a page's output depends on, so that a changed kernel runs all chapters again."""

import hashlib
from collections.abc import Iterable
from pathlib import Path


def source_hash(root: Path, folders: Iterable[str] = ("forgenb", "backends")) -> str:
    """Of the Python files of the package and its backends under `root`, by name and content."""
    found = hashlib.sha256()
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            found.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:16]
