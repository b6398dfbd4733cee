"""Sampling: choices, seeds, and the window that slides."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import random
from forgenb.errors import ArgumentError
from forgenb.models import GPT, GPTConfig, generate, next_id, stream

CONFIG = GPTConfig(vocab=11, context=5, layers=1, heads=2, width=8, dropout=0.5)


@pytest.fixture(scope="module")
def model():
    found = GPT(CONFIG, seed=4)
    found.load_state_dict({name: value * 4 for name, value in found.state_dict().items()})
    return found


def source(seed=0):
    return random.generator(seed, "sample")


def test_greedy_takes_the_first_maximum():
    assert next_id(np.array([1.0, 3.0, 3.0, 2.0])) == 1
    assert next_id(np.array([-np.inf, 2.0])) == 1


def test_draws_follow_the_softmax():
    logits, draws = np.array([0.0, np.log(2.0), np.log(5.0), -np.inf]), source()
    counts = np.bincount([next_id(logits, draws) for _ in range(8000)], minlength=4)
    np.testing.assert_allclose(counts / 8000, [0.125, 0.25, 0.625, 0.0], atol=0.02)
    warm = np.bincount([next_id(logits, draws, temperature=2.0) for _ in range(8000)], minlength=4)
    weights = np.sqrt([1.0, 2.0, 5.0, 0.0])
    np.testing.assert_allclose(warm / 8000, weights / weights.sum(), atol=0.02)


def test_top_k_chooses_among_the_greatest_with_ties_by_id():
    logits, draws = np.array([2.0, 3.0, 2.0, 2.0]), source()
    assert {next_id(logits, draws, top_k=2) for _ in range(200)} == {0, 1}
    assert {next_id(logits, draws, top_k=1) for _ in range(20)} == {1}
    assert {next_id(logits, draws, top_k=99) for _ in range(200)} == {0, 1, 2, 3}


def test_a_temperature_of_zero_is_nearly_greedy():
    assert {next_id(np.array([1.0, 1.1]), source(seed), temperature=0.0) for seed in range(20)} == {1}


def test_the_same_seed_gives_the_same_ids(model):
    first = generate(model, [1, 2], 8, seed=3)
    assert first == generate(model, np.array([1, 2]), 8, seed=3)
    assert first[:2] == [1, 2]
    assert len(first) == 10
    assert len({tuple(generate(model, [1, 2], 8, seed=seed)) for seed in range(5)}) > 1
    with random.seeded(3):
        assert generate(model, [1, 2], 8) == first


def test_top_one_is_greedy(model):
    assert generate(model, [1], 9, top_k=1, seed=8) == generate(model, [1], 9, greedy=True)


def test_the_window_slides_over_the_last_ids(model):
    ids = [int(i) for i in np.arange(9) % 11]
    assert generate(model, ids, 1, greedy=True)[9:] == generate(model, ids[-5:], 1, greedy=True)[5:]
    longer = generate(model, [1], 12, greedy=True)
    model.eval()
    logits = model(np.array([longer[3:8]])).numpy()[0, -1]
    model.train()
    assert longer[8] == int(np.argmax(logits))


def test_streaming_is_the_same_one_id_at_a_time(model):
    added = stream(model, [1, 2], 6, seed=3)
    first = next(added)
    assert [1, 2, first, *added] == generate(model, [1, 2], 6, seed=3)


def test_the_model_is_in_eval_mode_meanwhile_and_records_nothing(model):
    model.train()
    model.h[0].eval()
    model.dropout_seed = 1
    first = generate(model, [1, 2], 4, greedy=True)
    model.dropout_seed = 2
    with fnb.Tape() as tape:
        assert generate(model, [1, 2], 4, greedy=True) == first
    assert len(tape) == 0
    assert (model.training, model.h[0].training, model.wte.training) == (True, False, True)
    model.train()


def test_one_forward_for_each_id(model, monkeypatch):
    calls = []
    hidden = GPT.hidden
    monkeypatch.setattr(GPT, "hidden", lambda self, ids: calls.append(ids.shape) or hidden(self, ids))
    generate(model, [1, 2, 3, 4], 3)
    assert calls == [(1, 4), (1, 5), (1, 5)]
    assert generate(model, [1], 0) == [1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], 3), "a prompt of at least one id"),
        (([1], -1), "count >= 0, got 1 and -1"),
    ],
)
def test_impossible_requests_are_refused_before_the_first_id(model, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        stream(model, *arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -0.1}, "temperature >= 0 and top_k >= 1, got -0.1 and None"),
        ({"top_k": 0}, "got 1.0 and 0"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        next_id(np.array([1.0]), source(), **options)
    with pytest.raises(ArgumentError, match=message):
        stream(GPT(CONFIG), [1], 3, **options)


def test_a_diverged_model_is_refused():
    with pytest.raises(ArgumentError, match="logits with NaN"):
        next_id(np.array([1.0, np.nan]))
