"""A tape as text: a table with times and bytes, and a list of what each entry reads.

Imports entries; how a tape comes by them is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence

from .tape_entry import Entry

_CAPS = {
    "#": 5,
    "op": 14,
    "inputs": 11,
    "output": 17,
    "dtype": 8,
    "saved": 7,
    "kernels": 15,
    "fwd us": 7,
    "bwd us": 7,
}


def table(entries: Sequence[Entry]) -> str:
    """One line for each entry, in columns, and one that sums them up."""
    rows = [_cells(entry) for entry in entries]
    widths = [
        min(cap, max(len(title), *(len(row[i]) for row in rows), 0)) for i, (title, cap) in enumerate(_CAPS.items())
    ]
    lines = [_line(list(_CAPS), widths), " ".join("-" * width for width in widths)]
    lines += [_line(row, widths) for row in rows]
    saved, forward = sum(e.saved for e in entries), sum(e.forward for e in entries)
    backward, launches = sum(e.backward for e in entries), sum(len(e.kernels) for e in entries)
    lines.append(
        f"{len(entries)} entries, {size(saved)} saved, {launches} launches, "
        f"forward {forward * 1e6:.0f} us, backward {backward * 1e6:.0f} us"
    )
    return "\n".join(lines)


def graph(entries: Sequence[Entry]) -> str:
    """One line for each entry, with what it reads."""
    lines = []
    for entry in entries:
        read = ", ".join("constant" if i is None else entries[i].name for i in entry.inputs)
        lines.append(entry.title + (f" <- {read}" if read else ""))
    return "\n".join(lines)


def size(nbytes: float) -> str:
    """Bytes with three digits and a unit."""
    for unit in ("B", "KB", "MB"):
        if nbytes < 1000:
            return f"{nbytes:.3g}{unit}"
        nbytes /= 1000
    return f"{nbytes:.3g}GB"


def _cells(entry: Entry) -> list[str]:
    return [
        str(entry.number),
        entry.op,
        " ".join("-" if i is None else str(i) for i in entry.inputs),
        " ".join("x".join(map(str, shape)) or "()" for shape in entry.shapes),
        entry.dtype,
        "" if entry.leaf else size(entry.saved),
        " ".join(dict.fromkeys(name.removesuffix("_kernel") for name in entry.kernels)),
        "" if entry.leaf else f"{entry.forward * 1e6:.0f}",
        f"{entry.backward * 1e6:.0f}" if entry.backward else "",
    ]


def _line(cells: list[str], widths: list[int]) -> str:
    cut = [c if len(c) <= width else c[: width - 2] + ".." for c, width in zip(cells, widths)]
    return " ".join(c.ljust(width) for c, width in zip(cut, widths)).rstrip()
