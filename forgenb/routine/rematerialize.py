"""Compute large values again where they are needed late, instead of keeping them from forward to backward.

While the program needs most scratch, a value that waits there for a late reader is computed a second time just before
that reader, from operands that are still there. The cheapest in time for its bytes goes first, and all of them together
may cost a small part of the program. A repeated statement is the same statement, so the value has the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ..backend.planned import PlannedMemory
from .lives import Lives, Statement, lifetimes, shareable, usage
from .statements import Launch, Place, Product
from .work import flop, moved

SMALLEST = 1 << 20
"""Bytes below which a value is kept: less is not worth a launch."""

SHARE = 0.08
"""The part of a program's time that may be spent on computing values again."""

MOST = 8
"""Statements that may be repeated for one value."""

BALANCE = 16
"""Floating-point operations of a product that take as long as moving one byte."""


def rematerialized(statements: list[Statement]) -> list[Statement]:
    """The program with values computed again, as long as that lowers its peak and stays within the bounds."""
    left = SHARE * sum(map(cost, statements))
    program = _Program(statements)
    while True:
        plans = [plan for plan in program.plans() if plan.cost <= left]
        for plan in sorted(plans, key=lambda plan: (plan.cost / plan.nbytes, -plan.nbytes, plan.repeated)):
            shorter = _Program(program.applied(plan))
            if shorter.height < program.height:
                left -= plan.cost
                program = shorter
                break
        else:
            return program.statements


def cost(statement: Statement) -> float:
    """An estimate of time, in operations of a product."""
    return float(flop(statement) if isinstance(statement, Product) else BALANCE * moved(statement))


class _Plan(NamedTuple):
    """Statements (by number) that are repeated before the statement `at`, to have a value of `nbytes` there."""

    at: int
    repeated: tuple[int, ...]
    nbytes: int
    cost: float


class _Program:
    """Statements with what a decision needs to know of them."""

    def __init__(self, statements: list[Statement]):
        self.statements = statements
        self.lives: Lives = lifetimes(statements)
        self.writers: dict[int, list[int]] = {}
        self.touches: dict[int, list[int]] = {}
        for position, statement in enumerate(statements):
            for memory in statement.writes:
                self.writers.setdefault(id(memory), []).append(position)
            for memory in (*statement.reads, *statement.writes):
                if memory.nbytes >= SMALLEST:
                    self.touches.setdefault(id(memory), []).append(position)
        self.usage = usage(statements, self.lives)
        self.peak = max(self.usage, default=0)
        self.height = self.peak, self.usage.count(self.peak)

    def plans(self) -> Iterator[_Plan]:
        """How each large value that waits while the peak is reached could be computed later instead."""
        if not self.statements:
            return
        here = self.usage.index(self.peak)
        for first, last, memory in self.lives.values():
            if first < here < last and memory.nbytes >= SMALLEST and here not in self.touches[id(memory)]:
                at = next(position for position in self.touches[id(memory)] if position > here)
                repeated: dict[int, None] = {}
                if self._again(memory, at, repeated):
                    price = sum(cost(self.statements[number]) for number in repeated)
                    yield _Plan(at, tuple(repeated), memory.nbytes, price)

    def _again(self, memory: PlannedMemory, at: int, repeated: dict[int, None]) -> bool:
        """Note the statements that give `memory` its value before `at`, in order; False where none can."""
        number = self._writer(memory)
        if number is None or len(repeated) == MOST:
            return False
        for operand in self.statements[number].reads:
            if any(number < position < at for position in self.writers.get(id(operand), ())):
                return False
            there = not shareable(operand) or self.lives[id(operand)][1] >= at
            if not there and not self._again(operand, at, repeated):
                return False
        repeated[number] = None
        return True

    def _writer(self, memory) -> int | None:
        """The one statement that makes all of a value, where it may run twice."""
        writers = self.writers.get(id(memory), ())
        if len(writers) != 1 or not shareable(memory) or "materialize" in memory.decisions:
            return None
        statement = self.statements[writers[0]]
        adds = isinstance(statement, Product) and statement.scales[1] != 0.0
        alone = len(statement.writes) == 1 and not any(m is memory for m in statement.reads)
        return writers[0] if alone and not adds else None

    def applied(self, plan: _Plan) -> list[Statement]:
        """The program in which later readers use values that are computed again before `plan.at`."""
        fresh: dict[int, PlannedMemory] = {}
        again = []
        for number in plan.repeated:
            statement = self.statements[number]
            (old,) = statement.writes
            fresh[id(old)] = PlannedMemory(old.nbytes)
            again.append(renamed(statement, fresh))
        return [*self.statements[: plan.at], *again, *(renamed(s, fresh) for s in self.statements[plan.at :])]


def renamed(statement: Statement, fresh: dict[int, PlannedMemory]) -> Statement:
    """The statement with other memories, by the ids of those that they stand for; itself where it has none of them."""
    if not any(id(m) in fresh for m in (*statement.reads, *statement.writes)):
        return statement

    def other(value):
        if isinstance(value, Place) and id(value.memory) in fresh:
            return Place(fresh[id(value.memory)], value.offset)
        return value

    reads, writes = (tuple(fresh.get(id(m), m) for m in group) for group in (statement.reads, statement.writes))
    if isinstance(statement, Launch):
        return replace(statement, values=list(map(other, statement.values)), reads=reads, writes=writes)
    return replace(statement, places=tuple(map(other, statement.places)), reads=reads, writes=writes)
