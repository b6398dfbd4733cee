"""A batch in parts, one after the other: the gradients of the whole batch, with its masks or those of each pass."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import nn, optim
from forgenb.errors import ArgumentError
from forgenb.models import GPT, GPTConfig
from forgenb.train import AccumulatedStep, TrainStep

IDS = np.random.default_rng(0).integers(0, 11, (3, 2, 6, 8))


def moved(make, dropout=0.0, steps=3, dtype="float64"):
    """Losses, norms and parameters after steps along the gradient itself."""
    model = GPT(GPTConfig(11, 8, 2, 2, 8, dropout), seed=3, dtype=dtype)
    step, seen = make(model, optim.SGD(model.named_parameters(), lr=1.0)), []
    for model.dropout_seed in range(steps):
        loss, norm = step(*IDS[model.dropout_seed])
        seen += [float(getattr(number, "item", lambda n=number: n)()) for number in (loss, norm)]
    return np.array(seen), [p.numpy().copy() for p in model.parameters()]


def parts(count, **keywords):
    return lambda model, optimizer: AccumulatedStep(model, optimizer, None, count, **keywords)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("count", [2, 3])
def test_parts_have_the_loss_gradients_and_masks_of_the_whole_batch(count, dropout):
    wanted, params = moved(lambda *pair: TrainStep(*pair), dropout)
    found, mine = moved(parts(count), dropout)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    for a, b in zip(mine, params, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rule", ["step", "pass"])
def test_eager_has_the_same_bits(rule):
    recorded, eager = (moved(parts(3, seed_rule=rule, eager=e), 0.3, dtype="float32") for e in (False, True))
    assert recorded[0].tolist() == eager[0].tolist()
    assert [p.tobytes() for p in recorded[1]] == [p.tobytes() for p in eager[1]]


def test_one_part_is_the_whole_batch():
    (wanted, params), (found, mine) = moved(lambda *pair: TrainStep(*pair), 0.3), moved(parts(1), 0.3)
    assert found.tolist() == wanted.tolist()
    assert [p.tobytes() for p in mine] == [p.tobytes() for p in params]


def test_the_norm_is_clipped():
    model = GPT(GPTConfig(11, 8, 1, 2, 8), seed=3, dtype="float64")
    before = [p.numpy().copy() for p in model.parameters()]
    step = AccumulatedStep(model, optim.SGD(model.named_parameters(), 1.0), 0.25, 2)
    assert step(*IDS[0])[1].item() > 0.25
    moves = [p.numpy() - old for p, old in zip(model.parameters(), before, strict=True)]
    assert np.sqrt(sum((m**2).sum() for m in moves)) == pytest.approx(0.25, rel=1e-6)


class Drops(nn.Module):
    """A line after dropout by a module."""

    def __init__(self):
        self.drop, self.layer = nn.Dropout(0.5, site=1), nn.Linear(6, 1, name="a", dtype="float64")
        self.drop.seed = 5

    def loss(self, x):
        return (self.layer(self.drop(x)) ** 2.0).mean()


def test_modules_of_dropout_draw_what_they_draw_on_the_whole():
    def trained(make):
        model = Drops()
        step = make(model, optim.SGD(model.parameters(), 0.1))
        losses = []
        for _ in range(3):
            loss = step(X)[0]
            losses.append(float(loss.item() if hasattr(loss, "item") else loss))
        return losses, model.drop.calls

    wanted, calls = trained(lambda *pair: TrainStep(*pair))
    for eager in (False, True):
        found, mine = trained(parts(2, eager=eager))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        assert mine == calls == 3


X = np.random.default_rng(1).normal(size=(4, 6))


def test_under_the_rule_of_passes_each_part_has_a_seed_and_draws_from_the_first_sample_on():
    model = GPT(GPTConfig(11, 8, 2, 2, 8, 0.3), seed=3, dtype="float64")
    model.dropout_seed = 4000
    wanted = 0.0
    for number in range(3):
        part = IDS[0][:, 2 * number : 2 * number + 2]
        model.dropout_seed = 4000 + number
        wanted += model.loss(*part).item() / 3
    model.dropout_seed = 4000
    step = AccumulatedStep(model, optim.SGD(model.named_parameters(), 0.0), None, 3, seed_rule="pass")
    assert step(*IDS[0])[0] == pytest.approx(wanted, rel=1e-13)
    assert model.dropout_seed == 4000
    other = AccumulatedStep(model, optim.SGD(model.named_parameters(), 0.0), None, 3)
    assert other(*IDS[0])[0] != pytest.approx(wanted, rel=1e-6)


def test_more_parts_take_less_memory():
    model = GPT(GPTConfig(11, 8, 2, 2, 8))
    arrays = IDS[0].repeat(8, 1)
    peaks = []
    for count in (1, 1, 8):
        step = AccumulatedStep(model, optim.SGD(model.named_parameters(), 0.1), None, count, eager=True)
        with fnb.peak_memory() as peak:
            step(*arrays)
        peaks.append(peak.nbytes)
    assert peaks[2] < 0.5 * peaks[1]


def test_frozen_parameters_and_the_mode_are_followed():
    model = GPT(GPTConfig(11, 8, 1, 2, 8, 0.5))
    step = AccumulatedStep(model, optim.AdamW(model.named_parameters(), 0.1), None, 2)
    step(*IDS[0])
    model.wte.freeze()
    before = model.wte.weight.numpy().tobytes()
    first = step(*IDS[0])[0]
    assert model.wte.weight.numpy().tobytes() == before
    model.recompute_blocks = True
    model.eval()
    step(*IDS[0])
    assert model.wte.weight.numpy().tobytes() == before
    assert np.isfinite(first)


def test_whether_blocks_are_computed_again_is_true_or_false():
    model = GPT(GPTConfig(11, 8, 1, 2, 8))
    step = AccumulatedStep(model, optim.SGD(model.named_parameters(), 0.1), None, 2)
    for flag in (True, 1, np.True_):
        model.recompute_blocks = flag
        step(*IDS[0])
    assert len(step._made) == 1


def test_a_loss_that_is_no_mean_is_refused():
    class Number(Drops):
        def loss(self, x, y):
            return 3.0

    for eager in (False, True):
        model = Number()
        step = AccumulatedStep(model, optim.SGD(model.parameters(), 0.1), None, 2, eager=eager)
        with pytest.raises(ArgumentError, match=r"a tensor without dimensions, and Number.loss gave float"):
            step(np.ones((4, 3), "float32"), np.ones((4, 1), "float32"))


def test_arguments_are_checked():
    model = Drops()
    sgd = optim.SGD(model.parameters(), 0.1)
    for keywords, message in (
        ({"parts": 0}, "parts=0: it must be a whole number of at least 1"),
        ({"parts": 1.5}, "parts=1.5"),
        ({"parts": 1001, "seed_rule": "pass"}, "has at most 1000 parts"),
        ({"seed_rule": "own"}, "AccumulatedStep got seed_rule='own': it must be 'step' or 'pass'"),
        ({"seed_rule": None}, "seed_rule=None"),
        ({"eager": 1}, "eager to be True or False, got 1"),
        ({"clip_norm": 0.0}, "clips to a norm above 0"),
        ({"model": sgd}, "AccumulatedStep needs a module with a method loss, got SGD"),
        ({"model": Normed()}, "running statistics"),
    ):
        with pytest.raises(ArgumentError, match=message):
            AccumulatedStep(**{"model": model, "optimizer": sgd, "clip_norm": None, "parts": 2, **keywords})
    step = AccumulatedStep(model, sgd, None, 3)
    with pytest.raises(ArgumentError, match="a batch of 4 samples cannot be taken in 3 equal parts"):
        step(X)
    with pytest.raises(ArgumentError, match="a batch of 0 samples"):
        step(X[:0])


class Normed(Drops):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm(6)
