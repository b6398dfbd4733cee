"""Tables of the generated pages, as Markdown. Imports nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The table as text, without a line break at its end."""
    lines = (header, ["---"] * len(header), *rows)
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in lines)
