"""Pictures of slopes as SVG text: a curve with its derivative, or which input moves which output, and by how much.

Colours come from the page's style, so that they fit a light and a dark background; the words of `aria-label` say what
a picture shows.
"""

from html import escape

import numpy as np

import forgenb as fnb
from forgenb.gradcheck.subject import Subject
from forgenb.ops import TABLE
from forgenb.testing.samples import samples

from .subjects import Shown

WIDE, HIGH, EDGE = 480, 260, 36
POINTS = 121
CELL = 12
LEVELS = 4
"""Strengths of colour of an entry, beside none for 0."""


def picture(shown: Shown) -> str:
    """The curve of an op that works element by element on one operand, else the picture of its Jacobian."""
    found = curve(shown)
    return found if found else jacobian_picture(shown)


def curve(shown: Shown) -> str:
    """The values and slopes over the range of the row's samples; empty where the op is no function of one number."""
    places = shown.sample.reals
    if places != (0,) and not (len(places) == 2 and shown.op.endswith("_grad") and shown.names[-1] == "dout"):
        return ""
    given = np.concatenate([s.arrays[0].ravel() for s in samples(shown.op) if s.reals == places])
    x = np.linspace(np.ceil(given.min() * 20) / 20, np.floor(given.max() * 20) / 20, POINTS)
    if shown.run(*map(fnb.tensor, shown.values))[0].shape != shown.sample.arrays[0].shape or not _by_element(shown, x):
        return ""
    y, slopes = _value_and_slope(shown, x)
    drawn = "its value and its derivative" if slopes is not None else "its value"
    with_ones = " for dout = 1" if len(places) == 2 else ""
    return _axes(x, y, slopes, f"{shown.op} from {x[0]:g} to {x[-1]:g}: {drawn}{with_ones}")


def _call(shown: Shown, leaf: fnb.Tensor):
    others = [fnb.tensor(np.ones(leaf.shape)) for _ in shown.sample.arrays[1:]]
    return TABLE[shown.op].function(leaf, *others, **shown.sample.keywords)


def _by_element(shown: Shown, x: np.ndarray) -> bool:
    """Whether each entry of the result follows from the entry in its place alone, and is computed, not moved."""
    given = fnb.tensor(x)
    try:
        results = [_call(shown, t) for t in (given, fnb.tensor(x[::-1].copy()), fnb.tensor(x[:1].copy()))]
    except fnb.errors.ForgeError:
        return False
    whole, turned, first = results
    if any(not isinstance(t, fnb.Tensor) for t in results) or whole.shape != x.shape or first.shape != (1,):
        return False
    alike = np.array_equal(whole.numpy(), turned.numpy()[::-1]) and whole.numpy()[0] == first.numpy()[0]
    return alike and whole.memory is not given.memory


