"""Gradient descent in programs: iterates on a quadratic in closed form, and the effect of every keyword."""

import numpy as np
import pytest
from support.descent import RATE, SETTINGS

import forgenb as fnb
from forgenb import train
from forgenb.errors import ArgumentError

CURVES, CENTRES, STARTS = np.array([0.5, 1.0, 3.0]), np.array([1.0, -2.0, 0.5]), np.array([4.0, 2.0, -1.0])


def closed_form(steps, rate, momentum=0.0, weight_decay=0.0, nesterov=False):
    r"""The iterate number `steps` on :math:`\sum a (w - c)^2 / 2`.

    With :math:`h = a + \lambda` and the distance e from the minimum :math:`a c / h`, the step is linear in e and the
    buffer, so that :math:`e_{k+1} = T e_k - D e_{k-1}` with its trace T and determinant D, and e is a sum of powers of
    the roots of :math:`r^2 - T r + D`.
    """
    h = CURVES + weight_decay
    minimum = CURVES * CENTRES / h
    e0 = STARTS - minimum
    if nesterov:
        e1 = (1 - rate * h * (1 + momentum)) * e0
        trace, determinant = 1 - rate * h * (1 + momentum) + momentum, momentum * (1 - rate * h)
    else:
        e1 = (1 - rate * h) * e0
        trace, determinant = 1 - rate * h + momentum, np.full(3, momentum)
    root = np.sqrt(trace**2 - 4 * determinant + 0j)
    one, other = (trace + root) / 2, (trace - root) / 2
    share = (e1 - other * e0) / root
    return minimum + (share * one**steps + (e0 - share) * other**steps).real


def quadratic(w):
    return (0.5 * CURVES * (w - CENTRES) ** 2).sum()


def stepped(make_descent, steps):
    """Run ``make_descent(loss)`` after the gradients; the parameter at the end."""
    w = fnb.Parameter(fnb.tensor(STARTS, name="w"))
    with fnb.capture():
        loss = quadratic(w)
    update = train.grad_update(loss)
    routine = train.to_routine(train.sequence([update, make_descent(update, w)]))
    for _ in range(steps):
        routine.run()
    return w.numpy()


@pytest.mark.parametrize("steps", [1, 2, 25])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_iterates_on_a_quadratic(settings, steps):
    wanted = closed_form(steps, RATE, **settings)
    for descent in (
        lambda loss, w: train.sgd_update(loss, RATE, **settings),
        lambda loss, w: train.sgd_one(w, RATE, **settings),
        lambda loss, w: train.sgd_update(loss, fnb.tensor(np.array(RATE)), **settings),
    ):
        np.testing.assert_allclose(stepped(descent, steps), wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("steps", [1, 25])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_the_optimiser_on_a_quadratic(settings, steps):
    w = fnb.Parameter(fnb.tensor(STARTS), decay=True)
    optimizer = fnb.optim.SGD([w], RATE, **settings)
    for _ in range(steps):
        optimizer.zero_grad()
        quadratic(w).backward()
        optimizer.step()
    np.testing.assert_allclose(w.numpy(), closed_form(steps, RATE, **settings), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("clip", "moved"), [(None, 0.75), (0.5, 0.05), (100.0, 0.75)])
def test_clipping_shortens_a_step(clip, moved):
    w = fnb.Parameter(fnb.tensor(np.array([4.5, 6.0])))
    w.grad = fnb.tensor(np.array([4.5, 6.0]))
    fnb.optim.SGD([w], 0.1).step(clip_norm=clip)
    assert np.linalg.norm(w.numpy() - [4.5, 6.0]) == pytest.approx(moved)


def test_half_precision_parameters_step_in_float32():
    """One rounding, that of the result: the rate, the buffer and the arithmetic between them have float32."""
    start = np.array([1.0, 2.0, -3.0], "float16")
    w = fnb.Parameter(fnb.tensor(start))
    with fnb.capture():
        loss = (w * 3.0).sum()
    update = train.grad_update(loss)
    routine = train.to_routine(train.sequence([update, train.sgd_update(update, fnb.tensor(0.01), 0.9)]))
    routine.run()
    np.testing.assert_array_equal(w.numpy(), (start - np.float32(0.01) * np.float32(3)).astype("float16"))


def test_what_descent_refuses():
    w = fnb.Parameter(fnb.tensor(np.ones(3), name="w"))
    with fnb.capture():
        loss = quadratic(w)
        constant = quadratic(fnb.tensor(np.ones(3)))
    update = train.grad_update(loss)
    for call, message in (
        (lambda: train.sgd_update(update, 0.1, nesterov=True), "nesterov=True needs a momentum above 0"),
        (lambda: train.sgd_update(update, 0.1, momentum=1.0), "momentum must be at least 0 and below 1, got 1.0"),
        (lambda: train.sgd_update(update, 0.1, momentum="a lot"), "momentum='a lot': it must be a number"),
        (lambda: train.sgd_update(update, 0.1, weight_decay=-1.0), "weight_decay must be at least 0, got -1.0"),
        (lambda: train.sgd_update(update, 0.1, weight_decay=[0.1]), "weight_decay=.*it must be a number"),
        (lambda: train.sgd_update(constant, 0.1), "the loss depends on no parameters"),
        (lambda: train.sgd_one(fnb.tensor(1.0, name="x"), 0.1), "sgd_one: x is not a parameter"),
        (lambda: train.sgd_one([1.0], 0.1), "sgd_one: this tensor is not a parameter"),
    ):
        with pytest.raises(ArgumentError, match=message):
            call()
