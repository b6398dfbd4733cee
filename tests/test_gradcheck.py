"""gradcheck accepts right gradients, names wrong entries, and says where there is no gradient to check."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, DTypeError, TapeError
from forgenb.ops.apply import run_map
from forgenb.ops.arithmetic import scale
from forgenb.ops.pointwise import square_kernel
from forgenb.tape import record

x = np.array([0.3, -1.2, 0.7])


def faulty_square(factor):
    """x**2 with a gradient that is wrong by `factor`."""

    def square(t):
        def backward(dout):
            return (scale(dout * t, 2 * factor),)

        return record(run_map(square_kernel, (t,)), (t,), backward)

    return square


def test_right_gradients_pass():
    assert fnb.gradcheck(lambda a, b: ops.tanh(a * b).sum(), x, fnb.tensor(np.array(0.5)))
    assert fnb.gradcheck(lambda a: (ops.exp(a), a * a), x)
    assert fnb.gradcheck(lambda a, ids: a[ids], x, np.array([0, 0, 2]))
    assert fnb.gradcheck(faulty_square(1.0), x)


@pytest.mark.parametrize("factor", [0, -1, 1.01, 1 + 2e-6])
def test_a_wrong_gradient_is_named(factor):
    with pytest.raises(TapeError, match=r"entry \(\d,\) of input 0 backward gives .* and differences give"):
        fnb.gradcheck(faulty_square(factor), x)


def test_the_tolerance_counts():
    assert fnb.gradcheck(faulty_square(1.01), x, tolerance=0.02)


def test_one_wrong_entry_among_many_is_found():
    weight = np.ones(150)
    weight[71] = 1.001

    def f(t):
        def backward(dout):
            return (dout * fnb.tensor(weight),)

        return record(scale(t.detach(), 1.0), (t,), backward)

    with pytest.raises(TapeError, match=r"entry \(71,\) of input 0"):
        fnb.gradcheck(f, np.linspace(-1, 1, 150))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_short_dtypes_are_refused_with_advice(dtype):
    with pytest.raises(DTypeError, match=rf"input 1 of dtype {dtype}.*float64"):
        fnb.gradcheck(ops.mul, x, x.astype(dtype))


@pytest.mark.parametrize(
    ("f", "at"),
    [
        (ops.relu, 0.0),
        (ops.abs, 0.0),
        (lambda t: ops.maximum(t, 1.0), 1.0),
        (lambda t: ops.clip(t, -1.0, 1.0), -1.0),
        (ops.sqrt, 0.0),
        (ops.log, 0.0),
        (lambda t: ops.where(t >= 0.0, t + 1, t), 0.0),
    ],
)
def test_a_kink_is_neither_passed_nor_failed(f, at):
    with pytest.raises(
        ArgumentError, match=r"not differentiable here: at entry \(1,\) of input 0 the slope to the right"
    ):
        fnb.gradcheck(f, np.array([0.5, at, 0.25]))
    assert fnb.gradcheck(f, np.array([0.5, 0.35, 0.25]))


def test_an_untracked_result_is_an_error():
    with pytest.raises(TapeError, match="no output of the function is tracked"):
        fnb.gradcheck(lambda t: t.detach() * 2.0, x)


def test_nothing_to_check_is_an_error():
    with pytest.raises(ArgumentError, match="no float input"):
        fnb.gradcheck(lambda ids: ids, np.array([1, 2]))


def test_inputs_are_left_alone():
    t = fnb.tensor(x, requires_grad=True)
    before = np.random.get_state(legacy=False)["state"]["key"].copy()
    assert fnb.gradcheck(ops.square, t)
    assert t.grad is None
    assert t.tolist() == x.tolist()
    assert (np.random.get_state(legacy=False)["state"]["key"] == before).all()
