"""The course's exercises: `check` runs an answer on hidden inputs and explains what is wrong with it.

It lists the public names. What an exercise asks stands in its chapter, in tutorials/; solutions are not part of it.
"""

from .check import Verdict, check
from .exercise import EXERCISES, Exercise

__all__ = ["EXERCISES", "Exercise", "Verdict", "check"]
