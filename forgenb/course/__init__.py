"""The course: its chapters, and exercises whose `check` runs an answer on hidden inputs and explains what is wrong.

It lists the public names. What an exercise asks stands in its chapter, in tutorials/; solutions are not part of it.
`grade` judges a folder of submissions, and `WorkingFolder` is where a learner writes: ``forgenb course`` has both as
commands.
"""

from .check import Verdict, check
from .contents import Chapter, chapter, chapters
from .exercise import EXERCISES, Exercise
from .grading import Grade, grade, write_csv, write_json
from .notebooks import notebook
from .processes import Limits
from .working import Progress, WorkingFolder

__all__ = [
    "EXERCISES",
    "Chapter",
    "Exercise",
    "Grade",
    "Limits",
    "Progress",
    "Verdict",
    "WorkingFolder",
    "chapter",
    "chapters",
    "check",
    "grade",
    "notebook",
    "write_csv",
    "write_json",
]
