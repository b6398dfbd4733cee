"""The page of a tape: its entries, steps and sources as data in one HTML file, with the script and style beside this.

What stands in the page is escaped, and the page forbids itself to fetch anything. Imports pictures, entries and steps;
how a tape finds them is not known here.
"""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from types import CodeType
from typing import Any

from ..picture.drawing import Box, drawing
from ..picture.glimpse import NONE, Glimpse
from ..picture.written import Written
from ..tape_entry import Entry
from .journal import Step

__all__ = ["Page", "page"]

MOST = 2000
"""Steps in a page; of more it has the first."""
PIXELS = 640
"""The height of the frame in a notebook."""
LONGEST = 4000
"""Letters of a closure's source; of more the page has the first."""


class Page(Written):
    """A page as HTML: notebooks show it in a frame, ``str()`` is its text, and ``save(path)`` writes it to a file."""

    def __repr__(self) -> str:
        return f"Page of {len(self.text)} characters of HTML: save(path) writes it, a notebook shows it"

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="A tape, step by step" srcdoc="{escape(self.text)}" loading="lazy" '
            f'style="width: 100%; height: {PIXELS}px; border: 1px solid #888"></iframe>'
        )


def page(entries: Sequence[Entry], steps: Sequence[Step], rules: Mapping[int, Sequence[CodeType]], kept: bool) -> Page:
    """The page of a tape's entries and steps; `rules` has the code of closures by entry, `kept` says if it listened."""
    shown = steps[:MOST]
    sources: dict[tuple[CodeType, ...], int] = {}
    data = {
        "entries": [_entry(e, sources.setdefault(tuple(rules.get(e.number, ())), len(sources))) for e in entries],
        "sources": [_source(codes) for codes in sources],
        "steps": [_step(step) for step in shown],
        "left_out": len(steps) - len(shown),
        "kept": kept,
    }
    boxes = [_box(entry, [step for step in shown if step.entry == entry.number]) for entry in entries]
    picture = drawing(boxes, f"The graph of {len(boxes)} entries; the list of steps says the same in words", False)
    parts = {
        "style": _file("explorer.css"),
        "script": _file("explorer.js"),
        "picture": str(picture),
        "data": _safe(data),
    }
    return Page(re.sub(r"@@(\w+)@@", lambda found: parts[found[1]], _file("page.html")))


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _safe(data: Any) -> str:
    """JSON that cannot end the element of the page that holds it."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _entry(entry: Entry, source: int) -> dict[str, Any]:
    return {
        "name": entry.name,
        "leaf": entry.leaf,
        "inputs": entry.inputs,
        "shapes": [str(shape) for shape in entry.shapes],
        "dtype": entry.dtype,
        "saved": entry.saved,
        "kernels": list(dict.fromkeys(entry.kernels)),
        "source": source,
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "kind": step.kind,
        "entry": step.entry,
        "seen": [_glimpse(seen) for seen in step.seen],
        "leaving": [{"entry": gone.entry, "index": gone.index, "grad": _glimpse(gone.grad)} for gone in step.leaving],
    }


def _glimpse(seen: Glimpse) -> dict[str, Any]:
    about = f"{seen.dtype}, shape {seen.shape}" if seen.numbers is not None else ""
    if seen.numbers is not None and seen.numbers.size > 1:
        about += f", {seen.range}"
    return {
        "missing": seen.missing,
        "value": seen.line("value"),
        "grad": seen.line("grad"),
        "numbers": seen.long,
        "about": about,
    }


def _box(entry: Entry, steps: Sequence[Step]) -> Box:
    """A box with room for whatever the steps write into it."""
    values, grads = [], []
    for index in range(len(entry.shapes)):
        seen = [(step.kind in ("backward", "arrived"), step.seen[index]) for step in steps if index < len(step.seen)]
        values.append(max((g for back, g in seen if not back), key=lambda g: len(g.line("value")), default=NONE))
        grads.append(max((NONE, *(g for back, g in seen if back)), key=lambda g: len(g.line("grad"))))
    return Box(entry.title, entry.inputs, entry.leaf, values, grads)


def _source(codes: Sequence[CodeType]) -> str:
    """The text of functions, one after another."""
    return "\n\n".join(map(_text, codes))[:LONGEST]


def _text(code: CodeType) -> str:
    try:
        return textwrap.dedent(inspect.getsource(code)).rstrip()
    except (OSError, TypeError, IndentationError):
        return f"# {code.co_name}: its source is no file that can be read"
