"""What a step takes op by op: found while it is recorded, and measured while it runs so. The two are equal."""

import numpy as np
import pytest
from support.tiny_gpt import CONFIG

import forgenb as fnb
from forgenb.routine.eager import EagerMemory


def network():
    r = np.random.default_rng(0)
    weights = [fnb.Parameter(fnb.tensor(r.normal(size=s).astype("f4"))) for s in ((8, 32), (32, 1))]
    optimizer = fnb.optim.SGD(weights, lr=0.1, momentum=0.9)

    def step(x):
        optimizer.zero_grad()
        h = fnb.ops.tanh(x @ weights[0])
        loss = ((h @ weights[1]) ** 2.0).mean() + fnb.tensor(np.ones(256, "f4")).mean()
        loss.backward()
        optimizer.step()
        return loss

    return step, fnb.tensor(r.normal(size=(64, 8)).astype("f4"))


def gpt():
    model = fnb.models.GPT(fnb.models.GPTConfig(**CONFIG, dropout=0.1), seed=0)
    optimizer = fnb.optim.AdamW(model.named_parameters(), lr=1e-2)
    ids = fnb.tensor(np.arange(8).reshape(2, 4))

    def step(x):
        optimizer.zero_grad()
        loss = model.loss(ids, x)
        loss.backward()
        optimizer.step(clip_norm=1.0)
        return loss

    return step, ids


@pytest.mark.parametrize("make", [network, gpt])
def test_the_recording_knows_the_peak_of_eager_code(make):
    step, x = make()
    for _ in range(2):
        step(x)
    with fnb.peak_memory() as peak:
        step(x)
    step, x = make()
    run = fnb.compile(step)
    run(x)
    found = run.routine.memory()
    assert found["eager"] - found["outside"] == peak.nbytes
    assert found["peak"] == sum(found[kind] for kind in ("scratch", "stored", "constant", "outside"))


def test_values_that_live_on_count_and_those_that_do_not_do_not():
    x = np.ones(256, "f4")
    kept = fnb.compile(lambda x: fnb.ops.stack(*[x + x for _ in range(8)]))
    let_go = fnb.compile(lambda x: fnb.ops.tanh(fnb.ops.tanh(fnb.ops.tanh(fnb.ops.tanh(x)))))
    kept(x)
    let_go(x)
    sizes = [r.routine.memory() for r in (kept, let_go)]
    assert [m["eager"] - m["outside"] for m in sizes] == [16 * 1024, 2 * 1024]


def test_a_step_that_was_not_recorded_in_one_piece_has_none():
    w = fnb.Parameter(fnb.tensor([2.0], name="w"))
    with fnb.capture():
        loss = (w * w).sum()
    assert fnb.train.to_routine(fnb.train.grad_update(loss)).memory()["eager"] is None


def test_a_block_is_free_when_only_the_recording_holds_it():
    class Block:
        nbytes = 100

    found, kept, users = EagerMemory(), [], []

    def allocate():
        block = Block()
        found.allocated(block, others=1)
        kept.append(block)

    for _ in range(3):
        allocate()
    assert found.peak == 100
    for _ in range(2):
        allocate()
        users.append(kept[-1])
    allocate()
    assert found.peak == 300
    found.kept(users[0])
    allocate()
    assert found.peak == 300
    users.clear()
    allocate()
    allocate()
    assert found.peak == 300
