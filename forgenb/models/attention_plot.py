"""Attention as a picture: a grid of layers and heads, dark where a query takes much of a key.

Imports matplotlib through forgenb's figures, and errors; where weights come from is `trace`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from ..errors import ArgumentError
from ..interop.display import escaped
from ..routine.figures import check_figure_file, new_grid, write_figure

__all__ = ["plot_attention"]

MOST_LABELS = 40
"""Of an axis; more are too small to read, and are left out."""

SIDE = 1.6
"""Inches of one head's square."""


def plot_attention(
    weights: np.ndarray, path: str | os.PathLike[str], labels: Sequence[str] | None = None, title: str | None = None
) -> None:
    """Write a picture of attention weights; the same weights give the same bytes.

    Parameters
    ----------
    weights : ndarray, ``(layers, heads, queries, keys)`` or ``(layers, heads, keys)``
        Such as `attention_matrix` of the records of a text, or ``record.attention`` of one id.
    path : path
        Of an ``.svg``, ``.png`` or ``.pdf`` file.
    labels : sequence of str, optional
        The text of each key; the last ones are the queries. With more than 40 keys they are left out.
    title : str, optional
        Above the grid.

    Raises
    ------
    ArgumentError
        If the weights have another shape, labels do not fit, one or the title is no text, or no picture can be written
        there.
    """
    name = check_figure_file(path)
    texts = [*([] if labels is None else labels), *([] if title is None else [title])]
    if not all(isinstance(text, str) for text in texts):
        raise ArgumentError(f"labels and title of a picture of attention must be text, got {labels!r} and {title!r}")
    try:
        grid = np.asarray(weights, float)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"a picture of attention needs an array of weights: {error}") from None
    grid = grid[:, :, None] if grid.ndim == 3 else grid
    if grid.ndim != 4 or 0 in grid.shape or not np.isfinite(grid).all():
        raise ArgumentError(
            f"a picture of attention needs finite weights [layers, heads, queries, keys], got shape {np.shape(weights)}"
        )
    layers, heads, queries, keys = grid.shape
    if labels is not None and (len(labels) != keys or queries > keys):
        raise ArgumentError(
            f"a picture of {queries} queries and {keys} keys got {len(labels)} labels: one for each key"
        )
    tall = SIDE * max(0.25, min(1.0, queries / keys))
    figure, axes = new_grid(0.8 + SIDE * heads, 0.9 + tall * layers, layers, heads)
    for layer in range(layers):
        for head in range(heads):
            _draw(axes[layer][head], grid[layer, head])
            if layer == 0:
                axes[layer][head].set_title(f"head {head}", fontsize=8)
        axes[layer][0].set_ylabel(f"layer {layer}", fontsize=8)
    if labels is not None and keys <= MOST_LABELS:
        _label(axes, [_plain(label) for label in labels], queries)
    if title is not None:
        figure.suptitle(_plain(title), fontsize=9)
    write_figure(figure, name)


def _draw(axes, weights: np.ndarray) -> None:
    axes.imshow(weights, cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axes.set(xticks=[], yticks=[])


def _label(axes, labels: list[str], queries: int) -> None:
    """Keys below the lowest row of the grid, and queries left of its first column."""
    size = min(7.0, 72 * SIDE / len(labels))
    for lowest in axes[-1]:
        lowest.set_xticks(range(len(labels)), labels, fontsize=size, rotation=90)
    for row in axes:
        row[0].set_yticks(range(queries), labels[-queries:], fontsize=size)


def _plain(text: str) -> str:
    """Text without what a picture cannot show, or would read as a formula."""
    shown = escaped(text)
    return shown.replace(" ", "\u2423").replace("$", r"\$") if shown.strip() == "" else shown.replace("$", r"\$")
