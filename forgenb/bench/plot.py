"""Rows as a picture: how long each contender takes over the fastest peer, for each workload.

Imports the report and forgenb's figures, which need matplotlib.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from forgenb.routine.figures import BLUE, GREY, ORANGE, new_figure, plain_logarithms, write_figure

from .contenders.specs import OWN
from .measure import Row
from .report import fastest_peer, machine_line

__all__ = ["plot"]

BARS = {"forgenb-routine": ORANGE, "forgenb-eager": BLUE}
MARKS = ["o", "s", "D", "^", "v", "P"]
THICK = 0.36


def plot(rows: Sequence[Row], limits: Mapping, path: str | os.PathLike[str]) -> None:
    """Write a picture of the ratios: forgenb's as bars, its peers' as marks, on a logarithmic scale.

    Parameters
    ----------
    rows : sequence of Row
        Those without a peer to compare with are left out.
    limits : mapping
        The machine, for the title.
    path : path
        Of an ``.svg``, ``.png`` or ``.pdf`` file.
    """
    found = ratios(rows)
    figure, axes = new_figure(7.5, 1.4 + 0.5 * len(found))
    places = {workload: -number for number, workload in enumerate(found)}
    for number, (name, colour) in enumerate(BARS.items()):
        mine = {places[workload]: of[name] for workload, of in found.items() if name in of}
        at = [place + THICK * (0.5 - number) for place in mine]
        bars = axes.barh(at, [value - 1 for value in mine.values()], THICK, left=1, color=colour, label=name)
        axes.bar_label(bars, [f" {value:.2g} " for value in mine.values()], fontsize=8)
    peers = [name for name in dict.fromkeys(row.contender for row in rows) if name not in OWN]
    for name, mark in zip(peers, MARKS):
        theirs = [(of[name], places[workload]) for workload, of in found.items() if name in of]
        if theirs:
            axes.scatter(*zip(*theirs), marker=mark, s=22, color=GREY, edgecolors="white", linewidths=0.5, label=name)
    axes.axvline(1, color="black", linewidth=1)
    axes.set(xscale="log", yticks=list(places.values()), yticklabels=list(places))
    plain_logarithms(axes.xaxis)
    axes.margins(x=0.15)
    axes.set_xlabel("time of a step over that of the fastest peer (less is faster)")
    axes.set_title(machine_line(limits), loc="left", fontsize=9)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=8)
    write_figure(figure, path)


def ratios(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Median over the fastest peer's, by workload and contender, where there is a peer and something of forgenb's."""
    found: dict[str, dict[str, float]] = {}
    for workload in dict.fromkeys(row.workload for row in rows):
        timed = [row for row in rows if row.workload == workload and row.median_ms is not None]
        peer = fastest_peer(timed)
        if peer is not None and peer.median_ms and any(row.contender in OWN for row in timed):
            found[workload] = {row.contender: (row.median_ms or 0.0) / peer.median_ms for row in timed}
    return found
