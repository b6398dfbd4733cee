"""Parts of what was recorded, and several recordings as one.

Imports the recorder and programs; it plans nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ..backend.planned import PlannedMemory
from ..errors import ArgumentError, MemoryModeError
from ..tensor import Tensor
from .program import Program
from .recorder import Recorder, recording, upload_constant
from .rematerialize import renamed
from .statements import Launch, Product


class Capture:
    """What `capture` gives: after the block, `program` is what was recorded inside it."""

    def __init__(self, name: str):
        self.name = name
        self._recorder: Recorder | None = None

    @property
    def program(self) -> Program:
        """The statements, in order.

        Raises
        ------
        MemoryModeError
            Inside the block, or after an error in it.
        """
        if self._recorder is None:
            raise MemoryModeError("capture has a program only after its with block has ended without an error")
        return Program(list(self._recorder.statements), self.name, self._recorder)


@contextmanager
def capture(name: str = "capture") -> Iterator[Capture]:
    """Run ops without computing: in a ``with`` block, launches are taken down, and tensors have no value.

    Parameters
    ----------
    name : str
        Of the program.

    Raises
    ------
    MemoryModeError
        Where a value is read, random numbers are drawn on the host, or a recording is active already.

    Examples
    --------
    >>> import forgenb as fnb
    >>> x = fnb.tensor([1.0, 2.0])
    >>> with fnb.capture() as c:
    ...     y = (x * x).sum()
    >>> routine = fnb.train.to_routine(fnb.train.forward(y))
    >>> routine.run()
    >>> y.item()
    5.0
    """
    found = Capture(name)
    with recording() as recorder:
        yield found
    found._recorder = recorder


def recorder_of(t: Tensor, wanted: str) -> Recorder:
    """The recording that computes `t`.

    Raises
    ------
    MemoryModeError
        If none does, or a routine has been made of it.
    ArgumentError
        If it is no tensor.
    """
    if not isinstance(t, Tensor):
        raise ArgumentError(f"{wanted} needs a captured tensor, got {type(t).__name__}")
    memory = t.memory
    if not isinstance(memory, PlannedMemory) or memory.mode == "constant":
        raise MemoryModeError(
            f"{wanted} needs a tensor that is not computed yet, and this one, of shape {t.shape}, has a value: compute "
            "it inside with fnb.capture()"
        )
    if not isinstance(memory.origin, Recorder):
        raise MemoryModeError(
            f"{wanted} of a tensor of shape {t.shape} that a routine computes already: join what belongs together with "
            "fnb.train.sequence before to_routine, or capture it again"
        )
    return memory.origin


def needed(recorder: Recorder, t: Tensor) -> Recorder:
    """The part of a recording that computes `t`, with the counters that advance for a statement of that part.

    What changes values from outside by nothing but values of that part belongs to it, such as the running statistics
    of a batch.
    """
    statements = recorder.statements
    wanted = {id(t.memory)}
    made: set[int] = set()
    kept = []
    for position in reversed(range(len(statements))):
        statement = statements[position]
        if any(id(memory) in wanted for memory in statement.writes):
            kept.append(position)
            wanted.update(id(memory) for memory in statement.reads)
            made.update(id(memory) for memory in statement.writes)
    for position in set(range(len(statements))).difference(kept):
        if _follows(statements[position], made):
            kept.append(position)
            wanted.update(id(memory) for memory in statements[position].reads)
    kept.sort()
    part = Recorder()
    part.spells = list(recorder.spells)
    part.statements = [statements[i] for i in kept]
    part.backend, part.inputs, part.frozen = recorder.backend, recorder.inputs, list(recorder.frozen)
    part.memories, part.guards, part.symbols = recorder.memories, list(recorder.guards), dict(recorder.symbols)
    place = {old: new for new, old in enumerate(kept)}
    part.before = [(act, place[position]) for act, position in recorder.before if position in place]
    for memory, array, position in recorder.constants:
        if id(memory) in wanted:
            part.constants.append((memory, array, sum(i < position for i in kept)))
    return part


def apart(recorder: Recorder, t: Tensor) -> tuple[Recorder, PlannedMemory]:
    """The part of a recording that computes `t`, writing memory of its own, and the memory that has `t` there.

    A routine of it leaves the recording as it is, whatever other routines compute of it.
    """
    part = joined([needed(recorder, t)])
    part.backend = part.backend or t.backend  # where nothing has elements there are no statements
    empty = [m for s in part.statements for m in s.reads if m.nbytes == 0]
    touched = [t.memory, *empty, *(m for s in part.statements for m in s.writes)]
    own = {id(memory): memory for memory in touched if isinstance(memory, PlannedMemory)}
    fresh = {key: PlannedMemory(memory.nbytes) for key, memory in own.items()}
    for number, (memory, array, at) in enumerate(part.constants):
        if id(memory) in fresh:
            part.constants[number] = fresh[id(memory)], array, at
            upload_constant(part.backend, fresh[id(memory)], array)
    part.statements = [renamed(s, fresh) for s in part.statements]
    part.memories = list(fresh.values())
    fresh[id(t.memory)].keep = True
    return part, fresh[id(t.memory)]


def _follows(statement: Launch | Product, made: set[int]) -> bool:
    """Whether a statement changes a value from outside by values that are `made`, and by no others of the recording."""
    computed = [m for m in statement.reads if isinstance(m, PlannedMemory) and m.mode != "constant"]
    outside = any(not isinstance(memory, PlannedMemory) for memory in statement.writes)
    return outside and bool(computed) and all(id(memory) in made for memory in computed)


def joined(recorders: Iterable[Recorder]) -> Recorder:
    """Recordings one after the other. A statement that stands there already, its operands unchanged, is not repeated.

    Raises
    ------
    ArgumentError
        If they are of different backends.
    """
    whole = Recorder()
    place: dict[int, int] = {}
    written: dict[int, int] = {}
    known: set[int] = set()
    for recorder in recorders:
        if whole.backend not in (None, recorder.backend) and recorder.backend is not None:
            raise ArgumentError(
                f"sequence got programs of backends {whole.backend.name!r} and {recorder.backend.name!r}: a routine "
                "runs on one"
            )
        whole.backend = whole.backend or recorder.backend
        moved = []
        for statement in recorder.statements:
            moved.append(len(whole.statements))
            touched = (*statement.reads, *statement.writes)
            before = place.get(id(statement))
            if before is not None and all(written.get(id(m), -1) <= before for m in touched):
                continue
            place[id(statement)] = len(whole.statements)
            written.update((id(memory), len(whole.statements)) for memory in statement.writes)
            whole.statements.append(statement)
        moved.append(len(whole.statements))
        fresh = [c for c in recorder.constants if id(c[0]) not in known]
        known.update(id(memory) for memory, _, _ in fresh)
        whole.constants += [(memory, array, moved[position]) for memory, array, position in fresh]
        acting = [act for act, _ in whole.before]
        fresh_acts = [b for b in recorder.before if not any(b[0] is act for act in acting)]
        whole.before += [(act, moved[position]) for act, position in fresh_acts]
        for kind in ("memories", "guards", "after", "inputs", "frozen", "arenas", "spells"):
            mine = getattr(whole, kind)
            seen = set(map(id, mine))
            mine += [item for item in getattr(recorder, kind) if id(item) not in seen]
        whole.symbols.update(recorder.symbols)
    return whole
