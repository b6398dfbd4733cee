"""What `decode` and `load` have measured, as tables of Markdown. Imports both and the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forgenb.testing.markdown import table

from .decode import DecodeRow
from .load import LoadRow
from .report import absent, figure, machine_line, versions_line

__all__ = ["DECODE_MARKS", "LOAD_MARKS", "decode_markdown", "load_markdown"]

DECODE_MARKS = "<!-- decode -->", "<!-- end of decode -->"
LOAD_MARKS = "<!-- load -->", "<!-- end of load -->"
"""Lines of a page between which results stand."""

DECODE_COLUMNS = ("workload", "contender", "ms an id", "min to max", "ratio", "limit", "prefill", "launches", "peak MB")
DECODE_LEGEND = (
    "ms an id: median of the turns, each the median of its steps. ratio: over torch-eager. limit: the time of `read` "
    "over it, where `read` goes once through a buffer of as many bytes as a step's weights have. prefill: ms an id of "
    "a longer prompt. launches: kernels and products of a step. peak MB: resident memory while it decodes, the model "
    "included, over that after a tiny model."
)
LOAD_COLUMNS = ("workload", "contender", "ms", "min to max", "ratio", "peak MB")
LOAD_LEGEND = (
    "ms: median of the turns. `read` reads the bytes of the file. load-new: into memory that is new to the process. "
    "load-again: into memory that the model before has had, or a buffer that was written before. ratio: over `read` of "
    "load-again. peak MB: resident memory while a model is loaded, itself included, over that after a tiny model; a "
    "library that maps the file has not read yet what is missing there."
)


def decode_markdown(rows: Sequence[DecodeRow], limits: Mapping) -> str:
    """The machine, the table, and who did not take part."""
    lines = [
        (*_first(row), _ratio(row.ratio), _share(row.limit), figure(row.prefill_ms), row.launches or "-", _mb(row))
        for row in rows
        if row.skipped is None
    ]
    return _page(rows, limits, DECODE_LEGEND, table(DECODE_COLUMNS, lines))


def load_markdown(rows: Sequence[LoadRow], limits: Mapping) -> str:
    """The machine, the table, and who did not take part."""
    lines = [(*_first(row), _ratio(row.ratio), _mb(row)) for row in rows if row.skipped is None]
    return _page(rows, limits, LOAD_LEGEND, table(LOAD_COLUMNS, lines))


def _page(rows: Sequence[DecodeRow] | Sequence[LoadRow], limits: Mapping, legend: str, text: str) -> str:
    above = [f"{machine_line(limits)}.", "", f"{versions_line(rows, limits)}.", "", legend, ""]
    return "\n".join([*above, text, *absent(rows)]) + "\n"


def _first(row: DecodeRow | LoadRow) -> tuple[str, ...]:
    return row.workload, row.contender, figure(row.median_ms), f"{figure(row.min_ms)} to {figure(row.max_ms)}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _mb(row: DecodeRow | LoadRow) -> str:
    return "-" if row.peak_mb is None else f"{row.peak_mb:,.0f}"
