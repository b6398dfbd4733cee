"""Rows as text: what a terminal's table and a Markdown file show.

Imports `measure` and the specs; it draws nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from forgenb.storage.files import write_whole
from forgenb.testing.markdown import table

from .contenders.specs import OWN, SPECS
from .measure import Row

__all__ = [
    "COLUMNS",
    "LEGEND",
    "absent",
    "cells",
    "fastest_peer",
    "figure",
    "machine_line",
    "markdown",
    "shares",
    "versions_line",
    "write_markdown",
]

MARKS = "<!-- results -->", "<!-- end of results -->"
"""Lines of a page between which results stand."""

COLUMNS = ("contender", "ms", "min to max", "ratio", "loss", "peak MB", "sgemm", "copy")

LEGEND = (
    "ms: median of the turns, each the median of its steps. ratio: over the fastest peer. peak MB: resident memory "
    "over that after one small step. sgemm: the FLOP of the step's products over its whole time, as a part of the "
    "measured peak. copy: the bytes that the routine's statements touch over its time, as a part of the measured "
    "bandwidth of a large copy; what lies in a cache comes faster, so there may be more than 100 %."
)
"""What the columns mean."""


def fastest_peer(rows: Iterable[Row]) -> Row | None:
    """The row with the least median among those that are not forgenb's own."""
    peers = [row for row in rows if row.median_ms is not None and row.contender not in OWN]
    return min(peers, key=lambda row: row.median_ms or 0.0, default=None)


def cells(row: Row, peer: Row | None, limits: Mapping) -> tuple[str, ...]:
    """The texts of one row under `COLUMNS`; `row` has times."""
    assert row.median_ms is not None
    ratio = row.median_ms / peer.median_ms if peer is not None and peer.median_ms else None
    return (
        row.contender,
        figure(row.median_ms),
        f"{figure(row.min_ms)} to {figure(row.max_ms)}",
        "-" if ratio is None else f"{ratio:.2f}",
        "-" if row.loss_first is None else f"{row.loss_first:.3f} to {row.loss_last:.3f}",
        "-" if row.peak_mb is None else f"{row.peak_mb:,.0f}",
        *("-" if share is None else f"{share:.0%}" for share in shares(row, limits).values()),
    )


def machine_line(limits: Mapping) -> str:
    """Processor, threads and limits in one sentence."""
    text = f"{limits['cpu']}, {limits['threads']} of {limits['cores']} cores"
    if "skipped" in limits:
        return f"{text}; limits not measured: {limits['skipped']}"
    return f"{text}; sgemm {limits['sgemm_gflops']:.0f} GFLOP/s, copy {limits['copy_gb_s']:.1f} GB/s"


def versions_line(rows: Iterable[Row], limits: Mapping) -> str:
    """Packages and their versions, each once."""
    found: dict[str, set[str]] = {}
    for versions in (limits.get("versions", {}), *(row.versions for row in rows)):
        for name, version in versions.items():
            found.setdefault(name, set()).add(version)
    return ", ".join(f"{name} {' and '.join(sorted(versions))}" for name, versions in found.items())


def markdown(rows: Sequence[Row], limits: Mapping) -> str:
    """One table of all workloads, the machine above it, and below it who did not take part."""
    names = ("workload", *COLUMNS)
    lines = [f"{machine_line(limits)}.", "", f"{versions_line(rows, limits)}.", "", LEGEND, ""]
    peers = {name: fastest_peer(row for row in rows if row.workload == name) for name in {row.workload for row in rows}}
    done = [row for row in rows if row.skipped is None]
    lines.append(table(names, [(row.workload, *cells(row, peers[row.workload], limits)) for row in done]))
    return "\n".join([*lines, *absent(rows)]) + "\n"


def absent(rows: Iterable[Row]) -> list[str]:
    """Lines about the rows that were skipped, if there are any."""
    lines = [f"- {row.workload}, {row.contender}: {row.skipped}" for row in rows if row.skipped is not None]
    return ["", "Not measured:", "", *lines] if lines else []


def write_markdown(text: str, path: str | os.PathLike[str], marks: tuple[str, str] = MARKS) -> None:
    """Write results into a file: between its two lines `marks` if it has them, else in place of all it holds."""
    file = Path(path)
    page = file.read_text(encoding="utf-8") if file.exists() else ""
    before, begin, rest = page.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    whole = f"{before}{begin}\n\n{text}\n{end}{after}" if end else text
    write_whole(file, whole.encode())


def figure(value: float | None) -> str:
    """Three digits, or all of those before the point."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def shares(row: Row, limits: Mapping) -> dict[str, float | None]:
    """The parts of the two measured peaks that a row reaches, in its whole time; None where that is not known.

    Returns
    -------
    dict
        ``sgemm_share``, from the FLOP of the step's products; ``copy_share``, from the bytes of its statements.
    """
    flop = SPECS[row.workload].flop if row.workload in SPECS else 0
    return {
        "sgemm_share": _share(flop, row.median_ms, limits.get("sgemm_gflops")),
        "copy_share": _share(row.nbytes, row.median_ms, limits.get("copy_gb_s")),
    }


def _share(work: int | None, ms: float | None, peak: float | None) -> float | None:
    """FLOP or bytes in a time, over a peak in 1e9 a second."""
    return work / ms / 1e6 / peak if work and ms and peak else None
