"""Every exercise accepts its solution, and rejects typical wrong answers with the explanation that fits."""

import importlib
import pkgutil
from collections import Counter

import pytest
from course import answers

from forgenb.course import EXERCISES, check

FILES = [importlib.import_module(f"course.answers.{found.name}") for found in pkgutil.iter_modules(answers.__path__)]
RIGHT = {number: answer for file in FILES for number, answer in file.RIGHT.items()}
WRONG = [row for file in FILES for row in file.WRONG]


def test_each_exercise_has_a_solution_and_each_chapter_five_wrong_answers():
    assert sorted(RIGHT) == sorted(EXERCISES)
    chapters = Counter(number.split("-")[0] for number, *_ in WRONG)
    assert {number.split("-")[0] for number in EXERCISES} == set(chapters)
    assert min(chapters.values()) >= 5
    assert {number for number, *_ in WRONG} == set(EXERCISES)


@pytest.mark.parametrize("number", sorted(EXERCISES))
def test_the_solution_passes(number):
    verdict = check(number, RIGHT[number])
    assert verdict.passed, verdict
    assert str(verdict) == f"{number} passed: {EXERCISES[number].function} is right on all hidden inputs."


@pytest.mark.parametrize(("number", "mistake", "answer", "told"), WRONG, ids=[f"{n} {m}" for n, m, *_ in WRONG])
def test_a_wrong_answer_is_explained(number, mistake, answer, told):
    verdict = check(number, answer)
    assert not verdict.passed
    assert told in verdict.explanation
