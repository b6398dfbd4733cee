"""A linked program in parts, with calls between them: what is complete can go on its way while the rest runs.

Imports statements and tensors; who is called, and what for, is said by the callers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

from ..errors import ArgumentError
from ..tensor import Tensor
from .lives import Statement

Pause = tuple[Sequence[Tensor], Callable[[], object]]
"""Values, and what is called in each run as soon as they are complete; it must not change anything of the routine."""


def cuts(statements: Sequence[Statement], pauses: Iterable[Pause]) -> list[tuple[int, Callable[[], object]]]:
    """After how many statements each pause is due. They keep their order: one waits for those before it.

    Raises
    ------
    ArgumentError
        If no statement computes what a pause waits for, or it is no pair of tensors and a function.
    """
    last: dict[int, int] = {}
    for position, statement in enumerate(statements):
        last.update((id(memory), position + 1) for memory in statement.writes)
    found: list[tuple[int, Callable[[], object]]] = []
    for pause in pauses:
        values, act = _parts(pause)
        due = max((last.get(id(value.memory), 0) for value in values), default=0)
        if not due:
            raise ArgumentError("a pause waits for values that the program computes, and got none of these")
        found.append((max(due, found[-1][0] if found else 0), act))
    return found


def _parts(pause: object) -> Pause:
    if isinstance(pause, (tuple, list)) and len(pause) == 2:
        values, act = pause
        if isinstance(values, (tuple, list)) and all(isinstance(t, Tensor) for t in values) and callable(act):
            return values, act
    raise ArgumentError(f"pauses are pairs of (tensors that are waited for, what is called then), and got {pause!r}")


class Segments:
    """What `link` gives, for a program in parts.

    Parameters
    ----------
    statements : sequence
        All of them, placed.
    due : list of (int, callable)
        See `cuts`.
    linked : callable
        Makes the runner of some statements.
    """

    def __init__(
        self,
        statements: Sequence[Statement],
        due: Sequence[tuple[int, Callable[[], object]]],
        linked: Callable[[list[Statement]], object],
    ):
        self._ends = sorted({position for position, _ in due} | {len(statements)})
        self._begins = [0, *self._ends[:-1]]
        bounds = zip(self._begins, self._ends, strict=True)
        self._runners: list = [linked(list(statements[begin:end])) for begin, end in bounds]
        self._acts = [[act for position, act in due if position == end] for end in self._ends]

    def prepare(self) -> None:
        """Compute the late numbers of all parts."""
        for runner in self._runners:
            runner.prepare()

    def execute(self) -> None:
        """Run part after part, and call in between."""
        for runner, acts in zip(self._runners, self._acts, strict=True):
            runner.execute()
            for act in acts:
                act()

    def step(self, position: int) -> None:
        """Run the statement at a position; after the last of a part comes what is called there."""
        number = bisect_right(self._begins, position) - 1
        self._runners[number].step(position - self._begins[number])
        if position + 1 == self._ends[number]:
            for act in self._acts[number]:
                act()

    def source(self) -> str:
        """The text of every part."""
        return "\n".join(runner.source() for runner in self._runners)

    def assembly(self) -> str:
        """The machine code of every part."""
        return "\n".join(runner.assembly() for runner in self._runners)
