"""Where the time of a routine goes, against what the machine reaches at most: a table, and a picture.

Imports what statements have to do and the measured peaks; it runs no routine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..errors import ArgumentError
from .figures import BLUE, GREY, ORANGE, new_figure, write_figure
from .peaks import Peaks

__all__ = ["Line", "Profile"]

NAMED = 12
"""Kinds of statements that a picture names."""
HEAD = (
    f"{'':<34}{'count':>6}{'us':>10}{'share':>8}{'MB':>10}{'GB/s':>8}{'copy':>6}"
    f"{'MFLOP':>10}{'GFLOP/s':>9}{'product':>8}"
)


@dataclass
class Line:
    """One statement in a profile, or several together, and what they take in one run.

    Attributes
    ----------
    name, scope : str
    statements : int
        How many they are.
    seconds, nbytes, flop
        Their time, the bytes of their operands, each counted once, and floating-point operations. FLOP is exact for
        products, and otherwise an estimate: the arithmetic words of the kernel's body, once an element.
    """

    name: str
    scope: str = ""
    statements: int = 0
    seconds: float = 0.0
    nbytes: int = 0
    flop: int = 0

    @property
    def gb_s(self) -> float:
        """Bytes over time."""
        return self.nbytes / self.seconds / 1e9 if self.seconds else 0.0

    @property
    def gflops(self) -> float:
        """Floating-point operations over time."""
        return self.flop / self.seconds / 1e9 if self.seconds else 0.0

    def add(self, other: Line) -> None:
        """Count another line in."""
        self.statements += other.statements
        self.seconds += other.seconds
        self.nbytes += other.nbytes
        self.flop += other.flop


@dataclass(frozen=True)
class Profile:
    """Where the time of a routine goes; print it for a table, or `plot` it.

    Attributes
    ----------
    routine : str
        Its name.
    runs : int
        How many runs the times are means of.
    statements : list of Line
        Every statement, in order.
    peaks : Peaks
        What the machine reaches at most, measured.
    made : dict
        Seconds that it took to make the routine, see `Routine.seconds`.
    """

    routine: str
    runs: int
    statements: list[Line]
    peaks: Peaks
    made: dict[str, float] = field(default_factory=dict)

    @property
    def lines(self) -> list[Line]:
        """The sums by name of a statement, the slowest first."""
        return _summed(self.statements, lambda line: line.name)

    @property
    def scopes(self) -> list[Line]:
        """The sums by scope, the slowest first."""
        return _summed(self.statements, lambda line: line.scope or "(no scope)")

    @property
    def seconds(self) -> float:
        """The sum of all statements."""
        return sum(line.seconds for line in self.statements)

    def table(self, by: str = "name") -> str:
        """The table as text.

        Parameters
        ----------
        by : str
            ``"name"`` or ``"scope"`` for sums, the slowest first; ``"statement"`` for each of them, in order.

        Notes
        -----
        Under ``copy`` and ``product`` stands the part of the measured peaks that bytes and FLOP over time reach. Bytes
        that lie in a cache come faster than a large copy, so there may be more than 100 %.
        """
        choices = {
            "name": lambda: [(line.name, line) for line in self.lines],
            "scope": lambda: [(line.name, line) for line in self.scopes],
            "statement": lambda: [(f"{n:4d} {line.name}", line) for n, line in enumerate(self.statements)],
        }
        if by not in choices:
            raise ArgumentError(f"a profile has tables by {', '.join(choices)}, got {by!r}")
        return "\n".join([*self._head(), HEAD, *(self._row(name, line) for name, line in choices[by]())])

    def __str__(self) -> str:
        return self.table()

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Write a roofline: each kind of statement as a dot, its area its share of the time, below the two peaks.

        Parameters
        ----------
        path : path
            Of an ``.svg``, ``.png`` or ``.pdf`` file.

        Raises
        ------
        ArgumentError
            If it is no such file, or matplotlib is not installed.
        """
        figure, axes = new_figure(8, 4.5)
        shown = [line for line in self.lines if line.flop and line.nbytes and line.seconds]
        ridge = self.peaks.gflops / self.peaks.copy_gb_s
        densities = [line.flop / line.nbytes for line in shown] + [ridge]
        ends = min(densities) / 3, max(densities) * 3
        limits = [ends[0] * self.peaks.copy_gb_s, self.peaks.gflops, self.peaks.gflops]
        name = f"copy {self.peaks.copy_gb_s:.1f} GB/s, product {self.peaks.gflops:.0f} GFLOP/s"
        axes.plot([ends[0], ridge, ends[1]], limits, color=GREY, label=name)
        for number, line in enumerate(shown, 1):
            share = line.seconds / self.seconds
            at, name = (line.flop / line.nbytes, line.gflops), f"{number}  {line.name} {share:.0%}"
            colour = ORANGE if line.name == "gemm" else BLUE
            axes.scatter(*at, s=30 + 1500 * share, color=colour, alpha=0.5, label=name if number <= NAMED else None)
            if number <= NAMED:
                axes.annotate(str(number), at, fontsize=8, ha="center", va="center")
        axes.set(xscale="log", yscale="log", xlim=ends, xlabel="FLOP a byte", ylabel="GFLOP/s")
        axes.set_title(f"{self.routine}: {1e6 * self.seconds:.0f} us a run", loc="left")
        legend = axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=8)
        for handle in legend.legend_handles[1:]:
            handle.set_sizes([30])
        write_figure(figure, path)

    def _head(self) -> list[str]:
        made = ", ".join(f"{what} {1e3 * seconds:.1f} ms" for what, seconds in self.made.items())
        peaks = f"copy {self.peaks.copy_gb_s:.1f} GB/s, product {self.peaks.gflops:.1f} GFLOP/s"
        first = f"routine {self.routine}: {1e6 * self.seconds:.1f} us a run, mean of {self.runs}; peaks: {peaks}"
        return [first, *([f"made in: {made}"] if made else [])]

    def _row(self, name: str, line: Line) -> str:
        share = line.seconds / self.seconds if self.seconds else 0.0
        return (
            f"{name:<34}{line.statements:>6}{1e6 * line.seconds:>10.1f}{share:>8.1%}"
            f"{line.nbytes / 1e6:>10.3f}{line.gb_s:>8.2f}{line.gb_s / self.peaks.copy_gb_s:>6.0%}"
            f"{line.flop / 1e6:>10.3f}{line.gflops:>9.2f}{line.gflops / self.peaks.gflops:>8.0%}"
        )


def _summed(lines: Iterable[Line], key: Callable[[Line], str]) -> list[Line]:
    found: dict[str, Line] = {}
    for line in lines:
        found.setdefault(key(line), Line(key(line))).add(line)
    return sorted(found.values(), key=lambda line: -line.seconds)
