"""Look into routines: dumps of what they are, times of their statements, and a stop where a value is not finite.

Imports statements and backends' views; a routine that runs outside of `debug` must not pay for any of it.
"""

from __future__ import annotations

import dis
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from ..dtypes import as_dtype
from ..errors import NotFiniteError
from ..layout import contiguous_strides, count
from .late import value_of
from .statements import Launch, Place, Product

SUFFIXES = {"recorded": "recorded.txt", "planned": "planned.txt", "graph": "dot", "source": "py"}
FIXED = {"int": "int64", "bool": "bool", "uint": "uint32"}


@dataclass
class Debug:
    """What `debug` watches; see there."""

    folder: Path | None
    trace: bool
    finite: bool
    routines: list = field(default_factory=list)

    def dump(self, routine, stage: str, text: str) -> None:
        """Write one stage of a routine that is being made into the folder, if there is one."""
        if self.folder is None:
            return
        if not any(known is routine for known in self.routines):
            self.routines.append(routine)
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", routine.name)[:80]
        number = next(i for i, known in enumerate(self.routines) if known is routine)
        (self.folder / f"{number:02d}_{plain}.{SUFFIXES[stage]}").write_text(text + "\n", encoding="utf-8")


DEBUG: ContextVar[Debug | None] = ContextVar("forgenb_debug", default=None)


@contextmanager
def debug(folder: str | Path | None = None, trace: bool = False, finite: bool = True) -> Iterator[None]:
    """Look into the routines that are made and run in a ``with`` block; what held before holds again after it.

    A routine then runs statement by statement, with the same bits.

    Parameters
    ----------
    folder : path, optional
        Where each routine that is made inside leaves its program before and after planning, its graph (DOT), and the
        generated code. It is made if need be.
    trace : bool
        Time every statement; ``routine.profile()`` then prints a table.
    finite : bool
        Stop at the first statement that writes a value that is not finite.

    Raises
    ------
    NotFiniteError
        Naming the statement and its scope. Statements before it have run, those after it have not.
    """
    where = Path(folder) if folder is not None else None
    if where is not None:
        where.mkdir(parents=True, exist_ok=True)
    token = DEBUG.set(Debug(where, trace, finite))
    try:
        yield
    finally:
        DEBUG.reset(token)


class Watch:
    """Runs a routine statement by statement, and keeps the times of its statements."""

    def __init__(self, routine):
        self.name, self.runs = routine.name, 0
        self.statements: list[Launch | Product] = routine._recorder.statements
        self.seconds = [0.0] * len(self.statements)

    def run(self, runner, settings: Debug) -> None:
        """Launch every statement, timed or checked as `settings` say."""
        for position, statement in enumerate(self.statements):
            started = time.perf_counter()
            runner.launch(statement)
            if settings.trace:
                runner.backend.synchronize()
                self.seconds[position] += time.perf_counter() - started
            if settings.finite:
                self._check(position, statement, runner.backend)
        self.runs += settings.trace

    def _check(self, position: int, statement: Launch | Product, backend) -> None:
        for values in written(statement, backend):
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                bad = int((~np.isfinite(values)).sum())
                scope = f" in scope {statement.scope!r}" if statement.scope else ""
                raise NotFiniteError(
                    f"routine {self.name!r}, statement {position} ({statement.name}{scope}) wrote {bad} of "
                    f"{values.size} values that are not finite; its operands have shapes {statement.shapes}"
                )

    def profile(self) -> Profile:
        """The sums by name of a statement, the slowest first."""
        lines: dict[str, Line] = {}
        for statement, seconds in zip(self.statements, self.seconds, strict=True):
            line = lines.setdefault(statement.name, Line(statement.name))
            line.statements += 1
            line.seconds += seconds / self.runs
            line.nbytes += moved(statement)
            line.flop += flop(statement)
        return Profile(self.name, self.runs, sorted(lines.values(), key=lambda line: -line.seconds))


@dataclass
class Line:
    """One kind of statement in a profile: how many there are, and their sums in one run."""

    name: str
    statements: int = 0
    seconds: float = 0.0
    nbytes: int = 0
    flop: int = 0


