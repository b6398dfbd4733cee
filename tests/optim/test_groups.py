"""Parameter groups, gradients that add up over parts of a batch, and both in routines."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import nn
from forgenb.errors import ArgumentError
from forgenb.optim import SGD, AdamW, Group


def parameter(value):
    p = fnb.Parameter(fnb.tensor(np.asarray(value, "float64")), decay=True)
    p.grad = fnb.tensor(np.ones(p.shape))
    return p


def test_a_group_has_its_own_rate_and_decay():
    plain, fast, bare = parameter([1.0]), parameter([1.0]), parameter([1.0])
    optimizer = SGD([plain, Group([("fast", fast)], lr=0.5), Group([bare], weight_decay=0.0)], 0.1, weight_decay=1.0)
    assert list(optimizer.params) == ["0", "fast", "2"]
    optimizer.step()
    assert [p.item() for p in (plain, fast, bare)] == pytest.approx([0.8, 0.0, 0.9])


def test_rates_may_be_set_between_steps():
    plain, own = parameter([1.0]), parameter([1.0])
    optimizer = SGD([plain, Group([own], lr=0.5)], 0.1)
    optimizer.lr, optimizer.groups[1].lr = 0.2, 0.25
    optimizer.step()
    assert [plain.item(), own.item()] == [0.8, 0.75]


def test_a_parameter_stands_in_one_group_only():
    p = parameter([1.0])
    with pytest.raises(ArgumentError, match="twice"):
        SGD([p, Group([p])], 0.1)
    with pytest.raises(ArgumentError, match="lr must be at least 0, got -1"):
        Group([p], lr=-1)
    with pytest.raises(ArgumentError, match="weight_decay must be at least 0, got -1"):
        Group([p], weight_decay=-1)


def problem():
    rng = np.random.default_rng(3)
    return rng.normal(size=(8, 3)), rng.normal(size=(8, 2))


def model():
    return nn.Linear(3, 2, seed=1, name="line", dtype="float64")


@pytest.mark.usefixtures("each_backend")
@pytest.mark.parametrize("part", [2, 3])
def test_gradients_of_parts_add_up_to_that_of_the_batch(part):
    """P63: the last part may be short, its mean counts by its own rows."""
    x, y = problem()
    whole, parts = model(), model()
    nn.MSELoss()(whole(fnb.tensor(x)), fnb.tensor(y)).backward()
    for i in range(0, 8, part):
        rows = fnb.tensor(x[i : i + part])
        (nn.MSELoss()(parts(rows), fnb.tensor(y[i : i + part])) * (len(rows) / 8)).backward()
    for one, other in zip(whole.parameters(), parts.parameters(), strict=True):
        np.testing.assert_allclose(one.grad.numpy(), other.grad.numpy(), rtol=1e-12)


def test_groups_accumulation_and_schedules_in_a_routine():
    """Bit-equal to the eager steps, with rates that change from run to run."""
    arrays = problem()

    def make():
        net = model()
        return net, AdamW([Group([net.weight], lr=0.1), net.bias], 0.01)

    def step(net, optimizer, x, y):
        optimizer.zero_grad()
        for i in range(0, 8, 4):
            loss = nn.MSELoss()(net(x[i : i + 4]), y[i : i + 4]) / 2.0
            loss.backward()
        fnb.optim.clip_grad_value(net.parameters(), 0.2)
        optimizer.step()
        return loss

    (eager, first), (recorded, second) = make(), make()
    compiled = fnb.compile(lambda x, y: step(recorded, second, x, y))
    for number in range(4):
        for optimizer in (first, second):
            optimizer.lr = fnb.optim.cosine(number, 4, 0.01)
            optimizer.groups[0].lr = fnb.optim.warmup(number, 3, 0.1)
        step(eager, first, *map(fnb.tensor, arrays))
        compiled(*map(fnb.tensor, arrays))
        for one, other in zip(eager.parameters(), recorded.parameters(), strict=True):
            assert one.numpy().tobytes() == other.numpy().tobytes()
