"""An exercise: its number, what it is about, and the judge of an answer to it.

Imports nothing but the standard library; the judges are in `forgenb.course.exercises`, a file a chapter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


class Mistaken(Exception):
    """What is wrong with an answer, in words for whoever wrote it; `check` turns it into a verdict."""


@dataclass(frozen=True)
class Exercise:
    """One exercise of a chapter.

    Attributes
    ----------
    number : str
        Chapter and place, such as ``"03-1"``.
    title : str
        What is to be written.
    function : str
        The name of the function to write; the chapter has its starter.
    judge : callable
        Takes an answer and raises `Mistaken` if it is wrong.
    """

    number: str
    title: str
    function: str
    judge: Callable[[Callable], None]


EXERCISES: dict[str, Exercise] = {}
"""All exercises by number; `forgenb.course.exercises` fills it."""


def exercise(number: str, title: str) -> Callable:
    """Enter the decorated judge; it has the name of the function that is to be written."""

    def enter(judge: Callable[[Callable], None]) -> Callable[[Callable], None]:
        if number in EXERCISES:
            raise ValueError(f"exercise {number} stands twice")
        EXERCISES[number] = Exercise(number, title, judge.__name__, judge)
        return judge

    return enter
