"""What the pages that hold forgenb against other systems name: functions and tests, looked up."""

import ast
import functools
import pkgutil
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


@functools.cache
def names_in(path):
    """Names of the tests in a file below tests/; none where there is no such file."""
    file = TESTS / path
    if not file.is_file():
        return None
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def absent(entry):
    """What an entry names and is not there."""
    found = []
    for name in entry.ours.split():
        try:
            pkgutil.resolve_name(f"forgenb.{name}")
        except (ImportError, AttributeError):
            found.append(name)
    for node in entry.tests.split():
        path, _, function = node.partition("::")
        known = names_in(path)
        if known is None or (function and function not in known):
            found.append(node)
    return found
