"""Two recipes of training through routines: the losses of the first steps and what is reached, against PyTorch's."""

import hashlib
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pytest
from support import recipes
from support.recipes import FIRST, LENET, LSTM
from support.torch_names import theirs

import forgenb as fnb
from forgenb import nn, ops


class LeNet(nn.Module):
    def __init__(self):
        for name, layer in recipes.lenet_layers(nn).items():
            setattr(self, name, layer)

    def forward(self, x):
        for conv in (self.conv1, self.conv2):
            x = ops.max_pool2d(ops.relu(conv(x)), 2)
        x = x.reshape(len(x), -1)
        for full in (self.full1, self.full2):
            x = ops.relu(full(x))
        return self.out(x)


class Characters(nn.Module):
    def __init__(self):
        width = recipes.WIDTH
        self.table = nn.Embedding(len(recipes.ALPHABET), width)
        self.lstm = nn.LSTM(width, width, recipes.LAYERS)
        self.out = nn.Linear(width, len(recipes.ALPHABET))

    def forward(self, ids):
        return self.out(self.lstm(self.table(ids))[0])


class Golden:
    """PyTorch's figures of one recipe, and the seed whose result lies in the middle of all."""

    def __init__(self, name):
        with np.load(Path(__file__).with_name("recipes.npz")) as file:
            found = {key.removeprefix(f"{name}/"): file[key] for key in file if key.startswith(f"{name}/")}
        self.reached = found["reached"]
        self.place = int(np.argsort(self.reached)[len(self.reached) // 2])
        self.seed, self.first = int(found["seeds"][self.place]), found["first"][self.place]
        self.found = found

    def check(self, losses, reached, margin=0.0):
        """Float32 is summed in another order there: the first losses differ by 1e-7 and later ones by more."""
        np.testing.assert_allclose(losses[:FIRST], self.first, rtol=1e-5)
        assert self.reached.min() - margin <= reached <= self.reached.max() + margin


def trained(model, recipe, seed, batches):
    """Train from the recipe's initial values, each step one call of a routine; the loss of every step."""
    arrays = recipe.initial(seed)
    model.load_state_dict({name: theirs(arrays, name) for name, _ in model.named_parameters()})
    optimizer, losses = fnb.optim.Adam(model.named_parameters(), recipe.peak), []

    @fnb.compile
    def step(x, y):
        optimizer.zero_grad()
        loss = ops.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    for number, (x, y) in enumerate(batches):
        optimizer.lr = recipe.rate(number)
        losses.append(step(x, y).item())
    return losses


def test_a_lenet_on_digits():
    pytest.importorskip("sklearn", reason="the digits come with scikit-learn")
    golden, model = Golden("lenet"), LeNet()
    losses = trained(model, LENET, golden.seed, recipes.image_batches(golden.seed))
    x, y = recipes.images()[1]
    told = fnb.compile(lambda images: ops.argmax(model(images), 1))(x).numpy() == y
    golden.check(losses, told.mean())


OTHER_TEXT = 0.15
"""The default text differs between versions of Python: leaving out every eighth topic moved the loss by up to 0.12."""


def test_an_lstm_on_the_default_text():
    golden, model = Golden("lstm"), Characters()
    same = hashlib.sha256(fnb.data.default_text().encode()).hexdigest() == golden.found["text"]
    stored = [(ids[:, :-1], ids[:, 1:]) for ids in golden.found["ids"][golden.place].astype("int64")]
    batches = chain(stored, islice(recipes.text_batches(golden.seed), FIRST, None))
    losses = trained(model, LSTM, golden.seed, batches)
    evaluate = fnb.compile(lambda x, y: ops.cross_entropy(model(x), y))
    reached = np.mean([evaluate(x, y).item() for x, y in zip(*recipes.held_out_text(), strict=True)])
    golden.check(losses, reached, 0.0 if same else OTHER_TEXT)
