"""Every assignment of one row of a kernel, written down while it runs: the log that a learner wants.

Python's own tracing says which instruction runs next. Those that store a local are looked up after they
have run; `put` is seen as the call that it is, and ``array[i] = value`` is read back from the array.

Imports the standard library's tools for code objects, `forgenb.errors` and the primitives. A trace only looks: it may
change no value.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import linecache
import sys
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from forgenb.errors import ArgumentError, BackendError
from forgenb.kernel import primitives

WIDEST = 64


class Step(NamedTuple):
    """One assignment: where it stands, what was assigned, and how deep in helpers."""

    line: int
    source: str
    variable: str
    value: Any
    depth: int


class Table:
    """The assignments of one row, in the order in which they happened. Prints as a table.

    Attributes
    ----------
    kernel : str
    row : int
        The row of a row kernel, or the flat index of a map's element.
    steps : list of Step
        Arguments stand on the line of the ``def``; ``return`` is what a function gave back.
    """

    def __init__(self, kernel: str, row: int):
        self.kernel, self.row = kernel, row
        self.file = ""
        self.steps: list[Step] = []

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __getitem__(self, number: int) -> Step:
        return self.steps[number]

    def __str__(self) -> str:
        head = ("line", "source", "variable", "value")
        lines = [
            (str(s.line), "    " * s.depth + _short(s.source), "    " * s.depth + s.variable, shown(s.value))
            for s in self.steps
        ]
        widths = [max(map(len, column)) for column in zip(head, *lines)]
        rule = tuple("-" * width for width in widths)
        text = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip() for line in (head, rule, *lines)]
        return "\n".join([f"{self.kernel}, row {self.row} ({self.file})", *text])


def shown(value: Any) -> str:
    """A value as a cell: an array by dtype and shape, a number with the digits that tell it from its neighbours."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}{list(value.shape)}"
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))})"
    return str(value)


def _short(source: str) -> str:
    return source if len(source) <= WIDEST else source[: WIDEST - 3] + "..."


class Recorder:
    """Waits for one launch of one kernel and traces one row of it.

    Parameters
    ----------
    kernel : str
    row : int
    launch : int
        Which of its launches, from 0.
    depth : int or None
        How deep into helpers to look; None for all.
    """

    def __init__(self, kernel: str, row: int, launch: int, depth: int | None):
        self.table = Table(kernel, row)
        self.launch, self.depth = launch, depth
        self.names: list[str] = []
        self.rows = 0

    def wants(self, name: str) -> bool:
        """Note that a kernel is about to run; whether it is the launch that is waited for."""
        self.names.append(name)
        return name == self.table.kernel and self.names.count(name) == self.launch + 1

    def call(self, body: FunctionType, number: int, arguments: tuple) -> object:
        """Run one row, traced if it is the one."""
        self.rows = number + 1
        if number != self.table.row:
            return body(*arguments)
        self.table.file = body.__code__.co_filename
        before = sys.gettrace()
        sys.settrace(_Tracer(self.table, body, self.depth).enter)
        try:
            return body(*arguments)
        finally:
            sys.settrace(before)

    def check(self) -> None:
        """Refuse an empty table, with what ran instead.

        Raises
        ------
        BackendError
            If the kernel was not launched on this backend as often as was asked.
        ArgumentError
            If it was, but has fewer rows.
        """
        if self.table.steps:
            return
        kernel, found = self.table.kernel, self.names.count(self.table.kernel)
        if found > self.launch:
            raise ArgumentError(f"trace of {kernel}: it ran with {self.rows} rows, there is no row {self.table.row}")
        ran = ", ".join(dict.fromkeys(self.names)) or "none"
        raise BackendError(
            f"trace of {kernel}: the python backend launched it {found} times here, asked was launch {self.launch}. "
            f"It ran these kernels: {ran}. What it should trace must live there: create it under "
            "fnb.use('python') or move it with .to('python')"
        )


