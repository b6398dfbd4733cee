"""retain, materialize and inline: decisions that fit are kept, those that conflict name both places."""

import re

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import MemoryModeError

X = np.ones((2, 3), "float32")


def run(step):
    return fnb.compile(step, "step")(X)


@pytest.mark.parametrize(("first", "second"), [("inline", "retain"), ("materialize", "inline"), ("retain", "inline")])
def test_conflicts_name_both_decisions(first, second):
    def step(x):
        y = ops.exp(x)
        getattr(y, first)()
        getattr(y, second)()
        return y * 2.0

    line = step.__code__.co_firstlineno
    wanted = f"{second}() at test_intents.py:{line + 3} conflicts with {first}() at test_intents.py:{line + 2}"
    with pytest.raises(MemoryModeError, match=re.escape(wanted)):
        run(step)


def test_retain_refines_materialize_and_all_are_idempotent():
    kept = []

    def step(x):
        y = ops.exp(x)
        kept.append(y.materialize().retain().retain().materialize())
        return (y * 2.0).inline().inline() + 1.0

    np.testing.assert_allclose(run(step).numpy(), 2 * np.exp(X) + 1, rtol=1e-6)
    np.testing.assert_allclose(kept[0].numpy(), np.exp(X), rtol=1e-6)


def test_a_result_cannot_be_inlined():
    with pytest.raises(MemoryModeError, match="inline.. at test_intents.py:.* conflicts with the return from step"):
        run(lambda x: ops.exp(x).inline())


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (lambda x: ops.exp(ops.softmax(x).inline()), "it is made by .*, which is not pointwise"),
        (lambda x: ops.softmax(ops.exp(x).inline()), "it is used by .*, which is not pointwise"),
        (lambda x: ops.exp(x.sum(axis=0).inline()), "not pointwise"),
        (lambda x: twice(ops.exp(x).inline()), "written by 1 statements and read by 2"),
        (lambda x: x * ops.exp(x[0]).inline(), "uses its elements more than once"),
    ],
)
def test_what_cannot_be_inlined_says_why(step, reason):
    with pytest.raises(MemoryModeError, match=f"inline.. at test_intents.py:.* cannot be done: .*{reason}"):
        run(step)


def twice(y):
    return ops.softmax(y) + ops.tanh(y)


def test_outside_of_a_recording():
    x = fnb.tensor(X)
    assert x.retain() is x
    assert x.materialize() is x
    with pytest.raises(MemoryModeError, match="has its storage already"):
        x.inline()


def test_after_planning_it_is_too_late():
    seen = []

    def step(x):
        seen.append(ops.exp(x))
        return seen[0].sum()

    run(step)
    for late in ("retain", "inline"):
        with pytest.raises(MemoryModeError, match="comes too late: this value is scratch"):
            getattr(seen[0], late)()
