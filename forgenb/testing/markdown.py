"""Tables of the generated pages, as Markdown. Imports nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The table as text, without a line break at its end."""
    lines = (header, ["---"] * len(header), *rows)
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)
