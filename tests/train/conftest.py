"""A text, a tiny run, and a model that is not a GPT."""

import numpy as np
import pytest

from forgenb.train import TrainConfig, checkpoint


class Fake:
    """A model and optimiser in one, whose loss follows a list; its state is the number of steps."""

    def __init__(self, losses=(), norm=1.0):
        self.losses, self.norm = list(losses), norm
        self.weight = np.zeros(3, np.float32)
        self.training = True
        self.lr = 0.0
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
