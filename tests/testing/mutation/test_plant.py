"""A fault runs wherever its function does, and leaves nothing behind."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.testing.mutation.plant import faults, planted
from forgenb.testing.mutation.rules import rule_of


def fault_of(op, after):
    return next(fault for fault in faults(rule_of(op)) if fault.after == after)


def gradient(f, backend="python"):
    with fnb.use(backend):
        x = fnb.tensor(np.array([0.5, -2.0]), requires_grad=True)
        f(x).sum().backward()
        return x.grad.tolist()


@pytest.mark.parametrize("f", [ops.neg, lambda x: -x, lambda x: x.__neg__()], ids=["op", "operator", "method"])
@pytest.mark.parametrize("backend", ["python", "cpu"])
def test_a_closure(f, backend):
    with planted(fault_of("neg", "return (-neg(dout),)")):
        assert gradient(f, backend) == [1, 1]
    assert gradient(f, backend) == [-1, -1]


def test_a_kernel_that_ran_before():
    right = gradient(ops.relu)
    with planted(fault_of("relu", "return select(out <= 0.0, 1.0, dout)")):
        assert gradient(ops.relu) == [1, 1]
    assert gradient(ops.relu) == right == [1, 0]


def test_an_error_leaves_nothing_behind():
    with pytest.raises(KeyError), planted(fault_of("neg", "return (None,)")):
        raise KeyError
    assert gradient(ops.neg) == [-1, -1]


def test_a_fault_says_what_it_is():
    fault = fault_of("neg", "return (-neg(dout),)")
    assert fault.key == "arithmetic.neg.backward: return (neg(dout),) => return (-neg(dout),)"
    assert fault.place.startswith("arithmetic.py:")
    with open(fault.part.path, encoding="utf-8") as file:
        assert file.readlines()[int(fault.place.partition(":")[2]) - 1].strip() == fault.before


def test_equal_edits_of_equal_statements_have_keys_of_their_own():
    keys = [fault.key for fault in faults(rule_of("layernorm"))]
    assert len(keys) == len(set(keys))
    assert any(key.endswith("[1]") for key in keys)
