"""A tiny run, a model that is not a GPT, and a small classifier with a trainer."""

import numpy as np
import pytest
from support.training import bits, without_clock

from forgenb import nn, random
from forgenb.data import Batches
from forgenb.nn import Module
from forgenb.ops import cross_entropy
from forgenb.optim import AdamW
from forgenb.train import TrainConfig, Trainer, TrainStep
from forgenb.train.characters import checkpoint


class Fake(Module):
    """A model and optimiser in one, whose loss follows a list; its state is the number of steps."""

    def __init__(self, losses=(), norm=1.0):
        self.losses, self.norm = list(losses), norm
        self.weight = np.zeros(3, np.float32)
        self.training = True
        self.lr = 0.0
        self.dropout_seed = 0
        self.rates, self.seeds, self.asked = [], [], []

    def train(self):
        self.training = True

    def eval(self):
        self.training = False

    def loss(self, ids, targets):
        self.asked.append((self.training, len(ids), ids, targets))
        value = self.losses[int(self.weight[0]) % len(self.losses)] if self.losses else 1.0
        return Loss(value if self.training else value + 1)

    def step(self, clip_norm):
        self.rates.append(self.lr)
        self.seeds.append(self.dropout_seed)
        self.weight += 1
        return self.norm

    def zero_grad(self):
        pass

    def state_dict(self):
        return {"weight": self.weight.copy()}

    def load_state_dict(self, state):
        self.weight[...] = state["weight"]


class Loss:
    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value

    def backward(self):
        pass


@pytest.fixture
def fake(monkeypatch):
    """`Fake`, whose checkpoints are taken for what they are."""
    monkeypatch.setattr(checkpoint, "needed_layouts", lambda config, vocabulary, stored: stored)
    return Fake


@pytest.fixture
def tiny(text):
    """The choices of a run that takes milliseconds."""
    return TrainConfig(data=str(text), steps=4, layers=1, heads=2, width=16, context=8, batch=2, warmup=2, eval_every=2)


class Small:
    """A model with dropout, its data, and what a trainer of it needs."""

    def __init__(self):
        with random.seeded(3):
            layers = (nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.25), nn.Linear(8, 3))
            self.model = nn.Sequential(*layers)
        self.optimizer = AdamW(self.model.named_parameters(), lr=0.02)
        draw = np.random.default_rng(5)
        x, y = draw.normal(size=(26, 4)).astype("float32"), draw.integers(0, 3, 26)
        self.held_out = x[20:], y[20:]
        self.batches = Batches((x[:20], y[:20]), 6, seed=7)

    def loss(self, x, y):
        return cross_entropy(self.model(x), y)

    def step(self, **keywords):
        return TrainStep(self.model, self.optimizer, loss=self.loss, **keywords)

    def trainer(self, steps=7, step=None, **keywords):
        chosen = step or self.step(clip_norm=1.0, eager=True)
        wanted = {"validate": lambda: self.loss(*self.held_out), "eval_every": 2, "seed": 9, "steps": steps}
        return Trainer(chosen, self.batches, **{**wanted, **keywords})

    def state(self):
        return bits(self.model.state_dict() | self.optimizer.state_dict())


@pytest.fixture
def small():
    return Small


@pytest.fixture
def curve():
    """What of reports does not depend on the clock."""
    return without_clock
