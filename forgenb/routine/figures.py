"""Figures without a window: what draws into a file, for whoever has matplotlib.

Imports matplotlib when something is drawn, and nothing of forgenb but its errors.
"""

from __future__ import annotations

import io
import os
import warnings
from typing import Any

from ..errors import ArgumentError

__all__ = ["check_figure_file", "new_figure", "new_grid", "plain_logarithms", "write_figure"]

KINDS = (".svg", ".png", ".pdf")
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#7f7f7f"
"""Colours that differ for colour-blind readers, too, and in print."""


def check_figure_file(path: str | os.PathLike[str]) -> str:
    """The name of a file that a figure can be written to, checked before anything is measured for it.

    Raises
    ------
    ArgumentError
        If its ending is not one of a picture, its folder is not there, or matplotlib is not installed.
    """
    if not isinstance(path, (str, os.PathLike)) or "\0" in os.fspath(path):
        raise ArgumentError(f"a picture is written to a file whose name is text or a path, got {path!r}")
    name = os.fspath(path)
    if os.path.splitext(name)[1].lower() not in KINDS:
        raise ArgumentError(f"a picture is written as {', '.join(KINDS)}, got {name!r}: give its name such an ending")
    if os.path.isdir(name) or not os.path.isdir(os.path.dirname(name) or "."):
        raise ArgumentError(f"the picture {name!r} is not a file in a folder that is there")
    _matplotlib()
    return name


def new_figure(width: float, height: float) -> tuple[Any, Any]:
    """A figure in inches and its axes, without the frame lines that carry nothing."""
    figure = _matplotlib()(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def new_grid(width: float, height: float, rows: int, columns: int) -> tuple[Any, Any]:
    """A figure in inches and its ``[rows][columns]`` axes."""
    figure = _matplotlib()(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def plain_logarithms(axis: Any) -> None:
    """Mark a logarithmic axis at 1, 2 and 5 of each decade, in plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(lambda value, place: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())


def write_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure once all of it is drawn; the same one gives the same bytes, and letters stay text in SVG.

    Letters that the font has not are boxes elsewhere, and nothing is said of them.

    Raises
    ------
    ArgumentError
        See `check_figure_file`, or the file cannot be written.
    """
    import matplotlib

    name = check_figure_file(path)
    kind = os.path.splitext(name)[1].lower()
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    drawn = io.BytesIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "forgenb"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(drawn, format=kind[1:], dpi=150, metadata=dates.get(kind))
    try:
        with open(name, "wb") as file:
            file.write(drawn.getbuffer())
    except OSError as error:
        raise ArgumentError(f"the picture {name!r} cannot be written: {error.strerror}") from error


def _matplotlib() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ArgumentError(
            f"a picture needs matplotlib, which cannot be imported ({error}): pip install matplotlib, or do "
            "without the picture"
        ) from None
    return Figure
