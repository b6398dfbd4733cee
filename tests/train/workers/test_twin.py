"""A worker's copy of a model: parameters of the original, masks of its own place, the original's mode and counters."""

import numpy as np

import forgenb as fnb
from forgenb import nn
from forgenb.train.workers.twin import Twin


def test_a_twin_shares_parameters_and_nothing_else():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm(2))
    twin = Twin(model, 0).model
    assert [a is b for a, b in zip(twin.parameters(), model.parameters(), strict=True)] == [True] * 4
    twin(fnb.tensor(np.eye(2, dtype="float32")))
    still, moved = (dict(m.named_buffers()).popitem()[1].numpy() for m in (model, twin))
    assert (still != moved).any()


def test_a_twin_draws_the_masks_of_its_place_follows_the_original_and_leads_it():
    model = nn.Dropout(0.5)
    model.seed = 3
    x = fnb.tensor(np.ones((6, 5), "float32"))
    twin = Twin(model, 2)
    whole = model(x).numpy()
    np.testing.assert_array_equal(twin.model(x[2:]).numpy(), whole[2:])
    model.eval()
    model.seed = 4
    twin.follow()
    assert (twin.model.training, twin.model.seed, twin.model.calls) == (False, 4, 0)
    model.train()
    twin.follow()
    twin.model(x)
    twin.lead()
    assert model.calls == 1
