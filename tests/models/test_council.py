"""Councils: how experts are weighed and merged, and which experts cannot sit together."""

import numpy as np
import pytest
from support import plain_gpt
from support.experts import expert, plain

import forgenb as fnb
from forgenb.errors import ArgumentError
from forgenb.models import Council, surprisal

IDS = np.array([1, 5, 2, 6])


@pytest.fixture(scope="module")
def experts():
    return [expert(seed) for seed in (1, 2, 3)]


@pytest.mark.parametrize("beta", [0, 2.0, 30])
def test_weights_entropies_and_logits(experts, beta):
    council = Council(experts, beta)
    weights, entropies, logs = plain(experts, beta, IDS)
    found = council.opinion(IDS[None])
    np.testing.assert_allclose(found.weights.numpy()[0], weights, atol=1e-5)
    np.testing.assert_allclose(found.entropies.numpy()[0], entropies, atol=1e-5)
    logits = council(IDS[None]).numpy()
    np.testing.assert_allclose(plain_gpt.log_softmax(logits[0]), logs, atol=1e-4)
    np.testing.assert_array_equal(council.head(council.hidden(IDS[None])).numpy(), logits)
    for own, model in zip(found.logs, experts):
        np.testing.assert_allclose(own.numpy()[0], plain_gpt.logs(model, IDS), atol=1e-4)


def test_the_default_beta_is_two_and_zero_is_uniform(experts):
    assert Council(experts).beta == 2
    uniform = Council(experts, 0).opinion(IDS[None]).weights.numpy()
    np.testing.assert_allclose(uniform, 1 / 3, atol=1e-6)
    assert np.ptp(Council(experts).opinion(IDS[None]).weights.numpy()) > 1e-2


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_council_of_one_has_the_bits_of_the_model(dtype):
    model = expert(2, dtype)
    found = Council([model])(IDS[None])
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.numpy(), model(IDS[None]).numpy())


def test_the_order_of_experts_does_not_matter(experts):
    wanted = Council(experts)(IDS[None]).numpy()
    np.testing.assert_allclose(Council(experts[::-1])(IDS[None]).numpy(), wanted, atol=1e-5)
    assert np.abs(Council(experts[:2])(IDS[None]).numpy() - wanted).max() > 1e-3


def test_a_council_judges_texts_as_its_logits_say(experts):
    _, _, logs = plain(experts, 2, IDS[:-1])
    found = surprisal(Council(experts), IDS)
    np.testing.assert_allclose(found.bits[1:], -logs[np.arange(3), IDS[1:]] / np.log(2), atol=1e-4)


@pytest.mark.usefixtures("each_backend")
def test_each_backend():
    pair = [expert(seed, layers=1, heads=1, width=4, vocab=3, context=2) for seed in (1, 2)]
    _, _, logs = plain(pair, 2, IDS[:1])
    np.testing.assert_allclose(plain_gpt.log_softmax(Council(pair)(IDS[None, :1]).numpy()[0]), logs, atol=1e-4)


@pytest.mark.parametrize("name", ["wte.weight", "wpe.weight"])
def test_experts_without_the_same_bits_are_refused(experts, name):
    other = expert(2)
    state = other.state_dict()
    state[name][3, 2] = np.nextafter(state[name][3, 2], np.float32(9))
    other.load_state_dict(state)
    message = rf"{name} of expert 2 differs from that of expert 0 in 1 of \d+ numbers, first at \(3, 2\)"
    with pytest.raises(ArgumentError, match=message):
        Council([experts[0], experts[1], other])


def test_the_sign_of_zero_is_a_bit(experts):
    first, other = expert(1), expert(2)
    for model, zero in ((first, 0.0), (other, -0.0)):
        state = model.state_dict()
        state["wte.weight"][0, 0] = zero
        model.load_state_dict(state)
    with pytest.raises(ArgumentError, match=r"wte.weight of expert 1 differs .* first at \(0, 0\)"):
        Council([first, other])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layers": 2}, "0 and 1 have layers 1 and 2"),
        ({"heads": 1, "context": 5}, "context 6 and 5, heads 2 and 1"),
        ({"dtype": "float64"}, "wte.weight is float32 on cpu in expert 0, and float64 on cpu in expert 1"),
    ],
)
def test_experts_of_another_shape_are_refused(experts, changes, message):
    with pytest.raises(ArgumentError, match=message):
        Council([experts[0], expert(2, **changes)])


def test_rates_of_dropout_may_differ(experts):
    assert Council([experts[0], expert(2, dropout=0.5)]).config is experts[0].config


def test_another_backend_is_refused(experts):
    with pytest.raises(ArgumentError, match="on cpu in expert 0, and float32 on python in expert 1"):
        Council([experts[0], expert(2).to("python")])


@pytest.mark.parametrize(
    ("models", "beta", "message"),
    [
        ([], 2, r"at least one GPT and nothing else, got \[\]"),
        (["a"], 2, r"got \[str\]"),
        (None, -1, "a finite beta of at least 0, got -1"),
        (None, float("inf"), "got inf"),
        (None, float("nan"), "got nan"),
        (None, True, "got True"),
        (None, "2", "got '2'"),
    ],
)
def test_impossible_councils_are_refused(experts, models, beta, message):
    with pytest.raises(ArgumentError, match=message):
        Council(experts if models is None else models, beta)


def test_its_parameters_are_those_of_the_experts(experts):
    council = Council(experts)
    assert council.members == experts
    names = [name for name, _ in council.named_parameters()]
    assert names[0] == "experts.0.wte.weight"
    assert len(names) == 3 * len(list(experts[0].named_parameters()))
    with fnb.no_grad():
        assert council(IDS[None]).shape == (1, 4, 7)
