"""Traces: what they hold against NumPy, that nothing changes by them, and one copy for each id."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError, MemoryModeError
from forgenb.models import (
    GPT,
    Council,
    Decoder,
    GPTConfig,
    Sampler,
    Tracer,
    attention_matrix,
    generate,
    generate_batch,
    stream,
    top_probs,
)

CONFIG = GPTConfig(vocab=11, context=7, layers=2, heads=2, width=8)
PROMPT = [1, 2, 3]


@pytest.fixture(scope="module")
def model():
    found = GPT(CONFIG, seed=4)
    found.load_state_dict({name: value * 4 for name, value in found.state_dict().items()})
    return found


def traced(model, count=4, ids=PROMPT, **options):
    records = []
    return records, generate(model, ids, count, greedy=True, tracer=Tracer(records.append, **options))


def norm(x, weights, name):
    centred = x - x.mean(-1, keepdims=True)
    return (
        centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * weights[f"{name}.weight"]
        + weights[f"{name}.bias"]
    )


def by_head(x):
    return x.reshape(len(x), CONFIG.heads, -1).transpose(1, 0, 2)


def twin(model, ids):
    """Every value of a forward pass, in float64."""
    weights = {name: value.astype(float) for name, value in model.state_dict().items()}

    def linear(x, name):
        return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]

    x = weights["wte.weight"][ids] + weights["wpe.weight"][: len(ids)]
    found = {"embedding": x, "layers": [], "weights": []}
    for i in range(CONFIG.layers):
        d = {"ln1_out": norm(x, weights, f"h.{i}.ln_1")}
        d["q"], d["k"], d["v"] = map(by_head, np.split(linear(d["ln1_out"], f"h.{i}.attn.c_attn"), 3, -1))
        d["scores"] = d["q"] @ d["k"].swapaxes(1, 2) / np.sqrt(d["q"].shape[-1])
        e = np.exp(d["scores"]) * np.tri(len(ids))
        shares = e / e.sum(-1, keepdims=True)
        d["attention_out"] = shares @ d["v"]
        d["projection"] = linear(d["attention_out"].transpose(1, 0, 2).reshape(len(ids), -1), f"h.{i}.attn.c_proj")
        d["residual"] = x + d["projection"]
        d["ln2_out"] = norm(d["residual"], weights, f"h.{i}.ln_2")
        inner = linear(d["ln2_out"], f"h.{i}.mlp.c_fc")
        d["mlp_hidden"] = inner / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
        x = d["block_out"] = d["residual"] + linear(d["mlp_hidden"], f"h.{i}.mlp.c_proj")
        found["layers"].append(d)
        found["weights"].append(shares)
    hidden = norm(x, weights, "ln_f")
    return found | {"hidden": hidden, "logits": hidden @ weights["wte.weight"].T}


PER_HEAD = {"q", "k", "v", "scores", "attention_out"}


def test_every_value_is_that_of_numpy(model):
    records, ids = traced(model, layers=2, top=3)
    assert [record.chosen for record in records] == ids[3:]
    assert [record.position for record in records] == [3, 4, 5, 6]
    for number, record in enumerate(records):
        n = 3 + number
        wanted = twin(model, ids[:n])
        rows = np.s_[:] if number == 0 else n - 1
        np.testing.assert_allclose(record.embedding, wanted["embedding"][rows], atol=1e-6)
        np.testing.assert_allclose(record.attention, np.stack(wanted["weights"])[:, :, rows], atol=1e-6)
        np.testing.assert_allclose(record.hidden, wanted["hidden"][-1], atol=1e-5)
        assert len(record.layers) == 2
        for detail, values in zip(record.layers, wanted["layers"], strict=True):
            for name, value in values.items():
                place = (slice(None), rows) if name in PER_HEAD else rows
                found = getattr(detail, name)
                assert found.shape == value[place].shape, name
                np.testing.assert_allclose(found, value[place], atol=1e-5, err_msg=name)
        shares = np.exp(wanted["logits"][-1]) / np.exp(wanted["logits"][-1]).sum()
        best = np.argsort(-shares)[:3]
        assert [i for i, _ in record.shortlist] == best.tolist()
        np.testing.assert_allclose([share for _, share in record.shortlist], shares[best], atol=1e-5)


def test_rows_of_attention_sum_to_one_and_nothing_comes_from_the_future(model):
    first, *steps = traced(model)[0]
    assert first.attention.shape == (2, 2, 3, 3)
    assert [s.attention.shape for s in steps] == [(2, 2, n) for n in (4, 5, 6)]
    assert (first.attention[..., ~np.tri(3, dtype=bool)] == 0).all()
    for record in (first, *steps):
        np.testing.assert_allclose(record.attention.sum(-1), 1, atol=1e-6)


@pytest.mark.usefixtures("each_backend")
def test_logits_have_the_same_bits_with_and_without_a_trace():
    model = GPT(GPTConfig(5, 6, 2, 2, 4), seed=2)
    tracer = Tracer(lambda record: None, layers=1)
    plain, seen = Decoder(model, 2, 5), Decoder(model, 2, 5, tracer)
    for read in (lambda d: d.prefill([[1, 2], [3]]), lambda d: d.step([4, 0]), lambda d: d.step([2, 2])):
        assert read(plain).tobytes() == read(seen).tobytes()
    assert plain.hidden.numpy().tobytes() == seen.hidden.numpy().tobytes()
    assert plain.logits.numpy().tobytes() == seen.logits.numpy().tobytes()
    records = []
    ids = generate(model, [1], 7, seed=5, tracer=Tracer(records.append, layers=2))
    assert ids == generate(model, [1], 7, seed=5)
    assert [r.chosen for r in records] == ids[1:]


def test_one_synchronisation_for_each_id(model):
    decoder = Decoder(model, tracer=Tracer(print, layers=2))
    decoder.prefill([PROMPT])
    decoder.step([4])
    for read in (lambda: decoder.prefill([PROMPT]), lambda: decoder.step([4])):
        before = fnb.stats()
        read()
        decoder.seen(0)
        assert fnb.stats().since(before).syncs == 1


def test_what_is_asked_for_is_noted_and_no_more(model):
    (record,), _ = traced(model, 1)
    assert (len(record.shortlist), record.layers, record.embedding, record.hidden) == (10, (), None, None)
    (record,), _ = traced(model, 1, layers=1, attention=False, top=99)
    assert (len(record.shortlist), len(record.layers), record.attention) == (11, 1, None)
    assert sum(share for _, share in record.shortlist) == pytest.approx(1)
    decoder = Decoder(model, tracer=Tracer(print, attention=False))
    decoder.prefill([PROMPT])
    assert decoder.seen(0).attention is None
    with pytest.raises(ArgumentError, match="trace an expert, or ask CouncilDecoder.report"):
        stream(Council([model]), PROMPT, 1, tracer=Tracer(print))
    with pytest.raises(ArgumentError, match="nothing to see"):
        Decoder(model).seen(0)
    for ask in (decoder.seen, decoder.release):
        for row in (-1, 1):
            with pytest.raises(ArgumentError, match=f"got row {row}: this decoder has the sequences 0 to 0"):
                ask(row)
        with pytest.raises(ArgumentError, match="row=True"):
            ask(True)
    assert decoder.lengths.tolist() == [3]


def test_each_sequence_of_a_batch_has_its_own_records(model):
    prompts, records, order = [PROMPT, [4]], [], []
    tracer = Tracer(lambda record: order.append(record.row) or records.append(record), layers=1)
    choosers = [Sampler(seed=3, stream=i) for i in range(2)]
    stops = {0: 2, 1: 3}
    ids = generate_batch(
        model, prompts, 3, choosers, tracer=tracer, on_id=lambda row, chosen: order.count(row) < stops[row]
    )
    assert order == [0, 1, 0, 1, 1]
    for row, prompt in enumerate(prompts):
        own = [r for r in records if r.row == row]
        assert [r.chosen for r in own] == ids[row][len(prompt) :]
        assert [r.position for r in own] == list(range(len(prompt), len(ids[row])))
        wanted = twin(model, ids[row][:-1])
        np.testing.assert_allclose(attention_matrix(own), np.stack(wanted["weights"]), atol=1e-6)
        np.testing.assert_allclose(own[0].layers[0].k, wanted["layers"][0]["k"][:, : len(prompt)], atol=1e-5)
        np.testing.assert_allclose(
            own[1].layers[0].scores, wanted["layers"][0]["scores"][:, len(prompt), : len(prompt) + 1], atol=1e-5
        )
    with pytest.raises(ArgumentError, match="a decoder with another tracer"):
        generate_batch(model, prompts, 1, decoder=Decoder(model, 2), tracer=tracer)


def test_past_the_context_a_record_has_the_window(model):
    records, ids = traced(model, 7)
    assert len(records) == 7
    assert records[4].attention.shape == (2, 2, 7)
    assert records[5].attention.shape == (2, 2, 7, 7)
    np.testing.assert_allclose(records[6].attention, np.stack(twin(model, ids[2:9])["weights"]), atol=1e-6)
    with pytest.raises(ArgumentError, match="records that are not one text of 3 ids"):
        attention_matrix(records)


def test_no_record_of_an_end_and_none_before_it_is_asked_for(model):
    whole = traced(model)[1]
    records = []
    ids = generate(model, PROMPT, 4, greedy=True, end=whole[4], tracer=Tracer(records.append))
    assert len(records) == len(ids) - 3 < 4
    records = []
    added = stream(model, PROMPT, 4, tracer=Tracer(records.append))
    assert records == []
    next(added)
    assert len(records) == 1


def test_records_that_make_no_matrix(model):
    records, _ = traced(model)
    for wrong in ([], records[1:], traced(model, 1, attention=False)[0]):
        with pytest.raises(ArgumentError, match="from that of the prompt on"):
            attention_matrix(wrong)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": 0}, "top=0: it must be a whole number of at least 1"),
        ({"top": True}, "top=True"),
        ({"layers": -1}, "layers=-1: it must be a whole number of at least 0"),
        ({"layers": 1.0}, "layers=1.0"),
        ({"attention": "yes"}, "attention='yes': it must be True or False"),
        ({"receive": None}, "something to call with each record, got NoneType"),
    ],
)
def test_impossible_tracers_are_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        Tracer(**{"receive": print} | options)


def test_most_probable_ids_with_ties_by_id():
    logits = np.log([0.2, 0.3, 0.2, 0.3])
    assert [i for i, _ in top_probs(logits, 3)] == [1, 3, 0]
    np.testing.assert_allclose([share for _, share in top_probs(logits + 900, 9)], [0.3, 0.3, 0.2, 0.2])
    count = "n=0: it must be a whole number of at least 1"
    for bad, n, message in ((logits, 0, count), ([np.nan], 1, "NaN"), ([-np.inf], 1, "finite logit")):
        with pytest.raises(ArgumentError, match=message):
            top_probs(bad, n)


def test_the_end_of_a_config_is_where_texts_end_by_default():
    def made(end):
        found = GPT(GPTConfig(11, 7, 2, 2, 8, end=end), seed=4)
        found.load_state_dict({name: value * 4 for name, value in found.state_dict().items()})
        return found

    whole = generate(made(None), PROMPT, 4, greedy=True)
    end = whole[4]
    cut = whole[: whole.index(end, 3)]
    assert generate(made(end), PROMPT, 4, greedy=True) == cut
    assert generate_batch(made(end), [PROMPT], 4) == [cut]
    assert generate(made(end), PROMPT, 4, greedy=True, end=-1) == whole
    for wrong in (11, -1, True, 1.0):
        with pytest.raises(ArgumentError, match="end must be None or an id from 0 to 10"):
            GPTConfig(11, 7, 2, 2, 8, end=wrong)


def test_a_decoder_whose_prefill_failed_has_nothing_to_go_on_with(model):
    decoder = Decoder(model)
    wanted = decoder.prefill([PROMPT])
    with fnb.capture(), pytest.raises(MemoryModeError, match="while its step was being recorded"):
        decoder.prefill([[4]])
    assert decoder.lengths.tolist() == [0]
    with pytest.raises(ArgumentError, match="call prefill with the prompts first"):
        decoder.step([1])
    np.testing.assert_array_equal(decoder.prefill([PROMPT]), wanted)


def test_a_receiver_may_raise_or_write_over_its_record(model):
    def spoil(record):
        for array in (record.attention, record.embedding, record.hidden, *vars(record.layers[0]).values()):
            array[...] = np.nan
        record.shortlist.clear()

    wanted, tracer = generate_batch(model, [PROMPT, [4]], 3), Tracer(spoil, layers=1)
    decoder = Decoder(model, 2, tracer=tracer)
    assert generate_batch(model, [PROMPT, [4]], 3, decoder=decoder, tracer=tracer) == wanted
    tracer.receive = {}.__getitem__
    with pytest.raises(KeyError):
        generate_batch(model, [PROMPT, [4]], 3, decoder=decoder, tracer=tracer)
    tracer.receive = spoil
    assert generate_batch(model, [PROMPT, [4]], 3, decoder=decoder, tracer=tracer) == wanted
