"""The bits of a text: against plain NumPy, against decoding, over windows, and what is refused."""

import math

import numpy as np
import pytest
from support import plain_gpt

import forgenb as fnb
from forgenb.data import CharTokenizer
from forgenb.errors import ArgumentError, DTypeError, IndexRangeError, ShapeError
from forgenb.models import GPT, Decoder, GPTConfig, Surprisal, surprisal

CONFIG = GPTConfig(vocab=11, context=8, layers=1, heads=2, width=8, dropout=0.5)
TEXT = np.random.default_rng(5).integers(0, 11, 30)


def grown(factor=4.0):
    model = GPT(CONFIG, seed=4)
    model.load_state_dict({name: value * factor for name, value in model.state_dict().items()})
    return model


@pytest.fixture(scope="module")
def model():
    return grown()


def wanted_bits(model, ids, start, place):
    """Bits of the id at `place`, where the ids from `start` on are known."""
    return -plain_gpt.logs(model, ids[start:place])[-1, ids[place]] / math.log(2)


@pytest.mark.parametrize("n", [2, 5, 8, 9])
def test_a_text_of_one_context_and_one_more_is_one_pass(model, n, monkeypatch):
    passes, hidden = [], GPT.hidden
    monkeypatch.setattr(GPT, "hidden", lambda self, ids: passes.append(ids.shape) or hidden(self, ids))
    found = surprisal(model, TEXT[:n])
    assert passes == [(1, n - 1)]
    assert found.bits[0] == 0
    logs = plain_gpt.logs(model, TEXT[: n - 1])
    np.testing.assert_allclose(found.bits[1:], -logs[np.arange(n - 1), TEXT[1:n]] / math.log(2), atol=1e-4, rtol=0)


@pytest.mark.parametrize("stride", [None, 1, 3, 8])
def test_longer_texts_are_read_in_windows(model, stride, monkeypatch):
    found, step = surprisal(model, TEXT, stride=stride), stride or 4
    starts = [min(start, 21) for start in range(0, 21 + step, step)]
    for place in range(1, 30):
        start = next(s for s in starts if place <= s + 8)
        assert place - start >= min(place, 8 - step + 1)
        assert found.bits[place] == pytest.approx(wanted_bits(model, TEXT, start, place), abs=1e-4)
    module = __import__("sys").modules["forgenb.models.surprisal"]
    monkeypatch.setattr(module, "TOKENS", 17)
    monkeypatch.setattr(module, "NUMBERS", 40)
    again = surprisal(model, TEXT, stride=stride)
    np.testing.assert_allclose(again.bits, found.bits, atol=1e-5)
    np.testing.assert_array_equal(again.candidates, found.candidates)


def test_bits_are_those_of_decoding(model):
    found, decoder = surprisal(model, TEXT[:9]), Decoder(model)
    logits = [decoder.prefill([TEXT[:1]])[0], *(decoder.step([i])[0] for i in TEXT[1:8])]
    wanted = -plain_gpt.log_softmax(np.array(logits, np.float64))[np.arange(8), TEXT[1:9]] / math.log(2)
    np.testing.assert_allclose(found.bits[1:], wanted, atol=1e-4, rtol=0)


def test_an_untrained_model_knows_nothing():
    found = surprisal(GPT(CONFIG), TEXT)
    assert np.abs(found.bits[1:] - math.log2(11)).max() < 1.5
    assert found.mean == pytest.approx(math.log2(11), abs=0.1)


@pytest.mark.parametrize(("top", "kept"), [(-3, 1), (0, 1), (3, 3), (11, 11), (99, 11)])
def test_candidates_are_the_most_probable(model, top, kept):
    found = surprisal(model, TEXT[:9], top)
    assert found.candidates.shape == found.probabilities.shape == (9, kept)
    assert (found.candidates[0] == -1).all()
    assert (found.probabilities[0] == 0).all()
    logs = plain_gpt.logs(model, TEXT[:8])
    np.testing.assert_array_equal(found.candidates[1:], np.argsort(-logs, -1)[:, :kept])
    np.testing.assert_allclose(found.probabilities[1:], np.exp(-np.sort(-logs, -1)[:, :kept]), rtol=1e-4)


