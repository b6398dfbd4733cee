"""The decoder: the logits of the model, one id at a time and several sequences side by side."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError, DTypeError, IndexRangeError
from forgenb.models import GPT, Decoder, GPTConfig


def model_of(dtype="float32", context=70, layers=2, width=16, **more):
    model = GPT(GPTConfig(13, context, layers, 2, width, **more), seed=4, dtype=dtype)
    model.load_state_dict({name: value * 4 for name, value in model.state_dict().items()})
    return model


def last_logits(model, ids):
    model.eval()
    with fnb.no_grad():
        return model(np.array([ids])).numpy()[0, -1]


@pytest.mark.parametrize(("dtype", "atol"), [("float32", 1e-5), ("float64", 1e-10)])
def test_64_greedy_ids_and_their_logits_are_those_without_a_cache(dtype, atol):
    model, ids = model_of(dtype), [1, 2, 3]
    decoder = Decoder(model)
    logits = decoder.prefill([ids])
    assert decoder.routine is None
    for _ in range(64):
        wanted = last_logits(model, ids)
        np.testing.assert_allclose(logits[0], wanted, atol=atol, rtol=0)
        assert int(np.argmax(logits[0])) == int(np.argmax(wanted))
        ids.append(int(np.argmax(wanted)))
        logits = decoder.step(ids[-1:])
    assert decoder.lengths.tolist() == [67]
    ((routine, _, _),) = decoder._run.routines.values()
    assert decoder.routine is routine


@pytest.mark.usefixtures("each_backend")
def test_sequences_of_different_lengths_on_each_backend():
    model, rows = model_of(context=6, layers=1, width=4), [[1], [2, 3, 4, 5, 6], [7, 8]]
    decoder = Decoder(model, 3, 6)
    logits = decoder.prefill(rows)
    for _ in range(2):
        for row, found in zip(rows, logits):
            np.testing.assert_allclose(found, last_logits(model, row), atol=1e-5, rtol=0)
        if max(map(len, rows)) == 6:
            break
        rows = [[*row, int(np.argmax(found))] for row, found in zip(rows, logits)]
        logits = decoder.step([row[-1] for row in rows])


@pytest.mark.parametrize(("width", "heads"), [(16, 2), (32, 4), (48, 3), (10, 5)])
def test_prompts_of_any_length_and_width_are_read(width, heads):
    """No place of a row need be a multiple of anything: neither 256 bytes nor 64 numbers."""
    model = GPT(GPTConfig(13, 9, 1, heads, width), seed=4)
    model.load_state_dict({name: value * 4 for name, value in model.state_dict().items()})
    for length in range(1, 9):
        ids, decoder = [(5 * i + length) % 13 for i in range(length)], Decoder(model)
        np.testing.assert_allclose(decoder.prefill([ids])[0], last_logits(model, ids), atol=1e-5, rtol=0)
        np.testing.assert_allclose(decoder.step([7])[0], last_logits(model, [*ids, 7]), atol=1e-5, rtol=0)


def test_a_batch_has_the_bits_of_its_rows():
    model, rows = model_of(), [[1, 2, 3], [4], [5, 6]]
    batch, alone = Decoder(model, 3), [Decoder(model) for _ in rows]
    found = [batch.prefill(rows)]
    wanted = [[d.prefill([row])[0] for d, row in zip(alone, rows)]]
    for ids in ([7, 8, 9], [1, 1, 1]):
        found.append(batch.step(ids))
        wanted.append([d.step([i])[0] for d, i in zip(alone, ids)])
    np.testing.assert_allclose(found, wanted, atol=1e-6, rtol=0)


def test_mode_dropout_gradients_and_the_tape_are_left_alone():
    model = model_of(dropout=0.5)
    model.h[0].eval()
    decoder = Decoder(model)
    with fnb.Tape() as tape:
        found = [decoder.prefill([[1, 2]]), decoder.step([3])]
    assert len(tape) == 0
    assert (model.training, model.h[0].training) == (True, False)
    np.testing.assert_allclose(found[0][0], last_logits(model, [1, 2]), atol=1e-5)
    np.testing.assert_allclose(found[1][0], last_logits(model, [1, 2, 3]), atol=1e-5)


def test_parameters_are_read_anew_and_logits_are_copies():
    model = model_of()
    decoder = Decoder(model)
    before = decoder.prefill([[1, 2]])[0], decoder.step([3])[0]
    kept = before[1].copy()
    model.load_state_dict({name: value * 0.5 for name, value in model.state_dict().items()})
    decoder.prefill([[1, 2]])
    after = decoder.step([3])[0]
    np.testing.assert_allclose(after, last_logits(model, [1, 2, 3]), atol=1e-5)
    assert np.abs(after - before[1]).max() > 1e-2
    np.testing.assert_array_equal(before[1], kept)


def test_a_released_sequence_leaves_the_others_alone():
    model, decoder = model_of(), Decoder(model_of(), 2)
    decoder.prefill([[1, 2], [3, 4, 5]])
    decoder.release(1)
    assert decoder.lengths.tolist() == [2, 0]
    for ids in ([6, -1], [7, 99]):
        logits = decoder.step(ids)
    np.testing.assert_allclose(logits[0], last_logits(model, [1, 2, 6, 7]), atol=1e-5)
    assert decoder.lengths.tolist() == [4, 0]
    decoder.release(0)
    with pytest.raises(ArgumentError, match="step has no sequence to go on with"):
        decoder.step([1, 1])


@pytest.mark.parametrize("row", [-1, 2, 0.5])
def test_a_sequence_that_is_not_there_is_not_released(row):
    decoder = Decoder(model_of(), 2)
    decoder.prefill([[1], [2, 3]])
    with pytest.raises(ArgumentError, match=f"release got row.*{row}"):
        decoder.release(row)
    assert decoder.lengths.tolist() == [1, 2]


def test_caches_have_the_shape_and_dtype_of_the_model():
    decoder = Decoder(model_of("float64"), 3, 9)
    assert [t.shape for t in decoder.keys + decoder.values] == [(6, 9, 8)] * 4
    assert decoder.keys[0].dtype == np.float64


def test_a_full_sequence_is_refused_and_so_are_longer_prompts():
    decoder = Decoder(model_of(), 2, 4)
    decoder.prefill([[1, 2, 3], [1]])
    decoder.step([4, 4])
    with pytest.raises(ArgumentError, match="sequence 0 has 4 ids, as many as the cache holds"):
        decoder.step([5, 5])
    decoder.release(0)
    decoder.step([5, 5])
    with pytest.raises(ArgumentError, match="prompt 1 of 5 ids: each must have 1 to 4"):
        decoder.prefill([[1], [1] * 5])
    with pytest.raises(ArgumentError, match="prompt 0 of 0 ids"):
        decoder.prefill([[], [1]])
    with pytest.raises(ArgumentError, match="got 1 prompts"):
        decoder.prefill([[1]])


def test_wrong_ids_are_refused():
    decoder = Decoder(model_of())
    with pytest.raises(ArgumentError, match="call prefill"):
        decoder.step([1])
    with pytest.raises(IndexRangeError, match="13"):
        decoder.prefill([[1, 13]])
    decoder.prefill([[1]])
    for _ in range(2):
        with pytest.raises(IndexRangeError, match="-1"):
            decoder.step([-1])
    with pytest.raises(ArgumentError, match=r"ids of shape \(2,\)"):
        decoder.step([1, 2])
    with pytest.raises(DTypeError, match="must be integers, got dtype float64"):
        decoder.step([1.5])
    assert decoder.lengths.tolist() == [1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch": 0}, "batch=0: it must be a whole number of at least 1"),
        ({"batch": True}, "batch=True"),
        ({"capacity": 71}, "capacity=71: the model's context is 70"),
        ({"capacity": 2.0}, "capacity=2.0"),
        ({"tracer": print}, "a Tracer or None, got GPT and builtin_function"),
    ],
)
def test_impossible_sizes_are_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        Decoder(model_of(), **options)


def test_the_stream_and_logits_of_the_last_call_are_there():
    model = model_of()
    decoder = Decoder(model, 2)
    for read, ids in ((decoder.prefill, [[1, 2], [3]]), (decoder.step, [4, 5])):
        found = read(ids)
        assert decoder.hidden.shape == (2, 16)
        np.testing.assert_array_equal(decoder.logits.numpy(), found)
        with fnb.no_grad():
            np.testing.assert_array_equal(model.head(decoder.hidden).numpy(), found)
