"""What the functions given to a trainer return."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError
from forgenb.train import Trainer


def run(results=(1.0, 1.0), arrays=(), optimizer=None, **keywords):
    return Trainer(lambda *_: results, lambda step: arrays, steps=1, optimizer=optimizer, **keywords).run()


@pytest.mark.parametrize("arrays", [None, np.zeros(3), 5, ([1, 2],), "ab"])
def test_batches_must_return_arrays(arrays):
    with pytest.raises(ArgumentError, match=r"batches\(0\) must return a tuple of arrays, with which the step is call"):
        run(arrays=arrays)


@pytest.mark.parametrize("results", [None, 1.0, (1.0,), fnb.tensor([1.0, 2.0]), (1, 2, 3)])
def test_a_step_must_return_loss_and_norm(results):
    with pytest.raises(ArgumentError, match="a step must return two numbers, the loss and the norm of all gradients"):
        run(results)


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ((np.zeros(2), 1.0), r"the loss of a step must be one number, got ndarray \(2,\)"),
        ((1.0, None), "the norm of a step must be one number, got NoneType"),
        ((True, 1.0), "the loss of a step must be one number, got bool"),
        (("1", 1.0), "the loss of a step must be one number, got str"),
    ],
)
def test_each_must_be_one_number(results, message):
    with pytest.raises(ArgumentError, match=message):
        run(results)


def test_validate_must_return_one_number():
    with pytest.raises(ArgumentError, match=r"what validate returns must be one number, got Tensor \(2,\)"):
        run(validate=lambda: fnb.tensor([1.0, 2.0]))


@pytest.mark.parametrize("rate", [None, -1.0, float("nan"), float("inf"), True, "1"])
def test_a_schedule_must_return_a_rate(rate):
    sgd = fnb.optim.SGD([fnb.Parameter(fnb.tensor(1.0))], lr=0.1)
    with pytest.raises(ArgumentError, match=r"schedule\(0\) must return a finite rate of at least 0, got"):
        run(optimizer=sgd, schedule=lambda step: rate)
    assert sgd.lr == 0.1
