"""One step: loss, gradients, clipping and the update."""

import math

import numpy as np
import pytest

import forgenb as fnb
from forgenb import nn
from forgenb.errors import ArgumentError
from forgenb.train import TrainStep

X, Y = np.float32([[1.0, 2.0], [3.0, 4.0]]), np.float32([[1.0], [0.0]])


def numbers(results):
    loss, norm = results
    return loss.item(), getattr(norm, "item", lambda: norm)()


def made(lr=0.1, **keywords):
    with fnb.random.seeded(2):
        model = fnb.nn.Linear(2, 1)
    sgd = fnb.optim.SGD(model.parameters(), lr=lr)
    return model, TrainStep(model, sgd, loss=lambda x, y: ((model(x) - y) ** 2.0).mean(), **keywords)


def by_hand(weight, bias, clip=math.inf, lr=0.1):
    error = X @ weight + bias - Y
    dweight, dbias = X.T @ error, error.sum(0)
    norm = math.sqrt((dweight**2).sum() + (dbias**2).sum())
    factor = lr * min(1.0, clip / norm)
    return (error**2).mean(), norm, weight - factor * dweight, bias - factor * dbias


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("clip", [None, 0.5])
def test_loss_norm_and_update(eager, clip):
    model, step = made(clip_norm=clip, eager=eager)
    for _ in range(3):
        wanted = by_hand(model.weight.numpy().copy(), model.bias.numpy().copy(), clip or math.inf)
        loss, norm = numbers(step(X, Y))
        assert (loss, norm) == pytest.approx(wanted[:2], rel=1e-5)
        np.testing.assert_allclose(model.weight.numpy(), wanted[2], rtol=1e-5)
        np.testing.assert_allclose(model.bias.numpy(), wanted[3], rtol=1e-5, atol=1e-7)


def test_eager_runs_op_by_op_with_the_same_bits():
    (one, compiled), (other, eager) = made(clip_norm=1.0), made(clip_norm=1.0, eager=True)
    first = [numbers(compiled(X, Y)) for _ in range(3)]
    assert [numbers(eager(X, Y)) for _ in range(3)] == first
    assert one.weight.numpy().tobytes() == other.weight.numpy().tobytes()
    before = fnb.stats()
    compiled(X, Y)
    between = fnb.stats()
    eager(X, Y)
    assert fnb.stats().since(between).launches > between.since(before).launches


def test_eager_may_be_switched():
    _, step = made()
    step(X, Y)
    step.eager = True
    assert isinstance(step(X, Y)[1], float)


def test_without_clipping_the_update_is_that_of_the_optimiser():
    (one, step), (other, _) = made(eager=True), made()
    step(X, Y)
    ((other(X) - Y) ** 2.0).mean().backward()
    fnb.optim.SGD(other.parameters(), lr=0.1).step()
    assert one.weight.numpy().tobytes() == other.weight.numpy().tobytes()


def test_a_norm_that_is_not_finite_updates_nothing():
    model, step = made(eager=True)
    before = model.weight.numpy().tobytes()
    assert not math.isfinite(step(X * np.float32(1e30), Y)[1])
    assert model.weight.numpy().tobytes() == before


def test_the_loss_is_that_of_the_model_by_default(fake):
    model = fake([2.0])
    loss, norm = TrainStep(model, model, eager=True)(np.zeros(2), np.zeros(2))
    assert (loss.item(), norm, model.weight[0]) == (2.0, 1.0, 1)
    assert [given for *given, _, _ in model.asked] == [[True, 2]]


def test_arguments_are_checked():
    model = fnb.nn.Linear(2, 1)
    sgd = fnb.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(ArgumentError, match="needs a loss to call, and Linear has no method loss: give loss="):
        TrainStep(model, sgd)
    with pytest.raises(ArgumentError, match="the model that is trained must be a fnb.nn.Module, got SGD"):
        TrainStep(sgd, model, loss=model)
    with pytest.raises(ArgumentError, match="must be one of fnb.optim or like them, got Linear without lr"):
        TrainStep(model, model, loss=model)
    for clip in (0, -1.0, math.nan, True, "1"):
        with pytest.raises(ArgumentError, match="clips to a norm above 0, got clip_norm="):
            TrainStep(model, sgd, loss=model, clip_norm=clip)


@pytest.mark.parametrize("eager", [False, True])
def test_an_optimiser_of_another_model_is_refused(eager):
    model, other = nn.Linear(3, 1), nn.Linear(3, 1)
    step = TrainStep(model, fnb.optim.SGD(other.parameters(), 0.1), loss=lambda x: model(x).sum(), eager=eager)
    with pytest.raises(ArgumentError, match="depends on none of its optimiser's parameters"):
        step(np.ones((2, 3), "float32"))
