"""Convolutions, norms with statistics, recurrent layers, attention and containers: state, modes, messages."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import nn
from forgenb.errors import ArgumentError, CheckpointError, ShapeError


def x64(*shape):
    return fnb.tensor(np.random.default_rng(1).normal(size=shape))


def test_buffers_are_state_and_no_parameters():
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm(2))
    assert [name for name, _ in net.named_buffers()] == ["1.running_mean", "1.running_var"]
    assert list(net.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var"]
    assert len(net.parameters()) == 4
    net(fnb.tensor(np.random.default_rng(0).normal(size=(2, 1, 5, 5)).astype("float32")))
    other = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm(2))
    other.load_state_dict(net.state_dict())
    assert other[1].running_mean.tolist() == net[1].running_mean.tolist() != [0.0, 0.0]
    state = net.state_dict()
    del state["1.running_var"]
    with pytest.raises(CheckpointError, match="1.running_var is missing"):
        other.load_state_dict(state)


def test_buffers_move_with_their_module():
    net = nn.BatchNorm(2).to("python")
    assert net.running_mean.backend.name == net.weight.backend.name == "python"


def test_a_buffer_is_a_copy():
    source = fnb.tensor([1.0, 2.0])
    buffer = nn.Buffer(source)
    buffer[0] = 5.0
    assert source.tolist() == [1.0, 2.0]


def test_frozen_parameters_have_no_gradient_until_they_are_thawed():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    assert net[0].freeze() is net[0]
    net(fnb.tensor([[1.0, 2.0]])).sum().backward()
    assert [p.grad is None for p in net.parameters()] == [True, True, False, False]
    assert net.unfreeze() is net
    net(fnb.tensor([[1.0, 2.0]])).sum().backward()
    assert all(p.grad is not None for p in net.parameters())


def test_a_frozen_bias_costs_no_sum():
    def launches(freeze):
        line, x = nn.Linear(2, 2), fnb.tensor([[1.0, 2.0]], requires_grad=True)
        line.bias.requires_grad = not freeze
        y = line(x)
        before = fnb.stats()
        y.backward(fnb.tensor([[1.0, 1.0]]))
        assert (line.bias.grad is None, line.weight.grad is None, x.grad is None) == (freeze, False, False)
        return fnb.stats().since(before).launches

    assert launches(True) < launches(False)


def test_residual_and_flatten():
    assert nn.Residual(nn.ReLU())(fnb.tensor([-1.0, 2.0])).tolist() == [-1.0, 4.0]
    assert nn.Flatten()(x64(2, 3, 4)).shape == (2, 12)
    assert nn.Flatten()(x64(0, 3, 4)).shape == (0, 0)
    with pytest.raises(ArgumentError, match="Residual holds a module, got function"):
        nn.Residual(lambda x: x)


@pytest.mark.parametrize(
    ("layer", "op"),
    [
        (nn.ReLU(), "relu"),
        (nn.GELU(), "gelu"),
        (nn.LeakyReLU(), "leaky_relu"),
        (nn.ELU(), "elu"),
        (nn.SiLU(), "silu"),
        (nn.Softplus(), "softplus"),
        (nn.LogSigmoid(), "logsigmoid"),
        (nn.Tanh(), "tanh"),
        (nn.Sigmoid(), "sigmoid"),
        (nn.Softmax(), "softmax"),
        (nn.LogSoftmax(), "log_softmax"),
    ],
)
def test_activations_are_the_ops(layer, op):
    x = x64(3, 4)
    assert layer(x).numpy().tobytes() == getattr(fnb.ops, op)(x).numpy().tobytes()


def test_activations_hand_on_their_settings():
    x = x64(3, 4)
    assert nn.LeakyReLU(0.3)(x).tolist() == fnb.ops.leaky_relu(x, 0.3).tolist() != fnb.ops.leaky_relu(x).tolist()
    assert nn.GELU(exact=True)(x).tolist() == fnb.ops.gelu_erf(x).tolist() != fnb.ops.gelu(x).tolist()
    assert nn.ELU(0.3)(x).tolist() == fnb.ops.elu(x, 0.3).tolist() != fnb.ops.elu(x).tolist()


def test_plain_losses_are_the_ops():
    x, targets = x64(3, 4), [0, 1, 3]
    chances = fnb.tensor(np.full((3, 4), 0.25))
    assert nn.BCEWithLogitsLoss()(x, chances).item() == fnb.ops.bce_with_logits(x, chances).item()
    assert nn.CrossEntropyLoss()(x, targets).item() == fnb.ops.cross_entropy(x, targets).item()


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_a_recurrent_layer_goes_on_from_its_state(kind):
    layer = kind(3, 4, 2, dtype="float64")
    x = x64(2, 6, 3)
    whole, end = layer(x)
    first, state = layer(x[:, :2])
    second, final = layer(x[:, 2:], state)
    np.testing.assert_allclose(np.concatenate([first.numpy(), second.numpy()], 1), whole.numpy(), rtol=1e-12)
    ends, finals = (s if kind is nn.LSTM else (s,) for s in (end, final))
    for one, other in zip(ends, finals, strict=True):
        assert one.shape == (2, 2, 4)
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12)


def test_a_recurrent_layer_drops_between_layers_in_training_only():
    layer = nn.LSTM(3, 4, 2, dropout=0.5, dtype="float64")
    x = x64(2, 3, 3)
    assert not np.array_equal(layer(x)[0].numpy(), layer(x)[0].numpy())
    layer.eval()
    np.testing.assert_array_equal(layer(x)[0].numpy(), layer(x)[0].numpy())


def test_a_recurrent_layer_without_biases():
    layer = nn.GRU(3, 4, bias=False)
    assert [name for name, _ in layer.named_parameters()] == ["cells.0.weight_input", "cells.0.weight_hidden"]
    assert layer(fnb.tensor(np.zeros((1, 2, 3), "float32")))[0].numpy().tolist() == np.zeros((1, 2, 4)).tolist()


def test_attention_over_a_memory_and_by_place():
    layer = nn.MultiHeadAttention(8, 2, rotary=True, dtype="float64")
    assert layer(x64(2, 3, 8), x64(2, 5, 8)).shape == (2, 3, 8)
    x = x64(1, 4, 8)
    turned = fnb.tensor(np.flip(x.numpy(), 1).copy())
    assert not np.allclose(layer(x).numpy(), np.flip(layer(turned).numpy(), 1))
    layer.rotary = False
    np.testing.assert_allclose(layer(x).numpy(), np.flip(layer(turned).numpy(), 1), rtol=1e-9)


@pytest.mark.parametrize("rotary", [False, True])
def test_fused_and_unfused_attention_agree(rotary):
    layer = nn.MultiHeadAttention(8, 2, causal=True, rotary=rotary, seed=3)
    found = []
    for weights in (False, True):
        x = fnb.tensor(np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32"), requires_grad=True)
        for p in layer.parameters():
            p.grad = None
        with fnb.Tape() as tape:
            y = layer(x, weights=weights)
            y, shares = y if weights else (y, None)
            (y * y).sum().backward()
        assert (" attention " in str(tape)) is not weights
        found.append([y, x.grad, *(p.grad for p in layer.parameters())])
    for fused, unfused in zip(*found, strict=True):
        np.testing.assert_allclose(fused.numpy(), unfused.numpy(), rtol=1e-5, atol=1e-5)
    assert shares.shape == (2, 2, 5, 5)
    np.testing.assert_allclose(shares.numpy().sum(-1), 1, rtol=1e-6)
    assert not np.triu(shares.numpy(), 1).any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.Conv2d(0, 1, 3), "Conv2d needs sizes of at least 1"),
        (lambda: nn.Conv1d(3, 4, 3, groups=2), "groups that divide both channels, got c_in=3"),
        (lambda: nn.BatchNorm(2, momentum=2.0), "momentum from 0 to 1, got c=2"),
        (lambda: nn.BatchNorm(0), "at least one channel"),
        (lambda: nn.GroupNorm(2, 3), "groups=2, c=3"),
        (lambda: nn.RMSNorm(0), "RMSNorm needs a size of at least 1"),
        (lambda: nn.LayerNorm(()), "sizes? of at least 1"),
        (lambda: nn.LSTM(3, 0), "LSTM needs sizes of at least 1"),
        (lambda: nn.MultiHeadAttention(6, 4), "heads that divide the width"),
        (lambda: nn.MultiHeadAttention(6, 2, rotary=True), "into an even number where rotary"),
    ],
)
def test_impossible_layers_are_refused(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_inputs_and_states_that_do_not_fit_are_refused():
    layer = nn.LSTM(3, 4, 2, dtype="float64")
    with pytest.raises(ShapeError, match=r"LSTM got shape \(2, 3\)"):
        layer(x64(2, 3))
    with pytest.raises(ShapeError, match=r"it needs 2 of \(2, 2, 4\)"):
        layer(x64(2, 5, 3), (x64(2, 1, 4), x64(2, 2, 4)))
    with pytest.raises(NotImplementedError, match="Own defines no step"):
        type("Own", (type(layer).__mro__[1],), {})(3, 4, dtype="float64")(x64(1, 1, 3))


# Initial values

DRAWS = {
    "xavier_normal": (6 / 40) ** 0.5 / 3**0.5,
    "xavier_uniform": (2 / 40) ** 0.5,
    "kaiming_normal": (2 / 30) ** 0.5,
    "kaiming_uniform": (2 / 30) ** 0.5,
}


@pytest.mark.parametrize(("name", "std"), DRAWS.items())
def test_initial_values_have_their_spread(name, std):
    draw = getattr(nn.init, name)
    p = draw("w", (30, 10), 1, "float64", None)
    assert p.numpy().std() == pytest.approx(std, rel=0.1)
    twice = draw("w", (30, 10), 1, "float64", None, gain=2 * (2**0.5 if "kaiming" in name else 1))
    np.testing.assert_allclose(twice.numpy(), 2 * p.numpy(), rtol=1e-12)
    assert draw("v", (30, 10), 1, "float64", None).tolist() != p.tolist()


def test_uniform_values_stay_within_their_bound():
    values = nn.init.uniform("w", (1000,), 0.3, 2, "float64", None).numpy()
    assert -0.3 <= values.min() < -0.29 < 0.29 < values.max() < 0.3


def test_fans_of_matrices_and_of_convolutions():
    assert nn.init.fans((3, 5)) == (3, 5)
    assert nn.init.fans((6, 2, 3, 3)) == (18, 54)
    with pytest.raises(ArgumentError, match="at least two axes"):
        nn.init.fans((3,))


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (3, 2, 2, 2)])
def test_orthogonal_matrices(shape):
    m = nn.init.orthogonal("w", shape, 1, "float64", None, gain=2.0).numpy().reshape(shape[0], -1)
    product = m @ m.T if m.shape[0] < m.shape[1] else m.T @ m
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-12)
