"""Modules: order of parameters, modes, state."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import nn
from forgenb.errors import ArgumentError, CheckpointError, ShapeError


class Net(nn.Module):
    def __init__(self):
        self.second = nn.Linear(2, 3, name="second")
        self.blocks = nn.ModuleList([nn.LayerNorm(3), nn.LayerNorm(3)])
        self.gain = fnb.Parameter(fnb.tensor([1.0]))
        self.first = nn.Linear(3, 1, bias=False, name="first")

    def forward(self, x):
        x = self.second(x) * self.gain
        for block in self.blocks:
            x = block(x)
        return self.first(x)


NAMES = [
    "second.weight",
    "second.bias",
    "blocks.0.weight",
    "blocks.0.bias",
    "blocks.1.weight",
    "blocks.1.bias",
    "gain",
    "first.weight",
]


def test_parameters_come_in_the_order_of_assignment():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == NAMES
    assert [id(p) for p in net.parameters()] == [id(p) for _, p in net.named_parameters()]
    assert net(fnb.tensor(np.ones((4, 2), np.float32))).shape == (4, 1)


def test_a_parameter_in_two_places_is_listed_once():
    net = Net()
    net.tied = net.first.weight
    net.again = net.second
    assert [name for name, _ in net.named_parameters()] == NAMES


def test_modes_reach_every_module():
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Dropout(0.5)))
    assert net.eval() is net
    assert not any(module.training for module in net.modules())
    assert net.train()[1][0].training


def test_zero_grad_clears_all_but_frozen_parameters():
    net = Net()
    net.gain.requires_grad = False
    net(fnb.tensor(np.ones((4, 2), np.float32))).sum().backward()
    assert net.first.weight.grad is not None
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())


@pytest.mark.usefixtures("each_backend")
def test_two_backward_passes_add_up_for_every_parameter():
    """P67: no rule overwrites."""
    net = Net()
    rng = np.random.default_rng(3)
    batches = [fnb.tensor(rng.normal(size=(4, 2)).astype(np.float32)) for _ in range(2)]
    single = []
    for batch in batches:
        net.zero_grad()
        (net(batch) * net(batch)).sum().backward()
        single.append([p.grad.numpy().copy() for p in net.parameters()])
    net.zero_grad()
    for batch in batches:
        (net(batch) * net(batch)).sum().backward()
    for p, one, two in zip(net.parameters(), *single):
        np.testing.assert_array_equal(p.grad.numpy(), one + two)


def test_state_round_trips_in_place():
    net, other = Net(), Net()
    with fnb.no_grad():
        other.gain.add_in_place(other.gain.copy())
    memory, version = net.gain.memory, net.gain.memory.version
    state = other.state_dict()
    assert list(state) == NAMES
    net.load_state_dict(state)
    assert all(a.numpy().tobytes() == b.numpy().tobytes() for a, b in zip(net.parameters(), other.parameters()))
    assert net.gain.memory is memory
    assert net.gain.memory.version > version
    state["gain"][:] = 7
    assert other.gain.item() == 2.0


def test_parameters_of_another_module_can_be_loaded():
    net, other = Net(), Net()
    with fnb.no_grad():
        other.gain.assign_(3.0)
    net.load_state_dict(dict(other.named_parameters()))
    assert net.gain.item() == 3


def test_a_load_between_forward_and_backward_is_noticed():
    net = Net()
    out = net(fnb.tensor(np.ones((4, 2), np.float32))).sum()
    net.load_state_dict(net.state_dict())
    with pytest.raises(fnb.errors.TapeError, match="changed in place"):
        out.backward()


@pytest.mark.usefixtures("each_backend")
def test_a_state_that_does_not_fit_is_refused_whole():
    """P26."""
    net = Net()
    before = net.state_dict()
    state = net.state_dict()
    state["second.bias"] = np.zeros((1, 3), np.float32)
    state["second.weight"] = state["second.weight"] + 1
    with pytest.raises(ShapeError, match=r"second.bias has shape \(1, 3\), needed is \(3,\)"):
        net.load_state_dict(state)
    state["extra"] = state.pop("gain")
    state["first.weight"] = state["first.weight"].astype(np.float64)
    with pytest.raises(CheckpointError) as caught:
        net.load_state_dict(state)
    for part in ("gain is missing", "extra is unknown", "dtype float64, needed is float32", "shape (1, 3)"):
        assert part in str(caught.value)
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


def test_a_module_without_a_forward_and_a_list_of_other_things_are_refused():
    with pytest.raises(NotImplementedError, match="Module defines no forward"):
        nn.Module()(1.0)
    with pytest.raises(ArgumentError, match="Sequential holds modules, got float"):
        nn.Sequential(1.0)


def test_a_parameter_is_made_of_a_tensor():
    with pytest.raises(ArgumentError, match=r"Parameter needs a tensor, got ndarray: make one with fnb\.tensor"):
        fnb.Parameter(np.ones(2))
