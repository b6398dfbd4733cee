"""Prose of a chapter without what only the site understands: included code, roles, links to its pages.

Imports the standard library. A directive that no chapter uses is not known here.
"""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

from ..errors import ArgumentError

INCLUDE = re.compile(r"^```\{literalinclude\} +/\.\./(\S+)\n((?::[\w-]+:.*\n)*)```$", re.MULTILINE)
KNOWN = {"start-at", "end-at", "end-before", "dedent"}
OPTION = re.compile(r"^:([\w-]+): *(.*)$", re.MULTILINE)
ROLE = re.compile(r"\{[a-z]+(?::[a-z]+)?\}`(?:([^`<]+?) *<[^`>]+>|([^`<]+))`")
LINK = re.compile(r"\[([^\]]+)\]\(\.\./([\w/.-]+\.md)(?:#[\w-]+)?\)")
FORMULA = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)


def plain(text: str) -> str:
    """Markdown that reads well in a notebook.

    Parameters
    ----------
    text
        In MyST's notation. The code that it includes is taken from the source that is installed.

    Raises
    ------
    ArgumentError
        What is included is not there.
    """
    text = INCLUDE.sub(_included, text)
    text = ROLE.sub(lambda role: f"`{role[1] or _short(role[2])}`", text)
    text = LINK.sub(r"\1 (docs/\2)", text)
    return FORMULA.sub(_formula, text)


def _short(target: str) -> str:
    return target.rpartition(".")[2] if target.startswith("~") else target


def _formula(found: re.Match[str]) -> str:
    """Lines that are set one below another stand in `aligned`, which goes inside of a formula."""
    body = found[1].replace("{align*}", "{aligned}")
    if r"\\" in body and r"\begin" not in body:
        body = rf" \begin{{aligned}}{body}\end{{aligned}} "
    return f"$${body}$$"


def _included(found: re.Match[str]) -> str:
    options = dict(OPTION.findall(found[2]))
    path, name = found[1], options.pop("pyobject", "")
    options.pop("language", None)
    if options.keys() - KNOWN:
        raise ArgumentError(f"what is included of {path} has options that are not known here: {', '.join(options)}")
    code = _object(_source(path), name, path) if name else _source(path)
    code = "\n".join(_stretch(code.splitlines(), options, path))
    return f"From `{path}`:\n\n```python\n{code.rstrip()}\n```"


def _stretch(lines: list[str], options: dict[str, str], path: str) -> list[str]:
    """The lines between marks, each the text of a line or a part of it, moved to the left."""
    first = _line(lines, options["start-at"], path) if "start-at" in options else 0
    last = len(lines)
    if "end-at" in options:
        last = first + _line(lines[first:], options["end-at"], path) + 1
    if "end-before" in options:
        last = first + _line(lines[first:], options["end-before"], path)
    return [line[int(options.get("dedent", 0)) :] for line in lines[first:last]]


def _line(lines: list[str], mark: str, path: str) -> int:
    for number, line in enumerate(lines):
        if mark in line:
            return number
    raise ArgumentError(f"no line of what is included of {path} has {mark!r}: it cannot be included")


def _source(path: str) -> str:
    """The text of a file of a package, wherever that is installed."""
    package, *parts = path.removeprefix("backends/").split("/")
    found = importlib.util.find_spec(package)
    file = Path(found.origin or "").parent.joinpath(*parts) if found else Path(path)
    if not file.is_file():
        raise ArgumentError(f"{path} is not there: its code cannot be included")
    return file.read_text(encoding="utf-8")


def _object(source: str, name: str, path: str) -> str:
    """The lines of a function or class, by its dotted name."""
    node: ast.AST | None = ast.parse(source)
    for part in name.split("."):
        node = next((n for n in getattr(node, "body", ()) if getattr(n, "name", None) == part), None)
    if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        raise ArgumentError(f"there is no {name} in {path}: it cannot be included")
    start = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return "\n".join(source.splitlines()[start - 1 : node.end_lineno])
