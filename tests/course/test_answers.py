"""Every exercise accepts its solution, and rejects typical wrong answers with the explanation that fits."""

import re
from collections import Counter

import pytest
from course.wrong_answers import FILES, WRONG, line, page, sentence
from support.pages import page as page_of

from forgenb.course import EXERCISES, check

RIGHT = {number: answer for file in FILES for number, answer in file.RIGHT.items()}
PAGE = page_of("wrong_answers.md")
STALE = "PYTHONPATH=tests python -m course.wrong_answers > docs/wrong_answers.md"


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
    shown = line((number, mistake), sentence(verdict.explanation, told))
    assert f"{shown}\n" in PAGE, STALE


def test_the_page_of_wrong_answers_has_each_once():
    """What the tests above leave open: no other rows, and in order."""

    def untold(text):
        return re.sub(r"^(\| .* \|) .* \|$", r"\1", text, flags=re.MULTILINE)

    assert untold(PAGE) == untold(page(lambda row: "what the test above compares")), STALE


@pytest.mark.parametrize(
    ("explanation", "words", "wanted"),
    [
        ("With x of shape (3,): the sign is wrong. And more.", "sign", "the sign is wrong."),
        ("With x the rule disagrees. The usual mistake: a sum.", "a sum", "The usual mistake: a sum."),
        ("With x it returns None: is it missing?", "returns None", "With x it returns None: is it missing?"),
        ("f raises KeyError: 3 (line 7: return d[3])", "KeyError", "f raises KeyError: 3"),
        ("One. Two.", "One. Two", "One. Two."),
    ],
)
def test_what_a_verdict_says_of_a_mistake(explanation, words, wanted):
    assert sentence(explanation, words) == wanted


def test_the_page_shows_text_as_it_is():
    assert line(("01-1", "takes a|b"), "x_1 * $2$") == r"| takes a\|b | x\_1 \* \$2\$ |"