def test_no_number_of_bits_is_too_large():
    wild = grown()
    state = wild.state_dict()
    state["wte.weight"] *= 2000
    wild.load_state_dict(state)
    found = surprisal(wild, TEXT[:9])
    logs = plain_gpt.logs(wild, TEXT[:8])[np.arange(8), TEXT[1:9]]
    assert logs.min() < -2000
    np.testing.assert_allclose(found.bits[1:], -logs / math.log(2), rtol=1e-3, atol=1e-3)
    assert found.perplexity == math.inf


def test_sums():
    found = Surprisal(np.array([0, 1, 2, 1]), np.array([0.0, 3.0, 1.5, 3.0]), np.zeros((4, 1)), np.zeros((4, 1)))
    assert (found.total, found.mean, found.perplexity) == (7.5, 2.5, 2**2.5)
    tokenizer = CharTokenizer("a\u20acb")
    assert found.per_character(tokenizer) == 2.5
    assert found.per_byte(tokenizer) == 7.5 / 7
    assert found.places(2).tolist() == [1, 3]
    assert found.places(9).tolist() == [1, 3, 2]
    with pytest.raises(ArgumentError, match="count=0: it must be a whole number of at least 1"):
        found.places(0)


def test_one_id_has_nothing_before_it(model):
    found = surprisal(model, [3])
    assert (found.bits.tolist(), found.total, found.mean, found.perplexity) == ([0.0], 0, 0, 1)
    assert found.places(3).tolist() == []
    assert found.per_byte(CharTokenizer("abcdefghijk")) == found.per_character(CharTokenizer("abcdefghijk")) == 0


def test_modes_dropout_and_the_tape_are_left_alone(model):
    model.train()
    model.h[0].eval()
    with fnb.Tape() as tape:
        first = surprisal(model, TEXT)
        model.dropout_seed += 1
        np.testing.assert_array_equal(surprisal(model, TEXT).bits, first.bits)
    assert len(tape) == 0
    assert (model.training, model.h[0].training) == (True, False)


@pytest.mark.usefixtures("each_backend")
def test_each_backend():
    model = GPT(GPTConfig(vocab=5, context=3, layers=1, heads=1, width=4), seed=1)
    ids = np.array([0, 4, 2, 1])
    wanted = -plain_gpt.logs(model, ids[:3])[np.arange(3), ids[1:]] / math.log(2)
    np.testing.assert_allclose(surprisal(model, ids).bits[1:], wanted, atol=1e-4)


@pytest.mark.parametrize(
    ("ids", "options", "error", "message"),
    [
        ([], {}, ArgumentError, "a text of at least one id, got none"),
        ([1, 2, 11], {}, IndexRangeError, "id 11 at position 2 is outside the model's vocabulary of 11"),
        ([1, -1, 3], {}, IndexRangeError, "id -1 at position 1"),
        ([[1, 2]], {}, ShapeError, "one axis"),
        ([1.5], {}, DTypeError, "integers"),
        ([1, 2], {"stride": 0}, ArgumentError, "a stride from 1 to 8, the model's context, got 0"),
        ([1, 2], {"stride": 9}, ArgumentError, "got 9"),
        ([1, 2], {"stride": 2.0}, ArgumentError, "stride=2.0"),
        ([1, 2], {"top": 2.5}, ArgumentError, "number of candidates got top=2.5"),
    ],
)
def test_refusals(model, ids, options, error, message):
    with pytest.raises(error, match=message):
        surprisal(model, ids, **options)


def test_a_model_that_has_diverged_is_refused():
    wild = grown()
    state = wild.state_dict()
    state["ln_f.bias"][0] = np.nan
    wild.load_state_dict(state)
    with pytest.raises(ArgumentError, match="logits with NaN: the model has diverged"):
        surprisal(wild, [1, 2, 3])
