"""The seeds of dropout, by either rule."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import random
from forgenb.errors import ArgumentError
from forgenb.models import GPT, GPTConfig
from forgenb.nn.dropout import Sites
from forgenb.train.loop.masks import Masks, agreed_rule


def both():
    """A model with sites of its own and a module of dropout."""
    return fnb.nn.Sequential(fnb.nn.Dropout(0.5), GPT(GPTConfig(5, 4, 1, 1, 4)))


def test_each_step_has_a_seed_of_its_own():
    model = both()
    Masks(model).begin(3, 7)
    wanted = int(random.integers(random.generator(3, "dropout", 7), 2**32, 1)[0])
    assert (model[0].seed, model[1].dropout_seed) == (wanted, wanted)


def test_under_the_rule_of_passes_a_step_has_a_thousand():
    model = both()
    masks = Masks(model)
    for seed in (3, 4):
        masks.begin(seed, 7, "pass")
        assert masks.seeds == [7000, 7000] == [model[0].seed, model[1].dropout_seed]


def test_the_sites_of_a_pass():
    """Pass 99 of step 0."""
    masks = Masks(GPT(GPTConfig(5, 4, 1, 1, 4)))
    masks.begin(1, 0, "pass")
    (seed,) = masks.seeds
    sites = Sites(0.5, seed + 99)
    assert [sites.next_seed() for _ in range(4)] == [3042957802, 994813025, 3241635544, 1193490767]


def test_a_model_without_dropout_and_none_at_all():
    for model in (fnb.nn.Linear(2, 2), None):
        masks = Masks(model)
        masks.begin(0, 0)
        assert masks.seeds == []


def test_one_rule_for_a_trainer_and_its_step():
    assert agreed_rule(None, None) == "step"
    assert agreed_rule("pass", None) == agreed_rule(None, "pass") == agreed_rule("pass", "pass") == "pass"
    with pytest.raises(ArgumentError, match="a Trainer got seed_rule='step', and its step draws by 'pass'"):
        agreed_rule("step", "pass")
    with pytest.raises(ArgumentError, match="a Trainer got seed_rule='': it must be 'step' or 'pass'"):
        agreed_rule("", None)
    with pytest.raises(ArgumentError, match="must be 'step' or 'pass'"):
        agreed_rule(np.array(["step", "pass"]), None)
