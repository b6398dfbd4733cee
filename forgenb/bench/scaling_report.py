"""What `scaling` has measured, and what follows from it for many nodes, as tables of Markdown.

Imports `projection`, `scaling` and the report. The networks and batches of the projection stand here, as data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial

from forgenb.testing.markdown import table

from .measure import Row
from .projection import Cost, Link, Projected, nodes_below, strong, weak
from .report import figure
from .scaling import ShareTimes, SumTimes

__all__ = ["constants", "measured", "projected", "projection_rows", "scaling_markdown"]

Found = SumTimes | Row | ShareTimes

NETWORKS = (Link("25 Gbit/s", 10.0, 3.125), Link("1 Gbit/s", 50.0, 0.125))
"""Networks of which nothing but this is assumed."""
NODES = (1, 2, 8, 64, 256, 1024)
BATCH = 1024
"""Samples of the batch that is shared out over all nodes."""
HALF = 0.5


def scaling_markdown(found: Sequence[Found], machine: str) -> str:
    """The whole: the machine, what was measured, the constants, and the projection."""
    costs, links = _constants(found)
    return "\n\n".join([f"{machine}.", measured(found), constants(costs, links), projected(costs, links)]) + "\n"


def projection_rows(found: Sequence[Found]) -> Iterator[dict]:
    """The projection as JSON objects, one for each number of nodes."""
    for cost, link, how, step, most in _projections(*_constants(found)):
        below = nodes_below(HALF, step, most)
        for nodes in NODES:
            about = {"workload": cost.workload, "contender": "projection", "link": link.name, "scaling": how}
            yield {**about, **asdict(step(nodes)), "below_half": below, "most_nodes": most}


def _constants(found: Sequence[Found]) -> tuple[list[Cost], list[Link]]:
    """Costs that were measured; links that were measured or are assumed."""
    links = [item.link for item in found if isinstance(item, SumTimes) and item.link is not None]
    return [item.cost for item in found if isinstance(item, ShareTimes)], [*links, *NETWORKS]


def measured(found: Sequence[Found]) -> str:
    """Times of a step in all ways, what could not be measured, and times of its parts."""
    rows = [item for item in found if isinstance(item, Row)]
    alone = {row.workload: row.median_ms for row in rows if (row.contender, row.threads) == ("streams", 1)}
    costs = {item.cost.workload: item.cost for item in found if isinstance(item, ShareTimes)}
    link = next((item.link for item in found if isinstance(item, SumTimes)), None)
    names = ("workload", "shared out over", "how many", "ms", "min to max", "speedup", "model, ms")
    lines = [(*_cells(row, alone.get(row.workload)), _model(row, costs, link)) for row in rows if row.median_ms]
    absent = _absent(found)
    parts = [table(names, lines), *(["Not measured:", "\n".join(absent)] if absent else []), *_parts(found)]
    return "\n\n".join(parts)


def _absent(found: Sequence[Found]) -> list[str]:
    """A line for each reason why something could not be measured."""
    what: dict[str, list[str]] = {}
    for item in found:
        if isinstance(item, Row) and item.skipped:
            what.setdefault(item.skipped, []).append(f"{item.workload}, {item.contender} {item.threads}")
        elif isinstance(item, SumTimes) and item.skipped:
            what.setdefault(item.skipped, []).append("sums over processes")
    return [f"- {'; '.join(names)}: {reason}" for reason, names in what.items()]


def _cells(row: Row, alone: float | None) -> tuple[object, ...]:
    """A row that has times, and how often faster it is than one stream."""
    assert row.median_ms
    speedup = "-" if alone is None else f"{alone / row.median_ms:.2f}"
    spread = f"{figure(row.min_ms)} to {figure(row.max_ms)}"
    return row.workload, row.contender, row.threads, figure(row.median_ms), spread, speedup


def _model(row: Row, costs: dict[str, Cost], link: Link | None) -> str:
    """What the cost model says of a row of processes."""
    if row.contender != "processes" or link is None or row.workload not in costs:
        return "-"
    cost = costs[row.workload]
    return figure(strong(cost, link, row.threads, cost.batch).ms)


def _parts(found: Sequence[Found]) -> Iterator[str]:
    """A sentence for each line that was fitted."""
    for item in found:
        if isinstance(item, ShareTimes):
            pairs = ", ".join(f"{n} in {figure(ms)} ms" for n, ms in zip(item.samples, item.ms))
            yield f"Samples of {item.cost.workload} on one core: {pairs}; the line misses by {item.miss:.0%} at most."
        elif isinstance(item, SumTimes) and item.link is not None:
            pairs = ", ".join(f"{_bytes(n)} in {figure(us)} µs" for n, us in zip(item.nbytes, item.us))
            yield f"Sums over two processes: {pairs}; the line misses by {item.miss:.0%} at most."


def constants(costs: Iterable[Cost], links: Iterable[Link]) -> str:
    """Everything that the projection is made of."""
    first = ("workload", "batch", "fixed ms", "ms a sample", "gradient bytes", "messages", "bytes of the last")
    steps = [(c.workload, c.batch, c.fixed_ms, c.sample_ms, c.nbytes, c.messages, c.last) for c in costs]
    second = ("link", "latency, µs", "bandwidth, GB/s")
    return table(first, steps) + "\n\n" + table(second, [(li.name, li.latency_us, li.gb_s) for li in links])


def _projections(costs: Iterable[Cost], links: Sequence[Link]) -> list[tuple[Cost, Link, str, Callable, int]]:
    """(cost, link, how it scales, the step on a number of nodes, most nodes) of everything that is projected."""
    found: list[tuple[Cost, Link, str, Callable[[int], Projected], int]] = []
    for cost in costs:
        for link in links:
            shared = partial(strong, cost, link, batch=BATCH)
            found.append((cost, link, f"strong, {BATCH:,} in all", shared, BATCH))
            each = partial(weak, cost, link, samples=12)
            found.append((cost, link, "weak, 12 in each", each, NODES[-1]))
    return found


def projected(costs: Iterable[Cost], links: Sequence[Link]) -> str:
    """The projection: a step on some numbers of nodes, and where half of the nodes' time is lost."""
    lines = []
    for cost, link, how, step, most in _projections(costs, links):
        steps = [step(nodes) for nodes in NODES]
        figures = [f"{figure(s.ms)} ({s.efficiency:.0%})" for s in steps]
        below = nodes_below(HALF, step, most)
        where = f"from {below:,} nodes" if below is not None else f"not up to {most:,}"
        there = step(below or most)
        why = f"{there.reason}, {there.lost_ms[there.reason] / sum(there.lost_ms.values()):.0%}"
        lines.append((cost.workload, link.name, how, *figures, figure(steps[-1].apart_ms), where, why))
    names = ("workload", "link", "samples", *(f"{n:,}" for n in NODES), "apart", "below 50 %", "lost there to")
    return table(names, lines)


def _bytes(number: int) -> str:
    return f"{number} B" if number < 1024 else f"{number >> 10} KiB" if number < 1 << 20 else f"{number >> 20} MiB"
