"""Turn placed statements into something that runs: the backend's own replay, or a plain loop over its launches."""

from __future__ import annotations

from math import prod

from ..backend import seam
from .footprint import Footprint, footprint
from .late import Late, value_of
from .stages import Work, stages
from .statements import Launch, Place, Product

GRAIN = 1500.0
"""Nanoseconds of work that a task has at least; handing one over takes a tenth of that."""


def link(statements: list[Launch | Product], backend):
    """A runner with ``run()`` and ``source()`` for statements whose memory has its place."""
    replay = getattr(backend, "replay", None)
    if replay is None:
        return PlainRunner(statements, backend)
    rows, prints, work = [], [], []
    for statement in statements:
        if isinstance(statement, Product):
            places = tuple(map(_number, statement.places))
            scales = tuple(map(_number, statement.scales))
            parts = statement.shape, statement.flags, scales, places, statement.steps, statement.batch
            rows.append(backend.gemm_launch(statement.real, *parts))
            bands = backend.row_bands(statement.real, statement.shape, statement.batch)
        else:
            launcher = seam.launcher(backend, statement.kernel, statement.real, statement.storage)
            values = [_number(v) for v in statement.values]
            rows.append((launcher, statement.extent, statement.chunk, values, statement.packer))
            bands = 1
        prints.append(footprint(statement, bands))
        work.append(Work(_cost(statement, prints[-1]), rows[-1][1]))
    return replay(rows, stages(prints, work, GRAIN))


def _cost(statement: Launch | Product, touched: Footprint) -> float:
    """Nanoseconds on one thread, roughly: enough to tell what is worth sharing out."""
    if isinstance(statement, Product):
        return 100 + prod(statement.shape) * prod(statement.batch) / 40
    moved = sum(high - low for low, high in (touch.whole for touch in touched.touches))
    return 60 + moved / 10


def _number(value):
    """A plain number, or a function that gives it before each run."""
    if isinstance(value, Place):
        return value.address if isinstance(value.offset, Late) else value.address()
    return value.compute if isinstance(value, Late) else value


class PlainRunner:
    """A loop over the statements, each launched by itself: what a debugger can step through."""

    def __init__(self, statements: list[Launch | Product], backend):
        self.statements, self.backend = statements, backend

    def run(self) -> None:
        """Launch every statement in order."""
        for statement in self.statements:
            self.launch(statement)

    def launch(self, statement: Launch | Product) -> None:
        """Launch one statement."""
        if isinstance(statement, Product):
            places = tuple(p.address() if isinstance(p, Place) else p for p in statement.places)
            scales = tuple(value_of(s) for s in statement.scales)
            parts = statement.shape, statement.flags, scales, places, statement.steps, statement.batch
            seam.gemm(self.backend, statement.real, *parts)
            return
        numbers = [v.address() if isinstance(v, Place) else value_of(v) for v in statement.values]
        block = statement.packer.pack(*numbers)
        how = statement.storage, statement.extent, statement.chunk
        seam.launch(self.backend, statement.kernel, statement.real, *how, block)

    def source(self) -> str:
        """What the backend generates for each kernel."""
        kernels = {(s.kernel, s.real) for s in self.statements if isinstance(s, Launch)}
        return "\n".join(self.backend.source(kernel, real) for kernel, real in sorted(kernels, key=lambda k: k[0].name))
