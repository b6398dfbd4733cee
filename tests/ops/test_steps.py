"""Rules by steps: what is recorded, when the steps run, and what they get."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import TapeError
from forgenb.ops.steps import pull_back, record_steps


def f64(data, **keywords):
    return fnb.tensor(data, dtype="float64", **keywords)


def doubled_and_squared(x, calls):
    """Two results whose numbers are known; `calls` counts how often the steps run."""
    values = x.numpy()

    def steps(x):
        calls.append(x.dtype.name)
        return x * 2.0, x * x

    return record_steps((fnb.tensor(values * 2), fnb.tensor(values**2)), (x,), steps)


def test_the_steps_run_when_a_sweep_reaches_them_and_only_then():
    calls, x = [], f64([1.0, 3.0], requires_grad=True)
    double, square = doubled_and_squared(x, calls)
    assert (double.node.name, double.node is square.node, calls) == ("doubled_and_squared", True, [])
    (double + square).sum().backward()
    assert (x.grad.tolist(), calls) == ([4.0, 8.0], ["float64"])


def test_a_result_that_is_not_used_adds_nothing():
    x = f64([1.0, 3.0], requires_grad=True)
    doubled_and_squared(x, [])[1].sum().backward()
    assert x.grad.tolist() == [2.0, 6.0]


def test_derivatives_of_steps_have_every_order():
    third = fnb.grad(fnb.grad(fnb.grad(lambda x: doubled_and_squared(x, [])[1] * x)))
    assert third(f64(5.0)).item() == 6.0


def test_without_recording_the_results_are_handed_through():
    x, out = f64([1.0], requires_grad=True), f64([2.0])
    with fnb.no_grad():
        assert record_steps(out, (x,), lambda x: x * 2.0) is out
    recorded = record_steps(out, (x,), lambda x: x * 2.0)
    assert (out.requires_grad, recorded.requires_grad, recorded.memory is out.memory) == (False, True, True)


def test_steps_of_float16_compute_in_float32_and_give_it_back():
    calls, x = [], fnb.tensor(np.array([1.0, 3.0], "float16"), requires_grad=True)
    doubled_and_squared(x, calls)[1].sum().backward()
    assert (calls, x.grad.dtype.name, x.grad.tolist()) == (["float32"], "float16", [2.0, 6.0])


def test_pull_back_gives_none_for_ids_and_for_what_is_not_used():
    x, ids = f64([[1.0, 2.0], [3.0, 4.0]]), fnb.tensor([1, 1])
    found = pull_back(lambda x, ids, y: ops.take(x, ids), (x, ids, f64(1.0)), (f64([[1.0, 10.0], [100.0, 1000.0]]),))
    assert [None if g is None else g.tolist() for g in found] == [[[0.0, 0.0], [101.0, 1010.0]], None, None]
    assert not x.requires_grad


def test_an_operand_changed_between_the_sweeps_is_noticed():
    x, scale = f64([1.0], requires_grad=True), f64([2.0])
    out = record_steps(f64([2.0]), (x, scale), lambda x, scale: x * scale)
    scale.assign_(3.0)
    with pytest.raises(TapeError, match=r"saved a tensor of shape \(1,\) for backward, and it was changed in place"):
        out.backward()
