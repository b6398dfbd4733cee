"""A planned and linked step: one call runs it, as often as wanted, on new inputs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..backend import seam
from ..backend.planned import PlannedMemory
from ..errors import ArgumentError, MemoryModeError, ShapeError
from ..tensor import Tensor
from .debug import DEBUG, Watch
from .fuse import fused
from .intents import check_outputs, retain_undecided
from .link import link
from .needs import declared, from_others
from .plan import Plan, arrange, place, unshared
from .profile import Profile
from .program import Program
from .recorder import Recorder, refuse_nested
from .roles import check_inputs, note_writer
from .segments import Pause, Segments, cuts
from .symbol import CELLS, Bindings, Symbol
from .values import stored_values
from .work import flop, moved


class Routine:
    """One recorded step on one backend.

    Parameters
    ----------
    recorder : Recorder
        What was taken down.
    outputs : sequence of Tensor
        Values that can be read after a run.
    name : str
        For printing and messages.
    symbols : iterable of Symbol, optional
        The static symbols, outermost first; by default those that it uses, in the order of their making.
    pauses : iterable of (sequence of Tensor, callable), optional
        What is called in each run as soon as some values are complete, see `fnb.train.to_routine`.

    Attributes
    ----------
    name : str
    program : Program
        The statements, printable.
    bindings : Bindings
        The cells of the static symbols.
    runs : int
        How often it has run.
    seconds : dict
        What it took to make: ``recording``, ``planning`` (where each value lives), ``compiling`` (kernels that the
        store did not have) and ``linking`` (all else that leads to something that runs).

    Raises
    ------
    MemoryModeError
        If decisions about values conflict, or another routine keeps no value that this one reads.
    ArgumentError
        If there is nothing to run, or a symbol that it uses is not declared.
    """

    def __init__(
        self,
        recorder: Recorder,
        outputs: Iterable[Tensor],
        name: str,
        symbols: Iterable[Symbol] | None = None,
        pauses: Iterable[Pause] = (),
    ):
        self.name, self.runs = name, 0
        self._recorder, self._outputs = recorder, tuple(outputs)
        if recorder.backend is None:  # all that it computes may hold nothing
            recorder.backend = next((t.backend for t in self._outputs if isinstance(t.memory, PlannedMemory)), None)
        if recorder.backend is None:
            raise ArgumentError(f"routine {name!r} has no statements: the step computes nothing")
        recorder.finish()
        self.bindings = Bindings(declared(recorder, symbols, name), name)
        self._symbolic = len(self.bindings) > 0
        check_outputs(self._outputs, name)
        check_inputs(recorder.statements, name)
        self._needs = from_others(recorder, name)
        self.program = Program(recorder.statements, name, recorder)
        debug = DEBUG.get()
        if debug is not None:
            debug.dump(self, "recorded", str(self.program))
            if debug.keep:
                retain_undecided(recorder.statements, "fnb.debug(keep=True)")
        started = time.perf_counter()
        recorder.statements = fused(recorder.statements)
        self._unshared = unshared(recorder.statements)
        arrange(recorder)
        self.program.statements = recorder.statements
        self._plan, self._arena = place(recorder.statements, recorder.memories, recorder.backend, name, recorder.arenas)
        self.seconds = {"recording": recorder.seconds, "planning": time.perf_counter() - started}
        for memory in recorder.memories:
            if memory.origin is recorder:  # it cannot be captured from any more, and would keep the arena alive
                memory.origin = None
        self._runner = self._linked(recorder, tuple(pauses) if isinstance(pauses, Iterable) else (pauses,))
        self._lock, self._process = threading.Lock(), os.getpid()
        self._fresh = [m for m in recorder.memories if m.mode == "stored"]
        own = set(map(id, recorder.memories))
        written = {id(m): m for s in recorder.statements for m in s.writes if id(m) not in own}
        self._changes = list(written.values())
        note_writer(self._changes, self)
        self._watch: Watch | None = None
        self._cells: Mapping[Symbol, int] | None = None
        if debug is not None:
            debug.dump(self, "planned", str(self.program))
            debug.dump(self, "graph", self.program.graph())
            debug.dump(self, "source", self.source)
            if debug.assembly:
                debug.dump(self, "assembly", self.assembly)

    def _linked(self, recorder: Recorder, pauses: tuple[Pause, ...]):
        """What runs it; notes how long that took, and how much of it went into compiling."""
        backend: Any = recorder.backend
        started, known = time.perf_counter(), len(backend.compiled())
        runner: Any
        if pauses:
            due = cuts(recorder.statements, pauses)
            runner = Segments(recorder.statements, due, lambda part: link(part, backend))
        else:
            runner = link(recorder.statements, backend)
        whole = time.perf_counter() - started
        compiling = sum(made.seconds for made in backend.compiled()[known:] if not made.cached)
        self.seconds |= {"compiling": compiling, "linking": max(0.0, whole - compiling)}
        return runner

    def run(self, **indices: int) -> None:
        """Check the inputs, compute the late numbers, and run every statement.

        Parameters
        ----------
        **indices : int
            Values of static symbols by name, for this run alone; the others are those of `bindings`. They are taken
            when it is called, and a change during the run has no effect.

        Raises
        ------
        BindingError
            For a symbol that the routine does not have.
        IndexRangeError
            If a symbol, or an id of an input, is out of its range. Nothing has run then.
        MemoryModeError
            If another thread is running this routine, a step is being recorded, a value that another routine produces
            is not there yet, or something that the recording froze has changed.
        """
        self.run_on((), indices)

    def run_on(self, values: Iterable[tuple[Tensor, Tensor | np.ndarray]], indices: Mapping[str, int]) -> None:
        """`run`, with new values copied into inputs first; nobody else runs meanwhile.

        Parameters
        ----------
        values : iterable of (Tensor, Tensor or ndarray)
            Each input with its value, of the shape and dtype that were recorded.
        indices : mapping
            See `run`.
        """
        self.begin(values, indices)
        self.finish()

    def begin(self, values: Iterable[tuple[Tensor, Tensor | np.ndarray]], indices: Mapping[str, int]) -> None:
        """The first half of `run_on`: all that depends on when it is called. Only `finish` or `abandon` may follow.

        Inputs are copied in and checked, counters advance and late numbers are computed here, so that a stream may run
        the second half later: what happens meanwhile does not change its bits.
        """
        refuse_nested("routine", self.name)
        cells = self.bindings.snapshot(indices) if indices or self._symbolic else None
        self._enter()
        self._cells = cells
        token = CELLS.set(cells)
        try:
            for target, value in values:
                _load(target, value)
            if self._needs or self._recorder.frozen:
                self._check()
            for guard in self._recorder.guards:
                guard()
            for before, _ in self._recorder.before:
                before()
            self._runner.prepare()
        except BaseException:
            self._lock.release()
            raise
        finally:
            CELLS.reset(token)

    def abandon(self) -> None:
        """Instead of `finish`, where nobody will call that."""
        self._lock.release()

    def finish(self) -> None:
        """The second half of `run_on`: run every statement, from any thread."""
        token = CELLS.set(self._cells)
        try:
            debug = DEBUG.get()
            if debug is None:
                self._runner.execute()
            else:
                self._watched(debug)
            self._done()
        finally:
            CELLS.reset(token)
            self._lock.release()

    def _enter(self) -> None:
        """Take the lock. One that a thread of the parent held when this process was forked is nobody's any more."""
        if not self._lock.acquire(blocking=False):
            if self._process == os.getpid():
                raise MemoryModeError(f"routine {self.name!r} is running in another thread: one run at a time")
            self._lock = threading.Lock()
            self._lock.acquire()
        self._process = os.getpid()

    @property
    def frozen(self) -> bool:
        """Whether the recording depends on anything outside that may change."""
        return bool(self._recorder.frozen)

    def changed(self) -> str | None:
        """What the recording froze and has changed since, if anything."""
        return self._recorder.changed()

    def _check(self) -> None:
        for memory in self._needs:
            if memory.reason:
                raise MemoryModeError(f"routine {self.name!r} reads a value that is not there yet: {memory.reason}")
        if self._recorder.frozen:
            changed = self._recorder.changed()
            if changed is not None:
                raise MemoryModeError(f"routine {self.name!r} does not fit any more: {changed}. Record it anew")

    def _watched(self, debug) -> None:
        if self._watch is None:
            self._watch = Watch(self.name, self._recorder.statements, self._recorder.backend)
        self._watch.run(self._runner, debug)

    def _done(self) -> None:
        self.runs += 1
        for memory in self._fresh:
            memory.reason = ""
            memory.version += 1
        for memory in self._changes:
            memory.version += 1
        for after in self._recorder.after:
            after()

    def __call__(self, **indices: int) -> None:
        """The same as `run`."""
        self.run(**indices)

    @property
    def source(self) -> str:
        """The generated code of every kernel in it, as text."""
        return self._runner.source()

    @property
    def assembly(self) -> str:
        """The machine code of every kernel in it, as text; PTX where a GPU runs it. It takes a compilation of each.

        Raises
        ------
        BackendError
            If its backend compiles nothing to machine code.
        """
        return self._runner.assembly()

    def work(self) -> dict[str, int]:
        """What its statements have to do in one run.

        Returns
        -------
        dict
            ``bytes`` of the operands of all statements, each operand counted once a statement, and ``flop``, exact
            for products and an estimate otherwise (see `Profile`).
        """
        return {"bytes": sum(map(moved, self.program)), "flop": sum(map(flop, self.program))}

    def profile(self) -> Profile:
        """Time, bytes and FLOP of its statements, from runs inside ``with fnb.debug(trace=True)``.

        They stand against what the backend reaches at most, which is measured at the first call in a process and takes
        about two seconds.

        Raises
        ------
        MemoryModeError
            If no run was traced.
        """
        if self._watch is None or not self._watch.runs:
            raise MemoryModeError(
                f"routine {self.name!r} has no traced run: run it inside with fnb.debug(trace=True), then ask again"
            )
        return self._watch.profile(self.seconds)

    def memory(self) -> dict[str, int | None]:
        """Bytes by kind.

        Returns
        -------
        dict
            ``scratch`` and ``stored``, which the routine owns; ``constant``, arrays that the step made; ``outside``,
            such as parameters and inputs; ``peak``, the sum of them. Beside it ``eager``, the most that is alive at
            once when the same step runs op by op, what is ``outside`` included: None where the step was not recorded in
            one piece. And ``unshared``, what all intermediate values take where none shares its place.
        """
        plan: Plan = self._plan
        constant = sum(memory.nbytes for memory, _, _ in self._recorder.constants)
        own = {id(m) for m in (*self._recorder.memories, *(c[0] for c in self._recorder.constants))}
        touched = {id(m): m.nbytes for s in self.program for m in (*s.reads, *s.writes) if id(m) not in own}
        outside = sum(touched.values())
        found = {"scratch": plan.scratch, "stored": plan.stored, "constant": constant, "outside": outside}
        eager = self._recorder.eager.peak + outside if self._recorder.eager.peak else None
        return {**found, "peak": sum(found.values()), "eager": eager, "unshared": self._unshared}

    def values(self) -> dict[str, np.ndarray]:
        """Copies of the values that it stores, as the last run left them, by the labels of ``print(routine)``.

        Each has the shape in which a statement writes it: a sum along an axis, for one, keeps the axis. They are
        results, retained values and gradients; all values where the routine was made inside
        ``with fnb.debug(keep=True)`` or after `forgenb.train.retain_all`.

        Raises
        ------
        MemoryModeError
            If it has not run yet.
        """
        if not self.runs:
            raise MemoryModeError(f"routine {self.name!r} has no values yet: run it first")
        return stored_values(self.program, self._recorder.backend)

    def __reduce__(self):
        raise TypeError(
            f"routine {self.name!r} cannot be copied or pickled: it holds the addresses of its tensors; compile its "
            "step again where another is needed"
        )

    def __str__(self) -> str:
        return str(self.program)

    def __repr__(self) -> str:
        return f"<Routine {self.name!r}: {len(self.program)} statements, {self.runs} runs>"


def _load(target: Tensor, value: Tensor | np.ndarray) -> None:
    if value.shape != target.shape:
        raise ShapeError(f"an input of shape {target.shape} got a value of shape {value.shape}: record the step anew")
    target.memory.version += 1
    if isinstance(value, Tensor):
        if value.backend is target.backend and value.contiguous and isinstance(value.offset, int):
            seam.transfer(target.backend, target.memory, value.memory, value.offset * value.dtype.itemsize)
            return
        value = value.numpy()
    seam.upload(target.backend, target.memory, np.ascontiguousarray(value, target.dtype))
