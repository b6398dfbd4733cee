"""A council with caches: its logits, what it reports, and generating with it."""

import numpy as np
import pytest
from support.experts import expert, plain

import forgenb as fnb
from forgenb.errors import ArgumentError
from forgenb.models import Council, CouncilDecoder, Decoder, Sampler, generate, generate_batch, stream


@pytest.fixture(scope="module")
def council():
    return Council([expert(seed) for seed in (1, 2, 3)])


def answer(council, ids):
    with fnb.no_grad():
        return council(np.array([ids])).numpy()[0, -1]


def test_logits_are_those_of_the_council(council):
    decoder, rows = CouncilDecoder(council, 2), [[1, 5], [2]]
    found = decoder.prefill(rows)
    for ids in ([6, 3], [0, 1], [4, 4]):
        np.testing.assert_allclose(found, [answer(council, row) for row in rows], atol=1e-5)
        found, rows = decoder.step(ids), [[*row, i] for row, i in zip(rows, ids)]
    np.testing.assert_allclose(found, [answer(council, row) for row in rows], atol=1e-5)
    assert decoder.lengths.tolist() == [5, 4]
    assert (decoder.batch, decoder.capacity) == (2, 6)
    decoder.release(0)
    assert decoder.lengths.tolist() == [0, 4]
    np.testing.assert_allclose(decoder.step([0, 3])[1], answer(council, [*rows[1], 3]), atol=1e-5)


def test_a_council_of_one_has_the_bits_of_its_expert(council):
    model = council.members[1]
    alone, wanted = CouncilDecoder(Council([model])), Decoder(model)
    np.testing.assert_array_equal(alone.prefill([[1, 5]]), wanted.prefill([[1, 5]]))
    for i in (2, 6, 0):
        np.testing.assert_array_equal(alone.step([i]), wanted.step([i]))


def test_a_report_is_about_the_last_answer(council):
    decoder, ids = CouncilDecoder(council), [1, 5, 2]
    for read, given in ((decoder.prefill, [ids[:2]]), (decoder.step, ids[2:])):
        read(given)
        told = decoder.report(3)
        known = np.array(ids[: decoder.lengths[0]])
        weights, entropies, logs = (x[-1] for x in plain(council.members, 2, known))
        np.testing.assert_allclose(told.weights, [weights], atol=1e-5)
        np.testing.assert_allclose(told.entropies, [entropies], atol=1e-5)
        assert told.candidates.shape == told.probabilities.shape == (1, 3, 3)
        for number, model in enumerate(council.members):
            own = np.exp(plain([model], 2, known)[2][-1])
            np.testing.assert_array_equal(told.candidates[0, number], np.argsort(-own)[:3])
            np.testing.assert_allclose(told.probabilities[0, number], -np.sort(-own)[:3], rtol=1e-4)
        np.testing.assert_array_equal(told.consensus[0], np.argsort(-logs)[:3])
        np.testing.assert_allclose(told.consensus_probabilities[0], -np.sort(-np.exp(logs))[:3], rtol=1e-4)
    before = told.weights.copy()
    decoder.step([0])
    np.testing.assert_array_equal(told.weights, before)
    assert decoder.report(99).consensus.shape == (1, 7)
    assert decoder.report(0).candidates.shape == (1, 3, 1)
    assert decoder.report().consensus.shape == (1, 5)


def test_generating_goes_on_past_the_context_and_has_the_samplers(council):
    ids = [1, 5]
    for _ in range(8):
        ids.append(int(np.argmax(answer(council, ids[-6:]))))
    assert generate(council, [1, 5], 8, greedy=True) == ids
    assert generate(council, [1, 5], 8, greedy=True) != generate(council.members[0], [1, 5], 8, greedy=True)
    drawn = generate(council, [1, 5], 5, seed=3, top_k=4)
    assert [1, 5, *stream(council, [1, 5], 5, seed=3, top_k=4)] == drawn
    told = []
    decoder = CouncilDecoder(council, 2)
    batch = generate_batch(
        council,
        [[1, 5], [3]],
        4,
        [Sampler(seed=3, top_k=4), Sampler(seed=3, stream=1)],
        decoder=decoder,
        on_id=lambda row, chosen: told.append((row, chosen, decoder.report(7).consensus[row])),
    )
    assert batch[0] == drawn[:6]
    assert [chosen for row, chosen, _ in told if row == 0] == drawn[2:6]
    assert all(chosen in consensus[:4] for row, chosen, consensus in told if row == 0)


def test_refusals(council):
    with pytest.raises(ArgumentError, match="CouncilDecoder needs a Council, got GPT"):
        CouncilDecoder(council.members[0])
    decoder = CouncilDecoder(council)
    with pytest.raises(ArgumentError, match="report has nothing to tell: call prefill"):
        decoder.report()
    with pytest.raises(ArgumentError, match="has no sequence to go on with"):
        decoder.step([1])
    decoder.prefill([[1]])
    with pytest.raises(ArgumentError, match="number of candidates got top=1.5"):
        decoder.report(1.5)
    with pytest.raises(ArgumentError, match="capacity=7: the model's context is 6"):
        CouncilDecoder(council, capacity=7)
    with pytest.raises(ArgumentError, match=r"of another model: make one with CouncilDecoder\(model, 1\)"):
        generate_batch(council.members[0], [[1]], 1, decoder=decoder)
