"""Continuing sequences: seeds, ends, batches, and the window that slides."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import random
from forgenb.errors import ArgumentError, IndexRangeError
from forgenb.models import GPT, Decoder, GPTConfig, Sampler, Tracer, generate, generate_batch, stream

CONFIG = GPTConfig(vocab=11, context=5, layers=1, heads=2, width=8, dropout=0.5)


@pytest.fixture(scope="module")
def model():
    found = GPT(CONFIG, seed=4)
    found.load_state_dict({name: value * 4 for name, value in found.state_dict().items()})
    return found


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


@pytest.fixture
def passes(monkeypatch):
    """What is run for each id: how many ids a pass sees, over whole sequences or by the cache."""
    calls = []
    prefill, step = Decoder.prefill, Decoder.step
    monkeypatch.setattr(Decoder, "prefill", lambda self, p: calls.append(("prefill", len(p[0]))) or prefill(self, p))
    monkeypatch.setattr(Decoder, "step", lambda self, ids: calls.append(("step", len(ids))) or step(self, ids))
    return calls


def test_one_pass_for_each_id_by_the_cache_while_the_context_holds_them(model, passes):
    generate(model, [1, 2, 3], 5)
    assert passes == [("prefill", 3), ("step", 1), ("step", 1), ("prefill", 5), ("prefill", 5)]
    passes.clear()
    assert generate(model, [1], 0) == [1]
    assert passes == []


def test_a_batch_runs_no_pass_after_the_last_id(model, passes):
    generate_batch(model, [[1, 2], [3]], 3)
    assert passes == [("prefill", 2), ("step", 2), ("step", 2)]
    passes.clear()
    generate_batch(model, [[1]], 4, on_id=lambda row, chosen: False)
    assert passes == [("prefill", 1)]
    passes.clear()
    assert generate_batch(model, [[1]], 0) == [[1]]
    assert passes == []


def test_each_of_a_batch_gets_what_it_gets_alone(model):
    prompts = [[1], [2, 3], [4, 5]]
    batch = generate_batch(model, prompts, 4)
    assert batch == [generate(model, prompt, 4, greedy=True) for prompt in prompts]
    drawn = generate_batch(model, prompts, 4, [Sampler(seed=3, stream=i) for i in range(3)])
    alone = [generate_batch(model, [p], 4, [Sampler(seed=3, stream=i)])[0] for i, p in enumerate(prompts)]
    assert drawn == alone
    assert drawn[0] == generate(model, prompts[0], 4, seed=3)


def test_the_end_is_not_added_and_others_go_on(model):
    whole = generate_batch(model, [[1], [2, 3]], 4)
    end = whole[0][3]
    cut = [row[: next((i for i, j in enumerate(row) if i >= n and j == end), 9)] for n, row in zip((1, 2), whole)]
    assert len(cut[0]) < len(whole[0])
    assert generate_batch(model, [[1], [2, 3]], 4, end=end) == cut
    assert generate(model, [1], 4, greedy=True, end=end) == cut[0]


def test_a_callback_sees_each_id_and_may_stop(model):
    whole, seen = generate_batch(model, [[1], [2]], 4), []

    def on_id(row, chosen):
        seen.append((row, chosen))
        return None if row else len([r for r, _ in seen if r == 0]) < 2

    found = generate_batch(model, [[1], [2]], 4, on_id=on_id)
    assert found == [whole[0][:3], whole[1]]
    assert [c for r, c in seen if r == 0] == whole[0][1:3]
    assert [c for r, c in seen if r == 1] == whole[1][1:]


def test_a_decoder_can_be_used_again(model):
    decoder = Decoder(model, 2)
    wanted = generate_batch(model, [[1, 2], [3]], 4)
    assert generate_batch(model, [[1, 2], [3]], 4, decoder=decoder) == wanted
    assert generate_batch(model, [[3], [1, 2]], 4, decoder=decoder) == wanted[::-1]


@pytest.mark.parametrize(
    ("prompts", "count", "options", "message"),
    [
        ([], 1, {}, "got 0 prompts"),
        ([[1]], -1, {}, "1 choosers and -1"),
        ([[1]], "2", {}, "generate got count='2': it must be a whole number"),
        ([[1]], 1, {"choosers": []}, "1 prompts, 0 choosers"),
        ([[1]], 1, {"choosers": [None]}, "needs choosers, such as .*, got NoneType"),
        ([[1]], 1, {"on_id": 3}, "decoder=NoneType and on_id=int"),
        ([[1]], 1, {"decoder": "x"}, "decoder=str and on_id=NoneType"),
        ([[1]], 1, {"end": 1.0}, "end=1.0: it must be a whole number"),
        ([[1], []], 1, {}, "prompt 1 of 0 ids"),
        ([[1, 2, 3]], 4, {}, "a prompt of 3 ids and 4 more need 6 places, and there are 5"),
    ],
)
def test_impossible_batches_are_refused(model, prompts, count, options, message):
    with pytest.raises(ArgumentError, match=message):
        generate_batch(model, prompts, count, **options)


def test_a_decoder_of_something_else_is_refused(model):
    with pytest.raises(ArgumentError, match="2 prompts and a decoder for 1: make one with"):
        generate_batch(model, [[1], [2]], 1, decoder=Decoder(model))
    with pytest.raises(ArgumentError, match="a decoder for 1 of another model"):
        generate_batch(GPT(CONFIG), [[1]], 1, decoder=Decoder(model))
    with pytest.raises(ArgumentError, match="need 4 places, and there are 3"):
        generate_batch(model, [[1]], 4, decoder=Decoder(model, capacity=3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], 3), "a prompt of at least one id"),
        (([1], -1), "count >= 0, got 1 and -1"),
        (([1], 2.5), "generate got count=2.5: it must be a whole number"),
        (([1], float("inf")), "count=inf"),
        (([1], float("nan")), "count=nan"),
        (([1], True), "count=True"),
    ],
)
def test_impossible_requests_are_refused_before_the_first_id(model, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        stream(model, *arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -0.1}, "a finite temperature >= 0 and top_k >= 1, got -0.1"),
        ({"top_k": 0}, "got 1.0 and 0"),
        ({"end": "1"}, "end='1'"),
        ({"greedy": "no"}, "greedy='no': it must be True or False"),
        ({"top_p": 1.5}, "top_p <= 1, got 1.5"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        stream(GPT(CONFIG), [1], 3, **options)


def test_what_is_no_model_is_refused():
    for ask in (lambda: stream(None, [1], 1), lambda: generate_batch("gpt", [[1]], 1)):
        with pytest.raises(ArgumentError, match="needs a GPT or a Council, got"):
            ask()
    with pytest.raises(ArgumentError, match="Decoder needs a GPT"):
        Decoder(None)


class Chosen:
    """Chooses what it is told to, and writes over the logits."""

    def __init__(self, chosen):
        self.chosen = chosen

    def choose(self, logits):
        logits[:] = 0
        return self.chosen


def test_a_chooser_must_choose_an_id(model):
    assert generate_batch(model, [[1]], 2, [Chosen(np.int64(3))]) == [[1, 3, 3]]
    for wrong, error, message in (
        (1.5, ArgumentError, "must be a whole number"),
        (11, IndexRangeError, "vocabulary of 11"),
    ):
        with pytest.raises(error, match=message):
            generate_batch(model, [[1]], 1, [Chosen(wrong)])


def test_a_chooser_that_changes_the_logits_changes_no_record(model):
    records, wanted = [], []
    generate_batch(model, [[1]], 1, [Chosen(3)], tracer=Tracer(records.append))
    generate_batch(model, [[1]], 1, tracer=Tracer(wanted.append))
    assert records[0].shortlist == wanted[0].shortlist
