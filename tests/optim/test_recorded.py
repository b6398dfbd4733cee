"""A recorded step follows its optimiser's state: loaded anew, or of parameters that were frozen for a while."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import nn, optim
from forgenb.backend import Stream
from forgenb.train import AccumulatedStep, ShardedStep, TrainStep
from forgenb.train.distributed import DistributedStep, World

X, Y = np.linspace(-1, 1, 8, dtype="float32").reshape(4, 2), np.ones((4, 1), "float32")


class Two(nn.Module):
    """Two layers."""

    def __init__(self):
        self.a, self.b = nn.Linear(2, 2, seed=1, name="a"), nn.Linear(2, 1, seed=1, name="b")

    def loss(self, x, y):
        return ((self.b(self.a(x)) - y) ** 2.0).mean()


class Alone(World):
    """One process without any others, whose sums are what it has."""

    def __init__(self):
        self.comm, self.rank, self.size = None, 0, 1

    def begin_sum(self, array):
        return self

    def Test(self):
        return True

    Wait = sum = Test

    def total(self, number):
        return number


def eager(model, optimizer):
    return TrainStep(model, optimizer, clip_norm=0.5, eager=True)


def compiled(model, optimizer):
    return TrainStep(model, optimizer, clip_norm=0.5)


def parts(model, optimizer):
    return AccumulatedStep(model, optimizer, 0.5, 1)


def after(make, between):
    """Losses, parameters and state after seven steps; `between` is told the number of each step before it."""
    model = Two()
    optimizer = optim.AdamW(model.named_parameters(), lr=0.1)
    step, losses = make(model, optimizer), []
    for number in range(7):
        between(number, model, optimizer)
        losses.append(float(step(X, Y)[0]))
    return losses, *({name: array.tobytes() for name, array in of.state_dict().items()} for of in (model, optimizer))


def rest(number, model, optimizer):
    for p in model.a.parameters():
        p.requires_grad = number not in (1, 4)


@pytest.mark.parametrize("make", [compiled, parts])
def test_a_parameter_that_rested_has_a_count_of_its_own(make):
    assert after(make, rest) == after(eager, rest)


def test_so_it_has_where_a_batch_is_shared_out():
    stream = Stream("cpu")
    try:
        assert after(lambda model, optimizer: ShardedStep(model, optimizer, 0.5, [stream]), rest) == after(eager, rest)
    finally:
        stream.close()
    found = after(lambda model, optimizer: DistributedStep(model, optimizer, 0.5, Alone(), 4), rest)
    assert found == after(eager, rest)


@pytest.mark.parametrize("change", ["all", "one", "none", "uneven"])
@pytest.mark.parametrize("make", [compiled, parts])
def test_a_state_that_is_loaded_is_the_one_that_is_used(make, change):
    saved = {}

    def load(number, model, optimizer):
        if number == 2:
            saved.update(optimizer.state_dict())
        if number == 4:
            state = {name: v for name, v in saved.items() if change != "one" or "a.weight" not in name}
            if change == "uneven":
                state["count/a.weight"] = np.array(1)
            optimizer.load_state_dict({"step": np.array(0)} if change == "none" else state)

    assert after(make, load) == after(eager, load)


def test_a_state_that_is_loaded_is_written_where_the_old_one_was():
    model = Two()
    optimizer = optim.SGD(model.named_parameters(), lr=0.1, momentum=0.9)
    step = eager(model, optimizer)
    step(X, Y)
    state = optimizer.state_dict()
    step(X, Y)
    with fnb.peak_memory() as peak:
        optimizer.load_state_dict({name: v for name, v in state.items() if "b.bias" not in name})
    assert peak.nbytes <= 2 * max(p.numpy().nbytes for p in model.parameters())
    found = optimizer.state_dict()
    assert [name for name in state if "b.bias" in name and name in found] == []
    assert all(found[name].tobytes() == state[name].tobytes() for name in found)
