"""What `forgenb.compile` returns is checked as routines: its values, and its gradient recorded too."""

import numpy as np
import pytest
from support.wrong_rules import draw

import forgenb as fnb
from forgenb import ops
from forgenb.errors import GradcheckError

x, y = draw(3), draw(3, seed=1)


def test_a_compiled_step_is_checked():
    step = fnb.compile(lambda a, b: (a * b) * a)
    assert fnb.gradcheck(step, x, y)
    assert fnb.gradcheck(step, x, y, order=2)


def test_the_values_come_from_runs_and_the_gradient_from_a_recorded_sweep():
    def f(a, b):
        return (a * b) * a

    def launches(checked):
        before = fnb.stats()
        assert fnb.gradcheck(checked, x, y)
        return fnb.stats().since(before).launches

    assert launches(fnb.compile(f)) == 0 < launches(f)


def test_a_wrong_rule_in_a_routine_is_named():
    wrong = fnb.custom_op(lambda a: a * a, lambda dout, a: dout * a)
    with pytest.raises(GradcheckError, match="a factor 2 is missing"):
        fnb.gradcheck(fnb.compile(lambda a, b: wrong(a) * b), x, y)


def test_a_compiled_module_is_checked_with_its_parameters():
    layer = fnb.nn.Linear(3, 2)
    before = layer.state_dict()
    assert fnb.gradcheck(fnb.compile(layer), draw(4, 3))
    assert all(np.array_equal(array, before[name]) for name, array in layer.state_dict().items())


def test_a_random_op_with_a_fixed_seed_is_a_function():
    assert fnb.gradcheck(lambda a: ops.dropout(a, 0.5, seed=3), draw(8))
