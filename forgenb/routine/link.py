"""Turn placed statements into something that runs: the backend's own replay, or a plain loop over its launches."""

from __future__ import annotations

from typing import Any

from ..backend import seam
from ..errors import BackendError
from .footprint import footprint
from .late import Late, value_of
from .stages import Work, splitting, stages
from .statements import Launch, Place, Product
from .work import flop, moved

GRAIN = 1500.0
"""Nanoseconds of work that a task has at least; handing one over takes a tenth of that."""


def link(statements: list[Launch | Product], backend):
    """What runs statements whose memory has its place.

    It has ``prepare()``, which computes the late numbers of a run; then ``execute()`` for all statements, or
    ``step(position)`` for one after another; ``source()`` and ``assembly()``.
    """
    replay = getattr(backend, "replay", None)
    if replay is None:
        return PlainRunner(statements, backend)
    rows: list[tuple] = []
    prints, work = [], []
    products: dict[int, tuple] = {}
    for statement in statements:
        if isinstance(statement, Product):
            places = tuple(map(_number, statement.places))
            scales = tuple(map(_number, statement.scales))
            parts = statement.shape, statement.flags, scales, places, statement.steps, statement.batch
            products[len(rows)] = (statement.real, *parts)
            rows.append(backend.gemm_launch(statement.real, *parts))
            bands = backend.row_bands(
                statement.real, statement.shape, statement.flags, statement.steps, statement.batch
            )
        else:
            launcher = seam.launcher(backend, statement.kernel, statement.real, statement.storage)
            values = [_number(v) for v in statement.values]
            rows.append((launcher, statement.extent, statement.chunk, values, statement.packer))
            bands = 1
        prints.append(footprint(statement, bands))
        work.append(Work(_cost(statement), rows[-1][1], _fetching(statement)))
    shares, split = splitting(prints, work, GRAIN)
    for number, arguments in products.items():
        if split[number] and arguments[-1] == (1, 1):
            rows[number] = backend.gemm_launch(*arguments, bands=shares)
    return replay(rows, stages(prints, work, GRAIN))


def _cost(statement: Launch | Product) -> float:
    """Nanoseconds on one thread, roughly: enough to tell what is worth sharing out."""
    arithmetic = flop(statement) / 80 if isinstance(statement, Product) else 0
    return 100 + max(arithmetic, moved(statement) / 10)


def _fetching(statement: Launch | Product) -> bool:
    """Whether it is the product of one row, which takes as long as reading the matrix."""
    return isinstance(statement, Product) and statement.shape[0] == 1 and statement.batch == (1, 1)


def _number(value):
    """A plain number, or a function that gives it before each run."""
    if isinstance(value, Place):
        return value.address if isinstance(value.offset, Late) else value.address()
    return value.compute if isinstance(value, Late) else value


class PlainRunner:
    """A loop over the statements, each launched by itself: what a debugger can step through."""

    def __init__(self, statements: list[Launch | Product], backend):
        self.statements, self.backend = statements, backend
        numbers = [n for s in statements for n in (s.values if isinstance(s, Launch) else s.places + s.scales)]
        offsets = [n.offset if isinstance(n, Place) else n for n in numbers]
        self._late = {id(n): n for n in offsets if isinstance(n, Late)}
        self._now: dict[int, float] = {}

    def prepare(self) -> None:
        """Compute each late number once."""
        self._now = {key: value_of(number) for key, number in self._late.items()}

    def execute(self) -> None:
        """Launch every statement in order."""
        for statement in self.statements:
            self.launch(statement)

    def step(self, position: int) -> None:
        """Launch the statement at a position."""
        self.launch(self.statements[position])

    def launch(self, statement: Launch | Product) -> None:
        """Launch one statement."""
        if isinstance(statement, Product):
            places = tuple(map(self._value, statement.places))
            scales = tuple(map(self._value, statement.scales))
            parts = statement.shape, statement.flags, scales, places, statement.steps, statement.batch
            seam.gemm(self.backend, statement.real, *parts)
            return
        block = statement.packer.pack(*map(self._value, statement.values))
        how = statement.storage, statement.extent, statement.chunk
        seam.launch(self.backend, statement.kernel, statement.real, *how, block)

    def _value(self, number: Any) -> Any:
        """A number of an argument block, as it is in this run."""
        if isinstance(number, Place):
            return number.base() + self._value(number.offset)
        return self._now.get(id(number), number)

    def source(self) -> str:
        """What the backend generates for each kernel."""
        kernels = {(s.kernel, s.real) for s in self.statements if isinstance(s, Launch)}
        return "\n".join(self.backend.source(kernel, real) for kernel, real in sorted(kernels, key=lambda k: k[0].name))

    def assembly(self) -> str:
        """What the backend's compiler makes of each kernel.

        Raises
        ------
        BackendError
            If it makes no assembly.
        """
        make = getattr(self.backend, "assembly", None)
        if make is None:
            raise BackendError(
                f"the backend {self.backend.name!r} has no assembly, since it compiles nothing to machine code: "
                "routine.source shows what runs"
            )
        parts = dict.fromkeys(map(_assembled, self.statements))
        return "\n".join(make(*part) for part in sorted(parts, key=lambda p: p[0].name if p[0] else ""))


def _assembled(statement: Launch | Product) -> tuple:
    """Kernel (None for a product), float type, storage and dimensions: what its machine code depends on."""
    if isinstance(statement, Product):
        return None, statement.real, (), 0
    dims = statement.ndim if statement.kernel.form == "map" else 0
    return statement.kernel, statement.real, statement.storage, dims
