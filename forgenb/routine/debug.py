"""Look into routines: dumps of what they are, times of their statements, and a stop where a value is not finite.

Imports statements and backends' views; a routine that runs outside of `debug` must not pay for any of it.
"""

from __future__ import annotations

import re
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..errors import ArgumentError, NotFiniteError
from .peaks import measure_peaks
from .profile import Line, Profile
from .statements import Launch, Product
from .values import written
from .work import flop, moved

SUFFIXES = {"recorded": "recorded.txt", "planned": "planned.txt", "graph": "dot", "source": "py", "assembly": "asm"}


@dataclass
class Debug:
    """What `debug` watches; see there."""

    folder: Path | None
    trace: bool
    finite: bool
    assembly: bool
    keep: bool
    routines: list[weakref.ref] = field(default_factory=list)

    def dump(self, routine, stage: str, text: str) -> None:
        """Write one stage of a routine that is being made into the folder, if there is one."""
        if self.folder is None:
            return
        if not any(known() is routine for known in self.routines):
            self.routines.append(weakref.ref(routine))
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", routine.name)[:80]
        number = next(i for i, known in enumerate(self.routines) if known() is routine)
        (self.folder / f"{number:02d}_{plain}.{SUFFIXES[stage]}").write_text(text + "\n", encoding="utf-8")


DEBUG: ContextVar[Debug | None] = ContextVar("forgenb_debug", default=None)


@contextmanager
def debug(
    folder: str | Path | None = None,
    trace: bool = False,
    finite: bool = True,
    assembly: bool = False,
    keep: bool = False,
) -> Iterator[None]:
    """Look into the routines that are made and run in a ``with`` block; what held before holds again after it.

    A routine then runs statement by statement, with the same bits.

    Parameters
    ----------
    folder : path, optional
        Where each routine that is made inside leaves its program before and after planning, its graph (DOT), and the
        generated code. It is made if need be.
    trace : bool
        Time every statement; ``routine.profile()`` then gives a table and a picture.
    finite : bool
        Stop at the first statement that writes a value that is not finite.
    assembly : bool
        Leave each routine's assembly (PTX for a GPU) in the folder, too; see `Routine.assembly`. It takes a
        compilation of each kernel.
    keep : bool
        Store every value of the routines that are made inside, whatever planning would have done with it, except where
        ``inline()`` was asked for. After a run each tensor of the step can be read, and ``routine.values()`` has those
        that nothing in the step has a name for. Results keep their bits.

    Raises
    ------
    ArgumentError
        If assembly is asked for without a folder.
    BackendError
        When a routine is made, if its backend has no assembly.
    NotFiniteError
        Naming the statement and its scope. Statements before it have run, those after it have not.
    """
    where = Path(folder) if folder is not None else None
    if assembly and where is None:
        raise ArgumentError("fnb.debug(assembly=True) writes files: say where, with folder=...")
    if where is not None:
        where.mkdir(parents=True, exist_ok=True)
    token = DEBUG.set(Debug(where, trace, finite, assembly, keep))
    try:
        yield
    finally:
        DEBUG.reset(token)


class Watch:
    """Runs a routine statement by statement, and keeps the times of its statements."""

    def __init__(self, name: str, statements: list[Launch | Product], backend):
        self.name, self.statements, self.backend = name, statements, backend
        self.runs = 0
        self.seconds = [0.0] * len(statements)

    def run(self, runner, settings: Debug) -> None:
        """Launch every statement of a prepared runner, timed or checked as `settings` say."""
        for position, statement in enumerate(self.statements):
            started = time.perf_counter()
            runner.step(position)
            if settings.trace:
                self.backend.synchronize()
                self.seconds[position] += time.perf_counter() - started
            if settings.finite:
                self._check(position, statement)
        self.runs += settings.trace

    def _check(self, position: int, statement: Launch | Product) -> None:
        for values in written(statement, self.backend):
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                bad = int((~np.isfinite(values)).sum())
                scope = f" in scope {statement.scope!r}" if statement.scope else ""
                raise NotFiniteError(
                    f"routine {self.name!r}, statement {position} ({statement.name}{scope}) wrote {bad} of "
                    f"{values.size} values that are not finite; its operands have shapes {statement.shapes}"
                )

    def profile(self, made: dict[str, float]) -> Profile:
        """What the traced runs took, with the peaks for the floats of its products."""
        lines = [
            Line(s.name, s.scope, 1, seconds / self.runs, moved(s), flop(s))
            for s, seconds in zip(self.statements, self.seconds, strict=True)
        ]
        real = next((s.real for s in self.statements if isinstance(s, Product)), "float32")
        return Profile(self.name, self.runs, lines, measure_peaks(self.backend, real), made)
