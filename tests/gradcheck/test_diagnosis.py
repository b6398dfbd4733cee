"""Each usual mistake is named where the numbers agree with it, and no longer where one entry is otherwise."""

import re
from pathlib import Path

import numpy as np
import pytest
from support import further_wrong_rules, wrong_rules
from support.wrong_rules import MISFITS, draw, numpy_op, v

import forgenb as fnb
from forgenb import ops
from forgenb.errors import GradcheckError, TapeError
from forgenb.gradcheck.diagnosis import MISTAKES, NONE, explained
from forgenb.gradcheck.evidence import Evidence
from forgenb.gradcheck.subject import Subject

NAMES = {
    "zero", "sign", "ignores-incoming", "changed-incoming", "merged-incoming", "mask-inverted", "mask-missing",
    "operands-swapped", "wrong-argument", "mean-for-sum", "sum-for-mean", "factor", "overwritten", "off-by-one",
    "transpose", "reversed", "output-for-input", "input-for-output", "wrong-operand", "negated-input", "stale", "chain",
    "output-left-out", "wrong-index", "factor-of-values", "value-for-derivative", "wrong-function", "term-dropped",
    "mask-wrong", "wrong-axis",
}  # fmt: skip
CASES = wrong_rules.CASES + further_wrong_rules.CASES
numbered = pytest.mark.parametrize("case", CASES, ids=[f"{n}-{case.mistake}" for n, case in enumerate(CASES)])


def failure(f, *inputs):
    with pytest.raises(GradcheckError) as caught:
        fnb.gradcheck(f, *inputs)
    return caught.value


@numbered
def test_the_right_rule_passes(case):
    assert fnb.gradcheck(numpy_op(case.forward, case.right), *case.inputs)


@numbered
def test_a_mistake_is_named(case):
    error = failure(numpy_op(case.forward, case.wrong), *case.inputs)
    assert error.mistake == case.mistake
    assert case.says in str(error)
    assert isinstance(error, TapeError)
    assert "\n" not in str(error)


@numbered
def test_a_mistake_is_not_named_where_one_entry_disagrees(case):
    """The same wrong rule with one entry changed besides: then that mistake does not make the numbers agree."""

    def changed(d, *arrays):
        found = case.wrong(d, *arrays)
        several = found if isinstance(found, tuple) else (found,)
        copies = [np.zeros_like(a) if g is None else np.array(g, float) for g, a in zip(several, arrays, strict=True)]
        for g in copies:
            g.flat[g.size // 2] += 0.0137 * d.flat[0] + 0.0071 * d.sum()
        return tuple(copies)

    assert failure(numpy_op(case.forward, changed), *case.inputs).mistake is None


def test_every_mistake_has_a_case():
    assert {m.name for m in MISTAKES} == NAMES
    assert {case.mistake for case in CASES} | {"stale", "output-left-out"} == NAMES


def test_every_hypothesis_is_the_first_to_agree_in_some_case():
    first = []
    for case in CASES:
        subject = Subject(numpy_op(case.forward, case.wrong), case.inputs, 0)
        outputs, pull = subject.pullback()
        cotangents = [draw(*y.shape, seed=11) for y in outputs]
        wanted = Subject(numpy_op(case.forward, case.right), case.inputs, 0).pullback()[1](cotangents)
        found = [np.zeros_like(right) if g is None else g for g, right in zip(pull(cotangents), wanted, strict=True)]
        number = next(n for n, (g, right) in enumerate(zip(found, wanted, strict=True)) if not np.allclose(g, right))
        named = explained(Evidence(subject, cotangents, subject.floats[number], 1e-6))
        assert named is not None
        first.append(named[0])
    left = {(m.name, m.sentence) for m in MISTAKES if not any(m is found for found in first)}
    assert {name for name, _ in left} == {"stale", "output-left-out"}


@pytest.mark.parametrize("case", MISFITS, ids=[case.mistake for case in MISFITS])
def test_a_gradient_of_another_shape_is_explained(case):
    assert fnb.gradcheck(numpy_op(case.forward, case.right), *case.inputs)
    error = failure(numpy_op(case.forward, case.wrong), *case.inputs)
    assert error.mistake == case.mistake
    assert case.says in str(error)


def test_any_other_shape_has_no_name():
    error = failure(numpy_op(lambda x: x[:2], lambda d, x: d), v)
    assert error.mistake is None
    assert "gradient of shape (2,)" in str(error)


@pytest.mark.parametrize("when", ["an earlier", "a later"])
def test_values_that_are_kept_too_long_are_named(when):
    kept = {}

    def forward(x):
        if when == "a later" or not kept:
            kept["x"] = x.copy()
        return x**3

    error = failure(numpy_op(forward, lambda d, x: 3 * d * kept["x"] ** 2), v)
    assert error.mistake == "stale"
    assert f"values of {when} call" in str(error)


def test_values_kept_in_one_place_are_named_whatever_is_made_of_them():
    kept = {}

    def forward(x):
        kept["x"] = x.copy()
        return x**3

    error = failure(numpy_op(forward, lambda d, x: d * np.sinh(kept["x"]) * kept["x"].mean()), v)
    assert error.mistake == "stale"
    assert "values of the latest call" in str(error)


def test_values_kept_for_each_call_are_fine():
    assert fnb.gradcheck(numpy_op(lambda x: x**3, lambda d, x: 3 * d * x**2), v)


def test_a_mistake_without_a_name_says_so():
    error = failure(numpy_op(np.exp, lambda d, x: d * np.exp(x) * [1, 1.2, 0.7, 1.3, 0.9]), v)
    assert error.mistake is None
    assert str(error).endswith(NONE)


def test_the_entry_that_differs_most_is_shown_with_both_values_and_the_shapes():
    error = failure(numpy_op(lambda x: x * x, lambda d, x: d * x * [2, 2.1, 2, 3, 2]), v)
    assert (error.label, error.entry) == ("input 0", (3,))
    assert error.analytic / error.numeric == pytest.approx(1.5, rel=1e-6)
    assert "Input 0 has shape (5,), the outputs have (5,)." in str(error)


def test_one_number_is_not_enough_for_a_constant_that_nobody_would_write():
    assert failure(numpy_op(np.sin, lambda d, x: 0.7713 * d * np.cos(x)), np.array(0.4)).mistake is None
    assert failure(numpy_op(np.sin, lambda d, x: 2 * d * np.cos(x)), np.array(0.4)).mistake == "factor"


def test_both_outputs_used_is_no_mistake():
    assert fnb.gradcheck(lambda x: (ops.exp(x), ops.exp(x)), v)


def test_of_two_outputs_one_is_forgotten():
    error = failure(lambda x: (ops.exp(x), ops.exp(x).detach()), v)
    assert error.mistake == "output-left-out"
    assert "the outputs have (5,), (5,)" in str(error)


def test_large_inputs_are_checked_without_a_diagnosis():
    error = failure(numpy_op(lambda x: x * x, lambda d, x: d * x), draw(300))
    assert error.mistake is None
    assert "check inputs of 200 entries at most" in str(error)


def test_the_page_lists_every_name():
    page = (Path(__file__).parents[2] / "docs" / "gradcheck.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`([a-z-]+)`", page.split("| name |")[1].split("\n\n")[0])) == NAMES | {
        case.mistake for case in MISFITS
    }
