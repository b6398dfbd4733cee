"""Verdicts on what is no answer at all, and the comparison that judges share."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.course import check
from forgenb.course.exercise import EXERCISES, Mistaken, exercise
from forgenb.course.judging import agrees, draw, expect, expect_rule, lone, only_words, untouched
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
        ("word", "it returns a str, which is no array"),
        ([[1.0, 2.0]], "it returns a list of one; return what is in it"),
        (10**400, "it returns an int, which is no array"),
        ([2.0, 4.0], "With x: twice as much"),
    ],
)
def test_results_are_compared(got, message):
    mistakes = [("it is right", [1.0, 2.0]), ("twice as much", [2.0, 4.0])]
    with pytest.raises(Mistaken, match=message):
        expect(got, [1.0, 2.0], "x", mistakes)
    expect([1.0, 2.0], [1.0, 2.0], "x", mistakes)


@pytest.mark.parametrize(
    ("got", "message"),
    [
        (46.5, r"^With x the number is off by 45\.5\.$"),
        (np.nan, "^With x the result is nan, where it should be finite"),
        ((1.0,), "a tuple of one; return what is in it"),
    ],
)
def test_one_number_has_no_place(got, message):
    with pytest.raises(Mistaken, match=message):
        expect(got, 1.0, "x")


def test_a_kind_may_be_asked_for():
    expect(np.float64(1.0), 1.0, "x", kind=np.ndarray)
    expect(fnb.tensor([1.0]), [1.0], "x", kind=fnb.Tensor)
    with pytest.raises(Mistaken, match="the numbers are right, but a NumPy array is asked for, and this is a Tensor"):
        expect(fnb.tensor([1.0]), [1.0], "x", kind=np.ndarray)
    expect([1, np.int64(2)], [1, 2], "x", kind=int)
    with pytest.raises(Mistaken, match="whole numbers are asked for, and this is a float of float64"):
        expect(1.0, 1, "x", kind=int)
    expect(np.float32(1), 1.0, "x", kind=np.float32)
    with pytest.raises(Mistaken, match="float32 is asked for, and this is an ndarray of float64"):
        expect(np.ones(1), [1.0], "x", kind=np.float32)
    with pytest.raises(Mistaken, match="but a tensor is asked for, and this is an ndarray of float64"):
        expect(np.ones(1), [1.0], "x", kind=fnb.Tensor)


def test_one_gradient_may_stand_alone():
    assert [lone(2.0), lone((2.0,)), lone([2.0]), lone((1, 2))] == [2.0, 2.0, 2.0, (1, 2)]


def test_an_array_that_was_handed_is_compared():
    untouched(np.ones(2), np.ones(2), "x")
    with pytest.raises(Mistaken, match="but y is no longer what it was"):
        untouched(np.ones(2), np.zeros(2), "x", "y")


def cubed(x):
    return x * x * x


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda dout, x: None, "it returns None: is a return statement missing"),
        (lambda dout, x: 1.0, "it returns a float, where a gradient must be a tensor"),
        (lambda dout, x: (dout, dout), "it returns 2 gradients, where one is asked for"),
        (lambda dout, x: dout, "With x: the slope is left out"),
        (lambda dout, x: 2.0 * dout * x * x, "With x the rule disagrees with differences"),
    ],
)
def test_rules_are_compared(rule, message):
    with pytest.raises(Mistaken, match=message):
        expect_rule(cubed, rule, draw(3), given="x", mistakes=[("the slope is left out", lambda dout, x: dout)])


@pytest.mark.parametrize("kind", [list, tuple])
def test_gradients_may_be_a_list(kind):
    expect_rule(cubed, lambda dout, x: kind([3.0 * dout * x * x]), draw(3), given="x")
    with pytest.raises(Mistaken, match="it returns 1 gradient, where 2 are asked for, one for each input"):
        expect_rule(lambda x, y: x * y, lambda dout, x, y: kind([dout]), draw(3), draw(3), given="x")


def starter(x):
    raise NotImplementedError


def whole(n):
    return sum(min(n, k) for k in range(n))


def powers(x):
    x **= 2
    return x


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (whole, "the function sum: "),
        (powers, r"uses \*\*: a kernel"),
        (lambda x: np.exp(x), "the module np: "),
    ],
)
def test_a_body_has_words_only(body, message):
    only_words(starter)
    only_words(lambda x: max(x, 0))
    with pytest.raises(Mistaken, match=message):
        only_words(body)


def test_a_tolerance_is_relative():
    expect([1e9, 0.1], [1e9, 0.0], "x")
    with pytest.raises(Mistaken, match="differ"):
        expect([1e9, 0.1], [1e9, 0.0], "x", tolerance=1e-12)


def test_a_gradient_is_that_of_a_mistake():
    wrong = np.array([1.0, 2.0])
    assert agrees(fnb.tensor(wrong), wrong)
    for other in (fnb.tensor([1.0, 2.1]), fnb.tensor([[1.0, 2.0]]), wrong, None):
        assert not agrees(other, wrong)


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