@dataclass(frozen=True)
class Profile:
    """Where the time of a routine goes; print it for a table.

    Attributes
    ----------
    routine : str
    runs : int
        How many runs the times are means of.
    lines : list of Line
        By name of the statement, the slowest first. Bytes are those of all operands, each counted once. FLOP is exact
        for products, and otherwise an estimate: the arithmetic words of the kernel's body, once an element.
    """

    routine: str
    runs: int
    lines: list[Line]

    def __str__(self) -> str:
        total = sum(line.seconds for line in self.lines)
        head = f"{'statement':<28}{'count':>6}{'us':>10}{'share':>8}{'MB':>10}{'GB/s':>8}{'MFLOP':>10}{'GFLOP/s':>9}"
        rows = [f"routine {self.routine}: {1e6 * total:.1f} us a run, mean of {self.runs}", head]
        for line in self.lines:
            time_ns = max(1e9 * line.seconds, 1e-9)
            share = line.seconds / total if total else 0.0
            rows.append(
                f"{line.name:<28}{line.statements:>6}{1e6 * line.seconds:>10.1f}{share:>8.1%}{line.nbytes / 1e6:>10.3f}"
                f"{line.nbytes / time_ns:>8.2f}{line.flop / 1e6:>10.3f}{line.flop / time_ns:>9.2f}"
            )
        return "\n".join(rows)


def written(statement: Launch | Product, backend) -> Iterator[np.ndarray]:
    """What a statement has written, as arrays."""
    if isinstance(statement, Product):
        yield from _written_product(statement, backend)
        return
    for place, dtype, shape, strides in _operands(statement, only_written=True):
        yield _view(place, dtype, shape, strides, backend)


def _written_product(statement: Product, backend) -> Iterator[np.ndarray]:
    (m, n, _), (outer, inner) = statement.shape, statement.batch
    (_, _, ldo), (*_, out_outer, out_inner) = statement.steps
    dtype = np.dtype(statement.real)
    yield _view(statement.places[2], dtype, (outer, inner, m, n), (out_outer, out_inner, ldo, 1), backend)


def _operands(statement: Launch, only_written: bool = False) -> Iterator[tuple[Place, np.dtype, tuple, tuple]]:
    """Place, dtype, shape and strides of each operand."""
    kernel = statement.kernel
    if kernel.form == "map":
        start = len(kernel.scalars)
        ndim = statement.values[start]
        dims = tuple(statement.values[start + 2 : start + 2 + ndim])
        rest = statement.values[start + 2 + ndim :]
        for number, (operand, stored) in enumerate(zip(kernel.operands, statement.storage, strict=True)):
            place, *strides = rest[number * (1 + ndim) : (number + 1) * (1 + ndim)]
            if operand.writes or not only_written:
                yield place, as_dtype(stored), dims, tuple(strides)
        return
    places = statement.values[-len(kernel.operands) :]
    for operand, place, shape in zip(kernel.operands, places, statement.shapes, strict=True):
        if operand.writes or not only_written:
            yield place, np.dtype(FIXED.get(operand.kind, statement.real)), shape, contiguous_strides(shape)


def _view(place: Place, dtype: np.dtype, shape: tuple, strides: tuple, backend) -> np.ndarray:
    memory: Any = place.memory
    offset = value_of(place.offset)
    if hasattr(memory, "placed"):
        offset += memory.placed - memory.owner.address
        memory = memory.owner
    backend.synchronize()
    return backend.view(memory, dtype, offset // dtype.itemsize, shape, strides)


def moved(statement: Launch | Product) -> int:
    """Bytes of the operands, each counted once."""
    if isinstance(statement, Product):
        return sum(map(count, statement.shapes)) * np.dtype(statement.real).itemsize
    sizes = [dtype.itemsize for _, dtype, _, _ in _operands(statement)]
    return sum(count(shape) * size for shape, size in zip(statement.shapes, sizes, strict=True))


def flop(statement: Launch | Product) -> int:
    """Floating-point operations: exact for a product, an estimate for a launch."""
    if isinstance(statement, Product):
        m, n, k = statement.shape
        return 2 * m * n * k * count(statement.batch)
    elements = max((count(shape) for shape in statement.shapes), default=0)
    return elements * arithmetic_words(statement.kernel.body.__code__)


@cache
def arithmetic_words(code: CodeType) -> int:
    """How many operators and calls a body has."""
    inner = sum(arithmetic_words(c) for c in code.co_consts if isinstance(c, CodeType))
    return inner + sum(i.opname in ("BINARY_OP", "UNARY_NEGATIVE", "CALL") for i in dis.get_instructions(code))