def _value_and_slope(shown: Shown, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    leaf = fnb.tensor(x, requires_grad=True)
    out = _call(shown, leaf)
    if not out.requires_grad:
        return out.numpy().astype(float), None
    out.backward(fnb.tensor(np.ones(x.shape)))
    return out.numpy(), None if leaf.grad is None else leaf.grad.numpy()


def _axes(x: np.ndarray, y: np.ndarray, slopes: np.ndarray | None, words: str) -> str:
    lines = [y] if slopes is None else [y, slopes]
    seen = np.concatenate([line[np.isfinite(line)] for line in lines])
    low, high = min(float(seen.min()), 0.0), max(float(seen.max()), 0.0)
    margin = 0.06 * (high - low or 1.0)
    low, high = low - margin, high + margin

    def at(u, v):
        return (
            EDGE + (u - x[0]) / (x[-1] - x[0]) * (WIDE - 2 * EDGE),
            HIGH - EDGE + (v - low) / (high - low) * (2 * EDGE - HIGH),
        )

    parts = [_grid(at, x, low, high)]
    for kind, line in zip(("value", "slope"), lines):
        parts += [f'<polyline class="{kind}" points="{points}"/>' for points in _pieces(at, x, line)]
    names = ("value", "derivative")[: len(lines)]
    for i, (kind, name) in enumerate(zip(("value", "slope"), names)):
        left = EDGE + 130 * i
        parts.append(f'<line class="{kind}" x1="{left}" y1="14" x2="{left + 28}" y2="14"/>')
        parts.append(f'<text x="{left + 34}" y="18">{name}</text>')
    return _svg(WIDE, HIGH, words, parts)


def _pieces(at, x: np.ndarray, line: np.ndarray):
    """The points of a line, cut where it jumps by more than a third of its range."""
    jump = (np.nanmax(line) - np.nanmin(line)) / 3
    cuts = np.flatnonzero(np.abs(np.diff(line)) > jump) + 1 if jump else []
    for xs, ys in zip(np.split(x, cuts), np.split(line, cuts), strict=True):
        yield " ".join("{:.0f},{:.1f}".format(*at(u, v)) for u, v in zip(xs, ys, strict=True))


def _grid(at, x: np.ndarray, low: float, high: float) -> str:
    left, right = at(x[0], 0)[0], at(x[-1], 0)[0]
    parts = []
    for v in _ticks(low, high):
        y = at(x[0], v)[1]
        kind = "axis" if v == 0 else "grid"
        parts.append(f'<line class="{kind}" x1="{left:.0f}" y1="{y:.0f}" x2="{right:.0f}" y2="{y:.0f}"/>')
        parts.append(f'<text class="left" x="{left - 4:.0f}" y="{y + 4:.0f}">{v:g}</text>')
    for u in _ticks(x[0], x[-1]):
        kind, place = "axis" if u == 0 else "grid", at(u, 0)[0]
        parts.append(f'<line class="{kind}" x1="{place:.0f}" y1="{EDGE}" x2="{place:.0f}" y2="{HIGH - EDGE}"/>')
        parts.append(f'<text class="below" x="{place:.0f}" y="{HIGH - EDGE + 16}">{u:g}</text>')
    return "".join(parts)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers inside a range, about five."""
    raw = (high - low) / 5
    unit = 10.0 ** np.floor(np.log10(raw))
    step = next(unit * k for k in (1, 2, 5, 10) if unit * k >= raw * 0.99)
    return [float(round(n * step, 10)) + 0.0 for n in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)]


def jacobian(shown: Shown) -> list[np.ndarray]:
    """For each operand with a gradient, the derivative of every output entry (rows) by every entry (columns)."""
    subject = Subject(shown.run, shown.values, 0)
    outputs, pull = subject.pullback()
    rows = []
    for number, y in enumerate(outputs):
        for place in range(y.size):
            seeds = [np.zeros(out.shape) for out in outputs]
            seeds[number].flat[place] = 1.0
            pulled = pull(seeds)
            rows.append([np.zeros(v.size) if g is None else g.ravel() for g, v in zip(pulled, subject.values)])
    return [np.array([row[number] for row in rows]) for number in range(len(shown.values))]


def jacobian_picture(shown: Shown) -> str:
    """A square for each derivative that is not 0: its hue is the sign, its strength the size."""
    parts, left, said = [], 4, []
    matrices = jacobian(shown)
    top, largest = 26, max(float(np.abs(m).max(initial=0.0)) for m in matrices) or 1.0
    rows = matrices[0].shape[0]
    cell = CELL if max(rows, sum(m.shape[1] for m in matrices)) <= 60 else CELL / 2
    for place, matrix in zip(shown.places, matrices, strict=True):
        wide = matrix.shape[1] * cell
        parts.append(f'<rect class="frame" x="{left}" y="{top}" width="{wide:g}" height="{rows * cell:g}"/>')
        parts.append(f'<text x="{left}" y="{top - 8}">{escape(shown.names[place])}</text>')
        parts += _cells(matrix / largest, left, top, cell)
        said.append(f"{np.count_nonzero(matrix)} of {matrix.size} for {shown.names[place]}")
        left += max(wide, 8 * len(shown.names[place])) + 14
    words = f"A row for each entry of the result, a column for each of an operand; not 0 are {', '.join(said)}"
    return _svg(left, top + rows * cell + 4, words, parts, " Blue is above 0, orange below, stronger is larger.")


def _cells(matrix: np.ndarray, left: float, top: float, cell: float) -> list[str]:
    """One path for each sign and strength."""
    strength = np.ceil(np.abs(matrix) * LEVELS - 1e-9).astype(int)
    strength[(matrix != 0) & (strength == 0)] = 1
    parts = []
    for sign, kind in ((1, "plus"), (-1, "minus")):
        for level in range(1, LEVELS + 1):
            places = np.argwhere((np.sign(matrix) == sign) & (strength == level))
            if len(places):
                corners = [f"M{left + c * cell:g} {top + r * cell:g}" for r, c in places]
                moves = "".join(f"{corner}h{cell:g}v{cell:g}h-{cell:g}z" for corner in corners)
                parts.append(f'<path class="{kind}" fill-opacity="{level / LEVELS:g}" d="{moves}"/>')
    return parts


def _svg(wide: float, high: float, words: str, parts: list[str], more: str = "") -> str:
    """The picture as one block of HTML, with its words for those who see it and those who do not."""
    head = f'<svg role="img" aria-label="{escape(words)}" viewBox="0 0 {wide:g} {high:g}" width="{wide:g}"'
    lines = ['<figure class="op-picture">', f'{head} xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>']
    return "\n".join([*lines, f"<figcaption>{escape(words)}.{more}</figcaption>", "</figure>"])
