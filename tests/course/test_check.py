"""Verdicts on what is no answer at all, and the comparison that judges share."""

import numpy as np
import pytest

from forgenb.course import check
from forgenb.course.exercise import EXERCISES, Mistaken, exercise
from forgenb.course.judging import draw, expect
from forgenb.errors import ArgumentError


def test_there_is_no_such_exercise():
    with pytest.raises(ArgumentError, match="there is no exercise '77-1': there are .*03-1, "):
        check("77-1", len)
    with pytest.raises(ArgumentError, match="asks for a function sum_to, got ndarray: pass the function itself"):
        check("03-1", np.ones(2))


def test_an_answer_that_raises_is_a_verdict():
    def sum_to(dout, shape):
        return dout.no_such_thing

    verdict = check("03-1", sum_to)
    assert not verdict.passed
    assert "sum_to raises AttributeError: " in verdict.explanation
    assert "return dout.no_such_thing" in verdict.explanation


def test_the_line_that_is_told_is_the_learner_s():
    def sum_to(dout, shape):
        return np.sum(dout, axis="x")

    verdict = check("03-1", sum_to)
    assert "sum_to raises TypeError: " in verdict.explanation
    assert 'return np.sum(dout, axis="x"))' in verdict.explanation
    assert "sum_to raises AxisError: " in check("03-1", np.sum).explanation


def test_a_number_is_given_once():
    with pytest.raises(ValueError, match="exercise 03-1 stands twice"):
        exercise("03-1", "again")(lambda answer: None)
    assert EXERCISES["03-1"].function == "sum_to"


def test_hidden_inputs_are_the_same_each_time():
    assert np.array_equal(draw(3, 2), draw(3, 2))
    assert not np.array_equal(draw(3, 2), draw(3, 2, seed=1))
    assert draw(1000, low=0.5, high=0.6).min() >= 0.5


@pytest.mark.parametrize(
    ("got", "message"),
    [
        (None, "it returns None: is a return statement missing"),
        ([1.0], r"has shape \(1,\), and should have \(2,\)"),
        ([1.0, np.nan], r"the result is nan at \(1,\), where it should be finite"),
        ([1.0, 2.1], r"the numbers differ, most at \(1,\), by 0.1; 50% of them are off"),
        ("word", "it returns str, which is no array"),
        ([2.0, 4.0], "With x: twice as much"),
    ],
)
def test_results_are_compared(got, message):
    mistakes = [("it is right", [1.0, 2.0]), ("twice as much", [2.0, 4.0])]
    with pytest.raises(Mistaken, match=message):
        expect(got, [1.0, 2.0], "x", mistakes)
    expect([1.0, 2.0], [1.0, 2.0], "x", mistakes)


def test_a_tolerance_is_relative():
    expect([1e9, 0.1], [1e9, 0.0], "x")
    with pytest.raises(Mistaken, match="differ"):
        expect([1e9, 0.1], [1e9, 0.0], "x", tolerance=1e-12)


class Endless(Exception):
    def __str__(self):
        return "x" * 1_000_000


class Wordless(Exception):
    def __str__(self):
        raise ValueError


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (SystemExit("so"), "sum_to raises SystemExit: so (line "),
        (GeneratorExit(), "sum_to raises GeneratorExit (line "),
        (Wordless(), "sum_to raises Wordless (line "),
        (Endless(), f"sum_to raises Endless: {'x' * 2000}... (line "),
        (SyntaxError("what"), "sum_to raises SyntaxError: what"),
    ],
)
def test_whatever_is_raised_is_a_verdict(error, told):
    def sum_to(dout, shape):
        raise error

    verdict = check("03-1", sum_to)
    assert verdict.status == "error"
    assert verdict.explanation.startswith(told)
    assert "None" not in verdict.explanation


def test_whoever_interrupts_is_not_judged():
    def sum_to(dout, shape):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check("03-1", sum_to)
