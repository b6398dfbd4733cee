"""Learning rates of programs: numbers, functions, symbols, and tensors that the device reads in each run."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import train
from forgenb.errors import ArgumentError, BackendError, DTypeError, MemoryModeError, ShapeError
from forgenb.optim.sgd import momentum_kernel, nesterov_kernel, sgd_kernel
from forgenb.train.steps.rate import reading_rate


class Setting:
    """The loss ``3 w`` of w = 2 in float64, a symbol, and the routine of a step with some rate."""

    def __init__(self, dtype="float64"):
        self.w = fnb.Parameter(fnb.tensor(np.full((), 2.0, dtype), name="w"))
        self.step = fnb.symbol("step")

    def routine(self, make_rate, **settings):
        """`make_rate` is called while the loss is captured, with the symbol."""
        with fnb.capture():
            loss = self.w * 3.0
            rate = make_rate(self.step)
        parts = [train.grad_update(loss), train.sgd_update(loss, rate, **settings)]
        return train.to_routine(train.sequence(parts), [self.step])

    def moved(self, routine, step):
        """By how much one run moves w, in units of its gradient."""
        before = self.w.item()
        routine.run(step=step)
        return (before - self.w.item()) / 3.0


RATES = {
    "late number": lambda step: 0.25 * (step + 1),
    "function": lambda step: (0.25 * n for n in range(1, 4)).__next__,
    "computed from a symbol": lambda step: fnb.tensor(np.array(0.25)) * (step + 1),
    "computed from a symbol alone": lambda step: fnb.ops.maximum(fnb.tensor(np.zeros(())), (step + 1) * 0.25),
    "place in a table": lambda step: fnb.tensor(np.array([0.25, 0.5, 0.75]))[step],
    "table in float32": lambda step: fnb.tensor(np.array([[0.25], [0.5], [0.75]], "float32"))[step],
}


@pytest.mark.usefixtures("each_backend")
@pytest.mark.parametrize("make_rate", RATES.values(), ids=RATES)
def test_the_rate_of_each_run(make_rate):
    setting = Setting()
    routine = setting.routine(make_rate)
    assert [setting.moved(routine, step) for step in range(3)] == [0.25, 0.5, 0.75]


@pytest.mark.usefixtures("each_backend")
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_rate_that_is_assigned_between_runs(shape):
    setting, rate = Setting(), fnb.tensor(np.full(shape, 0.25))
    routine = setting.routine(lambda step: rate)
    assert setting.moved(routine, 0) == 0.25
    rate[...] = 0.5
    assert setting.moved(routine, 0) == 0.5
    rate.assign_(1.0)
    assert setting.moved(routine, 0) == 1.0


@pytest.mark.parametrize(
    "settings", [{}, {"momentum": 0.9, "weight_decay": 0.1}, {"momentum": 0.9, "nesterov": True}], ids=str
)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_tensor_steps_to_the_bits_of_a_number(dtype, settings):
    """Whatever the dtype of the parameter: a step computes in that, and not in the dtype of the rate."""
    found = []
    for make_rate in (lambda step: 0.1, lambda step: fnb.tensor(np.array(0.1))):
        setting = Setting(dtype)
        routine = setting.routine(make_rate, **settings)
        for _ in range(3):
            routine.run()
        found.append(setting.w.item())
    assert found[0] == found[1] != 2.0


def test_one_rate_serves_all_parameters_though_it_depends_on_one():
    """The rate is computed before any parameter moves."""
    a, b = (fnb.Parameter(fnb.tensor(np.array(value))) for value in (2.0, 5.0))
    with fnb.capture():
        loss, rate = a + b, a * 0.25
    routine = train.to_routine(train.sequence([train.grad_update(loss), train.sgd_update(loss, rate)]))
    routine.run()
    assert (a.item(), b.item()) == (1.5, 4.5)


def test_a_rate_that_another_routine_computes():
    setting, doubled = Setting(), fnb.tensor(np.array(0.125))
    with fnb.capture():
        rate = doubled * 2.0
    schedule = train.to_routine(train.forward(rate), name="schedule")
    routine = setting.routine(lambda step: rate)
    with pytest.raises(MemoryModeError, match="'schedule'.*not run"):
        routine.run()
    schedule.run()
    assert setting.moved(routine, 0) == 0.25


def test_a_captured_rate_is_part_of_one_step():
    w = fnb.Parameter(fnb.tensor(np.array(2.0), name="w"))
    with fnb.capture():
        loss = w * 3.0
    train.grad_update(loss)
    with fnb.capture():
        rate = fnb.tensor(np.array(0.25)) + 0.25
    program = train.sgd_one(w, rate)
    assert (program.name, [s.name for s in program]) == ("w sgd", ["add_kernel", "sgd_kernel"])


@pytest.mark.parametrize("kernel", [sgd_kernel, momentum_kernel, nesterov_kernel], ids=lambda k: k.name)
def test_the_kernel_that_reads_the_rate_has_the_same_body(kernel):
    reading = reading_rate(kernel)
    assert reading.body is kernel.body
    assert reading is reading_rate(kernel)
    assert [s.name for s in kernel.scalars] == ["lr", *(s.name for s in reading.scalars)]
    names = [o.name for o in reading.operands if o.reads] + [s.name for s in reading.scalars]
    assert names == [o.name for o in kernel.operands if o.reads] + [s.name for s in kernel.scalars]


@pytest.mark.parametrize(
    ("rate", "error", "message"),
    [
        (np.array([0.1, 0.2]), ShapeError, r"learning_rate got a tensor of shape \(2,\).*one element"),
        (np.zeros(0), ShapeError, r"learning_rate got a tensor of shape \(0,\)"),
        (np.array(1), DTypeError, "learning_rate got dtype int64: convert to a float dtype"),
        (np.array(True), DTypeError, "learning_rate got dtype bool"),
    ],
)
def test_tensors_that_are_no_rate(rate, error, message):
    with pytest.raises(error, match=message):
        Setting().routine(lambda step: fnb.tensor(rate))


def test_a_rate_of_another_backend():
    with pytest.raises(BackendError, match=r"learning_rate got tensors of backends 'cpu' and 'python'.*\.to\('cpu'\)"):
        Setting().routine(lambda step: fnb.tensor(0.1, backend="python"))


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (-0.1, "learning_rate must be at least 0, got -0.1"),
        (float("nan"), "learning_rate must be at least 0, got nan"),
        ("0.1", "learning_rate='0.1': it must be a number that float64 holds"),
        (None, "learning_rate=None: it must be a number"),
    ],
)
def test_numbers_that_are_no_rate(rate, message):
    with pytest.raises(ArgumentError, match=message):
        Setting().routine(lambda step: rate)


def test_a_function_is_called_once_a_run_for_all_parameters():
    params = [fnb.Parameter(fnb.tensor(np.zeros(()), name=name)) for name in "ab"]
    with fnb.capture():
        loss = params[0] + params[1]
    update = train.grad_update(loss)
    rates = iter([1.0, 0.5])
    routine = train.to_routine(train.sequence([update, train.sgd_update(update, rates.__next__)]))
    routine.run()
    routine.run()
    assert [p.item() for p in params] == [-1.5, -1.5]
