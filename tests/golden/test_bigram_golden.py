"""A bigram model of names, as OCANNL trains it: one routine with a symbol for the batch, against NumPy in float64.

On the list of names that makemore uses (``pytest --names-file PATH``) the losses of eleven epochs are known. A list
that is drawn here is always trained on.
"""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops, train

LETTERS = ". abcdefghijklmnopqrstuvwxyz"
SUMS = [
    678.0286, 615.6611, 596.5966, 587.4846, 582.1144, 578.5589, 576.0260, 574.1293, 572.6565, 571.4805, 570.5202,
]  # fmt: skip
"""Of the losses of each epoch's 229 batches, from weights that are 0."""


def batches(names, size):
    """``(2, batches, size)``: each letter and the next, '.' at both ends; the first pairs fill the first batch up."""
    pairs = []
    for name in names:
        ids = [LETTERS.index(c) for c in f".{name}."]
        pairs += pairwise(ids)
    pairs = pairs[: -len(pairs) % size] + pairs
    return np.moveaxis(np.array(pairs).reshape(-1, size, 2), 2, 0)


def drawn_names(count):
    source = np.random.Generator(np.random.Philox(key=20240602))
    return ["".join(source.choice(list(LETTERS[2:]), length)) for length in source.integers(2, 9, count)]


def by_index(w, ids):
    return ops.embedding(ids, w)


def by_one_hot(w, ids):
    return ops.astype(ops.expand_dims(ids, -1) == np.arange(len(LETTERS)), w.dtype) @ w


def trained(data, epochs, logits):
    """The losses of all steps with the rate 1, an epoch a row, and the weights."""
    w = fnb.Parameter(fnb.tensor(np.zeros((len(LETTERS), len(LETTERS))), name="w"))
    before, after = (fnb.tensor(part) for part in data)
    batch = fnb.symbol("batch", range=data.shape[1])
    with fnb.capture():
        loss = ops.cross_entropy(logits(w, before[batch]), after[batch])
    update = train.grad_update(loss)
    routine = train.to_routine(train.sequence([update, train.sgd_update(update, 1.0)]), [batch])
    losses = np.zeros((epochs, data.shape[1]))
    for epoch, number in np.ndindex(losses.shape):
        routine.run(batch=number)
        losses[epoch, number] = loss.item()
    return losses, w.numpy()


def by_numpy(data, epochs):
    w, losses = np.zeros((len(LETTERS), len(LETTERS))), np.zeros((epochs, data.shape[1]))
    for epoch, number in np.ndindex(losses.shape):
        before, after = data[:, number]
        p = np.exp(w[before])
        p /= p.sum(1, keepdims=True)
        places = np.arange(len(after))
        losses[epoch, number] = -np.log(p[places, after]).mean()
        p[places, after] -= 1
        np.subtract.at(w, before, p / len(after))
    return losses, w


@pytest.mark.parametrize("logits", [by_index, by_one_hot])
def test_drawn_names(logits):
    data = batches(drawn_names(300), 100)
    assert data.shape == (2, 19, 100)
    losses, w = trained(data, 4, logits)
    wanted, weights = by_numpy(data, 4)
    np.testing.assert_allclose(losses, wanted, rtol=1e-10)
    np.testing.assert_allclose(w, weights, rtol=0, atol=1e-10)
    assert losses[0, 0] == pytest.approx(np.log(len(LETTERS)))
    assert losses[-1].mean() < losses[0].mean() - 0.05


def test_the_names_of_makemore(request):
    path = request.config.getoption("names_file")
    if path is None:
        pytest.skip("the list of names of makemore is not given: pytest --names-file PATH")
    names = Path(path).read_text().split()
    assert len(names) == 32033
    data = batches(names, 1000)
    assert data.shape == (2, 229, 1000)
    losses, _ = trained(data, len(SUMS), by_index)
    np.testing.assert_allclose(losses.sum(1), SUMS, rtol=1e-6)
