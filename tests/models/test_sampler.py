"""Choices by logits: greedy, drawn, and what a sampler's state holds."""

import json

import numpy as np
import pytest

from forgenb import ops, random
from forgenb.errors import ArgumentError, CheckpointError, ShapeError
from forgenb.models import Greedy, Sampler, next_id
from forgenb.models.sampler import clamped, most_likely


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


@pytest.mark.parametrize("chooser", [Greedy(), Sampler(), Sampler(top_k=1), Sampler(top_p=0.1)])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_diverged_model_is_refused(chooser, place):
    """NaN is neither the largest nor left out, wherever it stands and however few ids are kept."""
    logits = np.array([1.0, 5.0, 2.0])
    logits[place] = np.nan
    with pytest.raises(ArgumentError, match="logits with NaN"):
        chooser.choose(logits)


@pytest.mark.parametrize("equal", [(0, 1), (1, 3), (0, 1, 2, 3)])
def test_of_equal_logits_all_ways_to_be_greedy_take_the_first(equal):
    logits = np.zeros(4, np.float32)
    logits[list(equal)] = 3.0
    ways = Greedy(), Sampler(top_k=1), Sampler(top_p=1e-9)
    assert {way.choose(logits) for way in ways} == {ops.argmax(logits).item()} == {equal[0]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -0.1}, "a finite temperature >= 0 and top_k >= 1, got -0.1 and None"),
        ({"temperature": np.inf}, "a finite temperature >= 0 and top_k >= 1, got inf"),
        ({"top_k": 0}, "got 1.0 and 0"),
        ({"top_p": 0.0}, "0 < top_p <= 1, got 0.0"),
        ({"top_p": 1.1}, "0 < top_p <= 1, got 1.1"),
        ({"temperature": "1"}, "sampling got temperature='1': it must be a number"),
        ({"top_k": 1.5}, "sampling got top_k=1.5: it must be a whole number"),
        ({"top_p": [0.5]}, "sampling got top_p=.*: it must be a number"),
    ],
)
def test_impossible_options_are_refused(options, message):
    for ask in (Sampler, lambda **kept: next_id(np.array([1.0]), source(), **kept)):
        with pytest.raises(ArgumentError, match=message):
            ask(**options)


def test_logits_without_a_finite_maximum_are_refused():
    for wrong in (np.inf, -np.inf):
        with pytest.raises(ArgumentError, match="at least one id must have a finite logit"):
            next_id(np.array([-np.inf, wrong]), source())


@pytest.mark.parametrize("shape", [(0,), (), (2, 3)])
def test_logits_are_those_of_one_id(shape):
    for chooser in (Greedy(), Sampler()):
        with pytest.raises(ShapeError, match=r"it needs those of one id, \(vocab,\)"):
            chooser.choose(np.zeros(shape))


def test_logits_that_are_far_apart_are_no_overflow():
    logits = np.array([-1e308, 1e308, -np.inf])
    assert {Sampler(1e-4, seed=seed).choose(logits) for seed in range(5)} == {1}


def kept_by_top_p(logits, top_p):
    """The fewest of the likeliest ids whose probabilities reach `top_p`, one at a time."""
    p = np.exp(logits - logits.max())
    p /= p.sum()
    kept, total = [], 0.0
    for i in sorted(range(len(p)), key=lambda i: (-p[i], i)):
        if total >= top_p:
            break
        kept.append(i)
        total += p[i]
    return kept, np.array([p[i] if i in kept else 0.0 for i in range(len(p))])


@pytest.mark.parametrize("top_p", [0.05, 0.4, 0.75, 0.99, 1.0])
def test_top_p_chooses_among_the_fewest_that_reach_it(top_p):
    for seed in range(5):
        logits, draws = np.random.default_rng(seed).normal(size=9) * 1.5, source(seed)
        kept, weights = kept_by_top_p(logits, top_p)
        found = np.bincount([next_id(logits, draws, top_p=top_p) for _ in range(3000)], minlength=9)
        assert set(np.flatnonzero(found)) <= set(kept)
        np.testing.assert_allclose(found / 3000, weights / weights.sum(), atol=0.04)


