"""Run a chapter, then judge its starters: ``python -W error chapter.py FILE NUMBER`` prints a JSON object a verdict."""

import json
import runpy
import sys

from forgenb.course import EXERCISES, check, watch

if __name__ == "__main__":
    _, path, chapter = sys.argv
    before = watch.snapshot()
    names = runpy.run_path(path, run_name="__main__")
    assert watch.put_back(before) == []  # a learner's copy that replaces nothing more can be graded
    print("verdicts:")
    for number, asked in EXERCISES.items():
        if number.startswith(f"{chapter}-"):
            verdict = check(number, names[asked.function])
            print(json.dumps([number, verdict.passed, verdict.explanation]))
