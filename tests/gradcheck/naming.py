"""How many of the collected wrong rules `gradcheck` names as their authors do: ``python -m gradcheck.naming``.

Run it with this folder's parent on the path. Imports the collection and the public package; it holds no case and no
hypothesis.
"""

from functools import cache
from typing import NamedTuple

import forgenb as fnb
from forgenb.errors import GradcheckError

from .wrong_rules import CASES, Problem, Wrong
from .wrong_rules.words import WORDS


class Named(NamedTuple):
    """One case, and what `gradcheck` said of it."""

    problem: Problem
    wrong: Wrong
    mistake: str | None
    text: str

    @property
    def right(self) -> bool:
        """Whether the name stands for one of the words of the case."""
        return bool(WORDS[self.mistake] & self.wrong.names)

    def __str__(self) -> str:
        words = " or ".join(sorted(self.wrong.names))
        return f"{self.problem.name}: {self.wrong.slip}; wanted {words}, got {self.mistake}"


@cache
def named(number: int) -> Named:
    """What is said of one wrong rule, which must be rejected."""
    problem, wrong = CASES[number]
    try:
        fnb.gradcheck(problem.op(wrong.rule), *problem.drawn())
    except GradcheckError as error:
        return Named(problem, wrong, error.mistake, str(error))
    raise AssertionError(f"gradcheck accepts {problem.name}: {wrong.slip}")


def score() -> list[Named]:
    """Every case."""
    return [named(number) for number in range(len(CASES))]


def report() -> str:
    """The score, then the misses."""
    cases = score()
    misses = [case for case in cases if not case.right]
    return "\n".join([f"{len(cases) - len(misses)} of {len(cases)} wrong rules named", *map(str, misses)])


if __name__ == "__main__":
    print(report())