class _Tracer:
    """The trace functions of one call of a body."""

    def __init__(self, table: Table, body: FunctionType, depth: int | None):
        self.table = table
        self.codes = set(_codes(body))
        self.limit = sys.maxsize if depth is None else depth
        self.depth = -1

    def enter(self, frame: FrameType, event: str, argument: Any):
        """The trace function of a new frame, or None where it is not the body's."""
        if frame.f_code is primitives.put.meaning.__code__:
            self._put(frame)
        if frame.f_code not in self.codes or self.depth >= self.limit:
            return None
        self.depth += 1
        frame.f_trace_opcodes = True
        line = _line_of_def(frame.f_code)
        for name in frame.f_code.co_varnames[: frame.f_code.co_argcount]:
            self._note(frame, line, name, frame.f_locals[name])
        return _Frame(self).step

    def _put(self, frame: FrameType) -> None:
        caller, (array, index, value) = frame.f_back, frame.f_locals.values()
        if caller is not None and caller.f_code in self.codes and self.depth <= self.limit:
            name = next((n for n, v in caller.f_locals.items() if v is array), "array")
            self._note(caller, caller.f_lineno, f"{name}[{_index(index)}]", value)

    def _note(self, frame: FrameType, line: int, variable: str, value: Any) -> None:
        source = linecache.getline(frame.f_code.co_filename, line).strip()
        self.table.steps.append(Step(line, source, variable, value, self.depth))


class _Frame:
    """Follows one frame: what an instruction stores is read when the next one is about to run."""

    def __init__(self, tracer: _Tracer):
        self.tracer = tracer
        self.line = 0
        self.pending: tuple[str, ...] = ()

    def step(self, frame: FrameType, event: str, argument: Any):
        """Python's local trace function."""
        for name in self.pending:
            self._read(frame, name)
        self.pending = ()
        if event == "opcode":
            stored = _stores(frame.f_code).get(frame.f_lasti, ())
            self.line = frame.f_lineno
            self.pending = _targets(frame.f_code.co_filename, self.line) if stored is None else stored
        elif event == "return":
            if argument is not None:
                self.tracer._note(frame, frame.f_lineno, "return", argument)
            self.tracer.depth -= 1
        return self.step

    def _read(self, frame: FrameType, name: str) -> None:
        scope = frame.f_locals
        if name in scope:
            self.tracer._note(frame, self.line, name, scope[name])
            return
        array, _, index = name.partition("\n")
        place = eval(f"({index})", frame.f_globals, scope)
        value = eval(array, frame.f_globals, scope)[place]
        self.tracer._note(frame, self.line, f"{array}[{_index(place)}]", value)


@functools.cache
def _stores(code: CodeType) -> dict[int, tuple[str, ...] | None]:
    """Locals that the instruction at an offset stores; None for a store into an array."""
    found: dict[int, tuple[str, ...] | None] = {}
    for instruction in dis.get_instructions(code):
        if instruction.opname == "STORE_SUBSCR":
            found[instruction.offset] = None
        elif instruction.opname.startswith("STORE_FAST"):
            names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
            found[instruction.offset] = names[:1] if "LOAD" in instruction.opname else tuple(names)
    return found


@functools.cache
def _targets(file: str, line: int) -> tuple[str, ...]:
    """``array``, a newline and ``index`` of the subscripts that a line assigns to."""
    try:
        (statement,) = ast.parse(linecache.getline(file, line).strip()).body
    except (SyntaxError, ValueError):
        return ()
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    return tuple(
        f"{ast.unparse(t.value)}\n{ast.unparse(t.slice)}"
        for target in targets
        for t in ast.walk(target)
        if isinstance(t, ast.Subscript) and isinstance(t.ctx, ast.Store)
    )


def _codes(body: FunctionType, seen: tuple = ()) -> Iterator[CodeType]:
    yield body.__code__
    for value in body.__globals__.values():
        if isinstance(value, FunctionType) and value not in seen:
            yield from _codes(value, (*seen, body))


def _line_of_def(code: CodeType) -> int:
    """The line of the ``def``, below the decorators."""
    try:
        lines, first = inspect.getsourcelines(code)
    except OSError:
        return code.co_firstlineno
    return next((n for n, text in enumerate(lines, first) if text.lstrip().startswith("def ")), first)


def _index(index: Any) -> str:
    return ", ".join(map(str, index)) if isinstance(index, tuple) else str(index)
