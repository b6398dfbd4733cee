"""Judge an answer: `check`.

Imports the exercises; what each asks for is theirs.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

from ..errors import ArgumentError
from . import exercises as _exercises  # noqa: F401  # fills the list
from .exercise import EXERCISES, Exercise, Mistaken

LONGEST = 2000
"""Characters of what an error says; its own text may have megabytes."""


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right.

    Attributes
    ----------
    number : str
        Of the exercise.
    status : str
        ``"passed"``, or why it is not: ``"failed"`` where a result is wrong, ``"not written"``, ``"error"`` where the
        answer raises, ``"memory"`` where it asks for more than there is, and ``"timeout"``, which only a process with a
        limit has.
    explanation : str
        What is wrong, or that nothing is.
    printed : str
        The beginning of what the answer printed while a process judged it; `check` leaves it where it goes.
    """

    number: str
    status: str
    explanation: str
    printed: str = field(default="", compare=False)

    @property
    def passed(self) -> bool:
        """Whether every hidden input gave what it should."""
        return self.status == "passed"

    @property
    def row(self) -> dict[str, str]:
        """It as JSON has it."""
        return {"exercise": self.number, "status": self.status, "explanation": self.explanation}

    def __str__(self) -> str:
        return f"{self.number} {'passed' if self.passed else 'not yet'}: {self.explanation}"


def check(number: str, answer: Callable) -> Verdict:
    """Run an answer on hidden inputs and say what is wrong with it, if anything is.

    Parameters
    ----------
    number : str
        The exercise, such as ``"03-1"``; the chapter's starter names it.
    answer : callable
        The function that was written.

    Returns
    -------
    Verdict
        To be printed; an answer that raises anything but KeyboardInterrupt is a verdict too.

    Raises
    ------
    ArgumentError
        If there is no such exercise, or the answer cannot be called.
    """
    asked = EXERCISES.get(number) if isinstance(number, str) else None
    if asked is None:
        raise ArgumentError(f"there is no exercise {number!r}: there are {', '.join(sorted(EXERCISES))}")
    if not callable(answer):
        raise ArgumentError(
            f"exercise {number} asks for a function {asked.function}, got {type(answer).__name__}: pass the function "
            "itself, without calling it"
        )
    try:
        asked.judge(answer)
    except Mistaken as mistaken:
        return Verdict(number, "failed", str(mistaken))
    except NotImplementedError:
        return unwritten(asked)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # such as sys.exit() in an answer
        file = getattr(getattr(answer, "__code__", None), "co_filename", None)
        return Verdict(number, kind(error), f"{asked.function} raises {told(error, file)}")
    return Verdict(number, "passed", f"{asked.function} is right on all hidden inputs.")


def unwritten(asked: Exercise) -> Verdict:
    """The verdict on a starter."""
    text = f"{asked.function} is still to be written: {asked.title[0].lower()}{asked.title[1:]}."
    return Verdict(asked.number, "not written", text)


def kind(error: BaseException) -> str:
    """The status of what raised it."""
    return "memory" if isinstance(error, MemoryError) else "error"


def told(error: BaseException, file: str | None) -> str:
    """An error in words, with the last line of `file` that it went through, or its last line of all."""
    if isinstance(error, SyntaxError):
        where = f" (line {error.lineno})" if error.lineno else ""
        return f"{type(error).__name__}: {error.msg}{where}"
    frames = traceback.extract_tb(error.__traceback__)
    last = next((frame for frame in reversed(frames) if frame.filename == file), frames[-1])
    words = _words(error)
    text = f"{type(error).__name__}: {words}" if words else type(error).__name__
    return f"{text} (line {last.lineno}: {last.line})"


def _words(error: BaseException) -> str:
    """What an error says, cut; nothing where that raises another."""
    try:
        words = str(error)
    except Exception:
        return ""
    return words if len(words) <= LONGEST else f"{words[:LONGEST]}..."
