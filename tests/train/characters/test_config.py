"""The choices of a run."""

import json
import math

import numpy as np
import pytest

from forgenb.errors import ArgumentError, CheckpointError
from forgenb.train import TrainConfig


def test_defaults_are_the_recipe():
    c = TrainConfig()
    assert (c.steps, c.layers, c.heads, c.width, c.context, c.batch) == (2000, 4, 4, 128, 64, 12)
    assert (c.lr, c.min_lr, c.warmup, c.decay, c.clip, c.betas) == (1e-3, 1e-4, 100, 0.1, 1.0, (0.9, 0.99))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("steps", 0, "steps must be a whole number of at least 1, got 0"),
        ("steps", 1.0, "steps must be a whole number of at least 1, got 1.0"),
        ("layers", True, "layers must be a whole number of at least 1, got True"),
        ("heads", 0, "heads must be a whole number of at least 1, got 0"),
        ("heads", 3, "heads must divide width, got 3 heads and width 128"),
        ("context", -1, "context must be a whole number of at least 1"),
        ("batch", 0, "batch must be a whole number of at least 1"),
        ("eval_every", 0, "eval_every must be a whole number of at least 1"),
        ("warmup", -1, "warmup must be a whole number of at least 0, got -1"),
        ("seed", -1, "seed must be a whole number of at least 0, got -1"),
        ("seed", 2**63, "seed must be a whole number of at least 0"),
        ("lr", 0.0, "lr must be a number above 0, got 0.0"),
        ("lr", -1e-3, "lr must be a number above 0, got -0.001"),
        ("lr", math.inf, "lr must be a number above 0, got inf"),
        ("lr", math.nan, "lr must be a number above 0, got nan"),
        ("lr", "1", "lr must be a number above 0, got '1'"),
        ("lr", 10**400, "lr must be a number above 0, got 1000"),
        ("betas", (0.9, math.nan), "betas must be two numbers"),
        ("data", ["a" * 300], r"data must be the name .*a{78}\.\.\."),
        ("lr", 1e-5, "min_lr must not exceed lr, got 0.0001 and 1e-05"),
        ("min_lr", -1.0, "min_lr must be a number of at least 0, got -1.0"),
        ("dropout", 1.0, "dropout must be a number of at least 0 and below 1, got 1.0"),
        ("decay", -0.1, "decay must be a number of at least 0, got -0.1"),
        ("clip", 0.0, "clip must be a number above 0, got 0.0"),
        ("clip", -1, "clip must be a number above 0, got -1"),
        ("betas", (0.9, 1.0), r"betas must be two numbers .*, got \(0.9, 1.0\)"),
        ("betas", (0.9,), "betas must be two numbers"),
        ("data", "", "data must be the name of a file, got ''"),
        ("backend", "", "backend must be a name, got ''"),
        ("start", "", "start must be the name of a file, got ''"),
        ("freeze_embeddings", 1, "freeze_embeddings must be true or false, got 1"),
        ("accumulate", 0, "accumulate must be a whole number of at least 1, got 0"),
        ("accumulate", 5, "accumulate must divide batch, got 5 parts and a batch of 12"),
        ("seed_rule", "own", "seed_rule must be 'step' or 'pass', got 'own'"),
        ("seed_rule", np.arange(2), "seed_rule must be 'step' or 'pass'"),
        ("seed_rule", [], r"seed_rule must be 'step' or 'pass', got \[\]"),
    ],
)
def test_bad_choices_are_named(name, value, message):
    with pytest.raises(ArgumentError, match=message):
        TrainConfig(**{name: value})


def test_numbers_that_python_does_not_spell_out():
    with pytest.raises(ArgumentError, match="steps must .*, got a number of thousands of digits; decay must .* digits"):
        TrainConfig(steps=10**5000, decay=10**5000)


def test_all_bad_choices_come_in_one_paragraph():
    with pytest.raises(ArgumentError, match="cannot be trained: .*; .*; .*") as caught:
        TrainConfig(steps=0, lr=-1.0, clip=0.0)
    assert "\n" not in str(caught.value)


def test_rate_warms_up_then_follows_a_cosine():
    c = TrainConfig(steps=10, warmup=2, lr=1.0, min_lr=0.2)
    assert [c.rate(step) for step in (0, 1, 2)] == [0.5, 1.0, 1.0]
    assert c.rate(6) == pytest.approx(0.6)
    assert c.rate(9) == pytest.approx(0.2 + 0.4 * (1 + math.cos(math.pi * 7 / 8)))
    assert TrainConfig(steps=3, warmup=10, lr=1.0).rate(2) == 0.3
    assert TrainConfig(steps=3, warmup=0, lr=1.0).rate(0) == 1.0


def test_json_round_trip():
    c = TrainConfig(data="a", lr=0.3, betas=(0.5, 0.25))
    assert TrainConfig.from_dict(json.loads(json.dumps(c.to_dict())), "x") == c


def test_parts_of_a_batch_under_the_rule_of_passes():
    assert TrainConfig(batch=2000, accumulate=2000).accumulate == 2000
    with pytest.raises(ArgumentError, match="accumulate must be at most 1000 where seed_rule is 'pass', got 2000"):
        TrainConfig(batch=2000, accumulate=2000, seed_rule="pass")


def test_choices_that_older_files_lack_have_their_defaults():
    values = TrainConfig(lr=0.3).to_dict()
    for name in ("start", "freeze_embeddings", "accumulate", "seed_rule"):
        del values[name]
    assert TrainConfig.from_dict(values, "x") == TrainConfig(lr=0.3)


def test_damaged_choices():
    with pytest.raises(CheckpointError, match="'x' does not hold the choices of a training run: .* got list"):
        TrainConfig.from_dict([], "'x'")
    values = TrainConfig().to_dict()
    with pytest.raises(CheckpointError, match="'x' is damaged. .*steps must be a whole number"):
        TrainConfig.from_dict({**values, "steps": "many"}, "'x'")
    del values["steps"]
    with pytest.raises(CheckpointError, match=r"it needs .*'steps'.*, got all but \['steps'\], and .*'note'.* besides"):
        TrainConfig.from_dict({**values, "note": 1, 3: 4}, "'x'")