def test_top_p_with_a_bound_that_is_reached_exactly():
    logits = np.log([0.5, 0.25, 0.25])
    assert {next_id(logits, source(s), top_p=0.5) for s in range(50)} == {0}
    assert {next_id(logits, source(s), top_p=0.75) for s in range(50)} == {0, 1}
    assert {next_id(logits, source(s), top_k=2, top_p=0.9) for s in range(50)} == {0, 1}


@pytest.mark.parametrize("options", [{}, {"temperature": 0.7}, {"top_k": 4}, {"top_p": 0.8}])
def test_draws_fit_the_exact_probabilities(options):
    """Chi-square of 20000 draws stays below its 99.9 % point; the seed is fixed, so this never flickers."""
    logits = np.random.default_rng(2).normal(size=7)
    p = np.exp((logits - logits.max()) / options.get("temperature", 1.0))
    if "top_k" in options:
        p[np.argsort(-logits)[4:]] = 0
    if "top_p" in options:
        p = kept_by_top_p(logits, 0.8)[1]
    p /= p.sum()
    sampler = Sampler(seed=11, **options)
    found = np.bincount([sampler.choose(logits) for _ in range(20000)], minlength=7)
    wanted, seen = 20000 * p, p > 0
    assert found[~seen].sum() == 0
    critical = {2: 13.82, 3: 16.27, 4: 18.47, 5: 20.52, 6: 22.46}
    assert ((found - wanted)[seen] ** 2 / wanted[seen]).sum() < critical[seen.sum() - 1]


def test_a_sampler_goes_on_where_its_state_was_taken():
    logits, first = np.zeros(50), Sampler(seed=5, stream=2)
    for _ in range(7):
        first.choose(logits)
    state = json.loads(json.dumps(first.state_dict()))
    assert state == {"seed": 5, "stream": 2, "drawn": 7}
    second = Sampler(seed=1)
    second.load_state_dict(state)
    wanted = [first.choose(logits) for _ in range(20)]
    assert [second.choose(logits) for _ in range(20)] == wanted
    assert second.state_dict() == first.state_dict()


def test_streams_of_one_seed_differ_and_the_default_seed_is_used():
    logits = np.zeros(50)

    def drawn(**options):
        sampler = Sampler(**options)
        return [sampler.choose(logits) for _ in range(10)]

    assert drawn(seed=1) != drawn(seed=1, stream=1) != drawn(seed=1, stream=2)
    with random.seeded(4):
        assert drawn() == drawn(seed=4) == drawn(seed=4, stream=0)


def test_greedy_is_a_chooser_too():
    assert Greedy().choose(np.array([0.0, 2.0, 2.0])) == 1


@pytest.mark.parametrize("state", [{}, {"seed": 1, "stream": 0}, {"seed": 1, "stream": -1, "drawn": 0}, None])
def test_a_state_of_something_else_is_refused(state):
    with pytest.raises(CheckpointError, match="has seed, stream and drawn"):
        Sampler().load_state_dict(state)


def test_an_impossible_stream_is_refused():
    with pytest.raises(ArgumentError, match="stream=1.5: it must be a whole number"):
        Sampler(stream=1.5)
    with pytest.raises(ArgumentError, match=r"below 2\*\*32, got 4294967296 and 0"):
        Sampler(stream=2**32)


def test_the_most_likely_ids_of_each_row():
    logs = np.log(np.array([[0.1, 0.4, 0.4, 0.1], [0.7, 0.1, 0.05, 0.15]], np.float32))
    ids, probabilities = most_likely(logs, 3)
    assert ids.tolist() == [[1, 2, 0], [0, 3, 1]]
    np.testing.assert_allclose(probabilities, [[0.4, 0.4, 0.1], [0.7, 0.15, 0.1]], rtol=1e-6)
    assert [clamped(n, 4) for n in (-1, 0, 2, np.int64(4), 9)] == [1, 1, 2, 4, 4]
    with pytest.raises(ArgumentError, match="number of candidates got top=True: it must be a whole number"):
        clamped(True, 4)
    with pytest.raises(ArgumentError, match="logits with NaN"):
        most_likely(np.array([[0.0, np.nan]]), 1)
