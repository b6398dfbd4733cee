"""The model and the optimiser of a run."""

from dataclasses import replace

import numpy as np

from forgenb.models import GPT, GPTConfig
from forgenb.train import build_model, build_optimizer


def test_choices_reach_the_model_and_the_optimiser(tiny):
    config = replace(tiny, dropout=0.25, seed=5, decay=0.3, betas=(0.5, 0.75))
    model = build_model(config, 7)
    assert model.config == GPTConfig(vocab=7, context=8, layers=1, heads=2, width=16, dropout=0.25)
    same = GPT(model.config, seed=5).state_dict()
    assert all(np.array_equal(array, same[name]) for name, array in model.state_dict().items())
    optimizer = build_optimizer(config, model)
    assert (optimizer.lr, optimizer.betas, optimizer.weight_decay) == (tiny.lr, (0.5, 0.75), 0.3)
    assert list(optimizer.params) == [name for name, _ in model.named_parameters()]
