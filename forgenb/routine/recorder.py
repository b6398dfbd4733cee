"""Take a step down: the same ops, tape and closures run, and their launches become statements.

While a recorder is active, allocations give planned memory, constants are uploaded at once, and nothing is computed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backend import seam
from ..backend.planned import UNPLANNED, PlannedMemory
from ..dtypes import INT64
from ..errors import BackendError, MemoryModeError
from ..kernel import Kernel, MapArguments, check_scalars
from ..layout import layout_of
from ..ops.apply import run_map
from ..ops.copying import copy_kernel, fill_kernel
from ..ops.ids import inside
from ..ops.plans import CHUNK
from ..tape import Node
from ..tensor import Tensor
from .eager import EagerMemory
from .late import Late, exact
from .statements import Launch, Place, Product
from .symbol import Symbol

SCOPE: ContextVar[tuple[str, ...]] = ContextVar("forgenb_scope", default=())


@dataclass(eq=False)
class Spell:
    """A time for which was recorded. Joined recordings that share one count it once."""

    seconds: float


class Recorder:
    """The statements of one step on one backend, in order, and what they need from outside."""

    def __init__(self):
        self.statements: list[Launch | Product] = []
        self.memories: list[PlannedMemory] = []
        self.guards: list[Callable[[], object]] = []
        self.before: list[tuple[Callable[[], None], int]] = []
        self.after: list[Callable[[], object]] = []
        self.inputs: list[Tensor] = []
        self.frozen: list[tuple[str, Callable[[], object], object]] = []
        self.symbols: dict[Symbol, None] = {}
        self.checked: dict[int, int] = {}
        self.guarded: dict[tuple, int] = {}
        self.constants: list[tuple[PlannedMemory, np.ndarray, int]] = []
        self.arenas: list[Any] = []
        self.gradients: list[tuple[Any, int]] = []
        self.cleared: set[Any] = set()
        self.first_node = Node("start", ()).number
        self.backend = None
        self.eager = EagerMemory()
        self.spells: list[Spell] = []

    @property
    def seconds(self) -> float:
        """How long was recorded."""
        return sum(spell.seconds for spell in self.spells)

    def settle_gradients(self, name: str) -> None:
        """Take the step's gradients off the leaves: they are the routine's, and only a run gives them values.

        Raises
        ------
        MemoryModeError
            If the step adds to gradients that it never clears, which a run would not do as eager code does.
        """
        for node in self.drop_gradients():
            if node not in self.cleared:
                raise MemoryModeError(
                    f"step {name!r} leaves a gradient on {node.name!r} without ever clearing it, so eager code would "
                    "add to it in the next step and a routine would not: call zero_grad() inside the step"
                )

    def drop_gradients(self) -> list[Any]:
        """Take gradients that nothing has computed off the leaves, and return those that had one."""
        found = []
        for node, index in self.gradients:
            grad = node.grads.get(index)
            if grad is not None and isinstance(grad.memory, PlannedMemory) and node.number < self.first_node:
                del node.grads[index]
                found.append(node)
        return found

    def allocate(self, nbytes: int) -> PlannedMemory:
        """A block that planning will place."""
        memory = PlannedMemory(nbytes)
        memory.origin = self
        self.eager.allocated(memory, others=1)
        self.memories.append(memory)
        return memory

    def constant(self, backend, memory: PlannedMemory, array: np.ndarray) -> None:
        """A host array that the step made: uploaded now, with memory of its own that stays."""
        upload_constant(backend, memory, array)
        self.constants.append((memory, np.array(array), len(self.statements)))
        self.eager.kept(memory)

    def finish(self) -> None:
        """Constants that the step writes into are copied afresh in each run, from one that stays as it was."""
        written = {id(memory) for statement in self.statements for memory in statement.writes}
        for memory, array, position in reversed(self.constants):
            if id(memory) in written:
                source = Tensor(memory.owner, 0, layout_of((array.size,), None, array.dtype, self.backend))
                memory.place(None, None, "undecided", UNPLANNED)
                self.memories.append(memory)
                self._insert_copy(position, source, memory)

    def _insert_copy(self, position: int, source: Tensor, memory: PlannedMemory) -> None:
        kept, self.statements = self.statements[position:], self.statements[:position]
        target = Tensor(memory, 0, source.layout)
        token = seam.RECORDER.set(self)
        try:
            run_map(copy_kernel, (source,), into=(target,), dtype=source.dtype)
        finally:
            seam.RECORDER.reset(token)
        self.statements += kept

    def map(self, kernel: Kernel, real, storage, shape, scalars, limit, dims, operands, strides) -> None:
        """Take down `run_map`."""
        places = tuple(zip(map(_place, operands), strides, strict=True))
        values = MapArguments(scalars, limit, dims, places).values()
        extent = int(np.prod(dims)) if shape else 1
        self._launch(kernel, real, storage, extent if 0 not in shape else 0, CHUNK, scalars, values, operands)

    def rows(self, kernel: Kernel, real, sizes, scalars, chunk, operands) -> None:
        """Take down `run_rows`."""
        values = [*sizes, *scalars, *map(_place, operands)]
        self._launch(kernel, real, (), sizes[0], chunk, scalars, values, operands)

    def _launch(self, kernel, real, storage, extent, chunk, scalars, values, operands) -> None:
        self._on(operands[0].backend)
        if extent == 0:
            return
        check_scalars(kernel, [0 if isinstance(value, Late) else value for value in scalars])
        pairs = list(zip(kernel.operands, operands, strict=True))
        reads = tuple(t.memory for o, t in pairs if o.reads and kernel is not fill_kernel)
        writes = tuple(t.memory for o, t in pairs if o.writes)
        shapes = tuple(t.shape for t in operands)
        scope = "/".join(SCOPE.get())
        self._append(Launch(kernel, real, storage, extent, chunk, values, shapes, scope, reads, writes))

    def product(self, real, shape, flags, scales, operands, steps, batch) -> None:
        """Take down a matrix product."""
        a, b, out, bias = operands
        self._on(out.backend)
        places = (_place(a), _place(b), _place(out), _place(bias) if bias is not None else 0)
        added = bias if scales[1] == 0.0 else out
        reads = tuple(t.memory for t in (a, b, added) if t is not None)
        shapes = tuple(t.shape for t in (a, b, out))
        scope = "/".join(SCOPE.get())
        self._append(Product(real, shape, flags, scales, places, steps, batch, shapes, scope, reads, (out.memory,)))

    def _append(self, statement: Launch | Product) -> None:
        for memory in statement.writes:
            if getattr(memory, "mode", "") == "constant" and any(own is memory for own, _, _ in self.constants):
                memory.overwritten(self)
        self.statements.append(statement)
        self.eager.stated(statement)

    def guard(self, ids: Tensor, check: Callable[[], object], size: int) -> bool:
        """Check ids from outside again before each run that may find others; True where they cannot be read yet."""
        maker = getattr(ids.memory, "origin", None) or self  # a sweep may be recorded apart from what it sweeps through
        if maker.checked.get(id(ids.memory), size + 1) <= size:
            return True
        if isinstance(ids.memory, PlannedMemory):
            if ids.memory.mode != "constant":
                raise MemoryModeError(
                    "ids that the recorded step computes itself cannot be checked before they are used: pass them in "
                    "as an argument of the step"
                )
        elif isinstance(ids.offset, Late) or any(t.memory is ids.memory for t in self.inputs):
            key = (id(ids.memory), ids.offset, ids.shape, ids.strides)
            if self.guarded.get(key, size + 1) > size:
                self.guarded[key] = size
                self.guards.append(_on_each_run(ids, check, size))
        else:
            self.guards.append(_if_changed(ids.memory, check))
        return isinstance(ids.offset, Late)

    def refuse_read(self, memory) -> None:
        """Refuse to read a tensor from outside: the step would be recorded with what it holds now."""
        what = "an argument of the step" if any(t.memory is memory for t in self.inputs) else "a tensor from outside"
        raise MemoryModeError(
            f"the value of {what} was read while the step was being recorded: whatever follows from it would be "
            "frozen. Compute with the tensor itself, or read it outside the step"
        )

    def note(self, number) -> None:
        """Remember the symbols that a late number depends on."""
        self.symbols.update(dict.fromkeys(getattr(number, "symbols", ())))

    def changed(self) -> str | None:
        """What the recording froze and has changed since, if anything."""
        for what, read, value in self.frozen:
            now = read()
            if now is not value and exact(now) != exact(value):
                return f"{what} was {value!r} when it was recorded and is {now!r} now"
        return None

    def used_symbols(self) -> tuple[Symbol, ...]:
        """The symbols that statements depend on, in the order of their making."""
        for statement in self.statements:
            numbers = statement.values if isinstance(statement, Launch) else statement.scales + statement.places
            for number in numbers:
                self.note(number.offset if isinstance(number, Place) else number)
        return tuple(sorted(self.symbols, key=lambda s: s.order))

    def _on(self, backend) -> None:
        if self.backend is None:
            self.backend = backend
        elif self.backend is not backend:
            raise BackendError(
                f"a routine runs on one backend, and this step uses {self.backend.name!r} and {backend.name!r}"
            )


def upload_constant(backend, memory: PlannedMemory, array: np.ndarray) -> None:
    """Give a block a value that is known, in memory of its own."""
    real = backend.allocate(memory.nbytes)
    memory.place(real.address, real, "constant", "")
    backend.upload(real, array)


def _on_each_run(ids: Tensor, check: Callable[[], object], size: int) -> Callable[[], object]:
    """`check`, with a short look first where the ids always lie in one place on the host."""
    if isinstance(ids.offset, Late) or not ids.backend.host or ids.dtype is not INT64:
        return check
    array = ids.backend.view(ids.memory, ids.dtype, ids.offset, ids.shape, ids.strides)
    return lambda: inside(array, size) or check()


def _if_changed(memory, check: Callable[[], object]) -> Callable[[], None]:
    seen = memory.version

    def guard() -> None:
        nonlocal seen
        if memory.version != seen:
            check()
            seen = memory.version

    return guard


def _place(t: Tensor) -> Place:
    return Place(t.memory, t.offset * t.dtype.itemsize)


@contextmanager
def recording() -> Iterator[Recorder]:
    """Record instead of compute, inside a ``with`` block. An error in it leaves no gradient of the recording behind.

    Raises
    ------
    MemoryModeError
        If a step is being recorded already, or the block drew from a global generator of NumPy or Python.
    """
    if seam.RECORDER.get() is not None:
        raise MemoryModeError("a step is being recorded already: a recorded step cannot record another")
    recorder = Recorder()
    token = seam.RECORDER.set(recorder)
    before, started = _global_draws(), time.perf_counter()
    try:
        yield recorder
    except BaseException:
        recorder.drop_gradients()
        raise
    finally:
        seam.RECORDER.reset(token)
        recorder.spells.append(Spell(time.perf_counter() - started))
    if before != _global_draws():
        recorder.drop_gradients()
        raise MemoryModeError(
            "the step that was recorded drew random numbers on the host (numpy.random or random), and every run would "
            "use the same ones: draw outside and pass them in as an argument, or use dropout, whose seed advances"
        )


def refuse_nested(kind: str, name: str) -> None:
    """Refuse to run a routine while a step is recorded, since what it computes would be frozen.

    Raises
    ------
    MemoryModeError
        If one is being recorded.
    """
    if seam.RECORDER.get() is not None:
        raise MemoryModeError(
            f"{kind} {name!r} was run while a step was being recorded: it would run now, once, and not in each run of "
            "that step. Call its function uncompiled there, or run one routine after the other"
        )


def _global_draws() -> tuple:
    """The states of the generators that everybody shares."""
    kind, key, *rest = np.random.get_state()
    return kind, np.asarray(key).tobytes(), *rest, random.getstate()


@contextmanager
def outside_recording() -> Iterator[None]:
    """Make tensors that are not part of the step, such as an optimiser's state, while one is recorded."""
    token = seam.RECORDER.set(None)
    try:
        yield
    finally:
        seam.RECORDER.reset(token)


@contextmanager
def scope(name: str) -> Iterator[None]:
    """Give the statements that are recorded in a ``with`` block a common name."""
    token = SCOPE.set((*SCOPE.get(), name))
    try:
        yield
    finally:
        SCOPE.reset(token)
