"""Gradient descent against PyTorch's for given gradients: the program `sgd_update` and the optimiser `SGD`.

In float64 every iterate agrees to 1e-14 of the largest number; in float32, where PyTorch multiplies and adds in another
order, to 1e-6 of it, which is eight units in the last place.
"""

from pathlib import Path

import numpy as np
import pytest
from support.descent import RATE, SETTINGS

import forgenb as fnb
from forgenb import train

NEAR = {"float32": 1e-6, "float64": 1e-14}


@pytest.fixture(scope="module")
def golden():
    with np.load(Path(__file__).with_name("sgd.npz")) as file:
        return {key: file[key] for key in file}


def by_program(start, grads, settings, rate):
    """The gradient of the loss ``(p * grads[step]).sum()`` is that of the step."""
    p, given, step = fnb.Parameter(fnb.tensor(start)), fnb.tensor(grads), fnb.symbol("step", range=len(grads))
    with fnb.capture():
        loss = (p * given[step]).sum()
    parts = [train.grad_update(loss), train.sgd_update(loss, rate(start.dtype), **settings)]
    routine = train.to_routine(train.sequence(parts), [step])
    found = []
    for number in range(len(grads)):
        routine.run(step=number)
        found.append(p.numpy().copy())
    return found


def by_optimiser(start, grads, settings):
    p = fnb.Parameter(fnb.tensor(start), decay=True)
    optimizer = fnb.optim.SGD([p], RATE, **settings)
    found = []
    for grad in grads:
        p.grad = fnb.tensor(grad)
        optimizer.step()
        found.append(p.numpy().copy())
    return found


WAYS = {
    "program": lambda *given: by_program(*given, lambda dtype: RATE),
    "program with a rate on the device": lambda *given: by_program(*given, lambda d: fnb.tensor(RATE, dtype=d)),
    "optimiser": by_optimiser,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("name", SETTINGS)
def test_every_step_is_that_of_another_library(golden, name, dtype, way):
    wanted = golden[f"{name}/{dtype}"]
    found = WAYS[way](golden["start"].astype(dtype), golden["grads"].astype(dtype), SETTINGS[name])
    np.testing.assert_allclose(found, wanted, rtol=0, atol=NEAR[dtype] * np.abs(wanted).max())


def test_the_settings_differ_and_the_buffer_starts_at_zero(golden):
    """What is stored can tell them apart; the first step with momentum is the one without."""
    last = [golden[f"{name}/float64"][-1] for name in SETTINGS]
    assert all(np.abs(a - b).min() > 1e-3 for i, a in enumerate(last) for b in last[:i])
    for without, having in (("plain", "momentum"), ("decay", "decay and momentum")):
        np.testing.assert_array_equal(golden[f"{without}/float64"][0], golden[f"{having}/float64"][0])
