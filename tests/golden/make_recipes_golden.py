"""Write recipes.npz: what PyTorch reaches with the recipes of tests/support/recipes.py, each from several seeds.

Run with PyTorch 2 and scikit-learn installed, and forgenb beside them:
``PYTHONPATH=.:tests python tests/golden/make_recipes_golden.py``. Initial values and the order of the batches come from
NumPy's Philox, so the file does not depend on PyTorch's random numbers.

For each RECIPE (``lenet``, ``lstm``), a row or a number for each of ``RECIPE/seeds``:

- ``RECIPE/first``, the losses of the first steps, each before its update;
- ``RECIPE/reached``: of the LeNet the share of held-out digits that it tells, of the LSTM the mean loss in nats of a
  character over the held-out text.

And since the default text differs between versions of Python: ``lstm/ids``, the windows of the first batches
``(seeds, steps, b, t + 1)``, and ``lstm/text``, the SHA-256 of the text.
"""

import hashlib
from itertools import islice
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from support import recipes
from support.recipes import FIRST, LENET, LSTM
from torch import nn

from forgenb import data

SEEDS = range(7)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        for name, layer in recipes.lenet_layers(nn).items():
            setattr(self, name, layer)

    def forward(self, x):
        for conv in (self.conv1, self.conv2):
            x = F.max_pool2d(F.relu(conv(x)), 2)
        x = x.flatten(1)
        for full in (self.full1, self.full2):
            x = F.relu(full(x))
        return self.out(x)


class Characters(nn.Module):
    def __init__(self):
        super().__init__()
        width = recipes.WIDTH
        self.table = nn.Embedding(len(recipes.ALPHABET), width)
        self.lstm = nn.LSTM(width, width, recipes.LAYERS, batch_first=True)
        self.out = nn.Linear(width, len(recipes.ALPHABET))

    def forward(self, ids):
        return self.out(self.lstm(self.table(ids))[0])


def loss_of(model, x, y):
    logits = model(torch.as_tensor(x))
    return F.cross_entropy(logits.flatten(0, -2), torch.as_tensor(y).flatten())


def trained(model, recipe, seed, batches):
    """Train from the recipe's initial values; the loss of every step."""
    model.load_state_dict({name: torch.as_tensor(value) for name, value in recipe.initial(seed).items()})
    optimizer = torch.optim.Adam(model.parameters(), recipe.peak)
    losses = []
    for step, (x, y) in enumerate(batches):
        optimizer.param_groups[0]["lr"] = recipe.rate(step)
        optimizer.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def told(model):
    x, y = recipes.images()[1]
    with torch.no_grad():
        return (model(torch.as_tensor(x)).argmax(1).numpy() == y).mean()


def mean_loss(model):
    with torch.no_grad():
        return np.mean([loss_of(model, x, y).item() for x, y in zip(*recipes.held_out_text())])


def first_ids(seed):
    return [np.concatenate([x, y[:, -1:]], 1) for x, y in islice(recipes.text_batches(seed), FIRST)]


def main():
    arrays = {}
    for name, make, recipe, batches, reached in (
        ("lenet", LeNet, LENET, recipes.image_batches, told),
        ("lstm", Characters, LSTM, recipes.text_batches, mean_loss),
    ):
        first, found = [], []
        for seed in SEEDS:
            model = make()
            first.append(trained(model, recipe, seed, batches(seed))[:FIRST])
            found.append(reached(model))
            print(name, "seed", seed, "reached", found[-1], "from", first[-1][0], flush=True)
        arrays |= {f"{name}/seeds": list(SEEDS), f"{name}/first": first, f"{name}/reached": found}
    arrays["lstm/ids"] = np.array([first_ids(seed) for seed in SEEDS], "uint8")
    arrays["lstm/text"] = hashlib.sha256(data.default_text().encode()).hexdigest()
    path = Path(__file__).with_name("recipes.npz")
    np.savez_compressed(path, **arrays)
    print(path.name, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
