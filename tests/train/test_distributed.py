"""Training over several processes, which are started for real: the numbers of one process, and no one left waiting."""

import sys

import numpy as np
import pytest
from support import ranks

import forgenb as fnb
from forgenb import optim, train
from forgenb.errors import ArgumentError
from forgenb.models import GPT, GPTConfig
from forgenb.routine import Arena, recording
from forgenb.train import distributed


@pytest.fixture(scope="module")
def alone():
    """What one process gives, for each of the functions that are run over several."""
    names = "steps", "masked_steps"
    return dict(zip(names, ranks.run(1, *names), strict=True))


@pytest.fixture(scope="module")
def pair(alone):
    """What two processes say of each function; `alone` has compiled what they run."""
    names = "steps", "disagreement", "too_many", "staged"
    return dict(zip(names, ranks.run(2, *names), strict=True))


@pytest.mark.parametrize("count", [2, 4])
def test_several_processes_give_the_numbers_of_one(alone, pair, count):
    found = pair["steps"] if count == 2 else ranks.run(count, "steps")[0]
    np.testing.assert_allclose(found["seen"], alone["steps"]["seen"], rtol=1e-5)
    assert found["sum"] == pytest.approx(alone["steps"]["sum"], rel=1e-5)
    assert found["buckets"] > 2


def test_uneven_shares_have_the_masks_of_the_whole_batch(alone):
    (found,) = ranks.run(3, "masked_steps")
    np.testing.assert_allclose(found["seen"], alone["masked_steps"]["seen"], rtol=1e-5)


def test_one_process_has_the_bits_of_the_compiled_step(alone):
    model = GPT(GPTConfig(11, 8, 2, 2, 8), seed=3)
    optimizer = optim.AdamW(model.named_parameters(), lr=1e-2)

    @fnb.compile
    def step(inputs, targets):
        optimizer.zero_grad()
        loss = model.loss(inputs, targets)
        loss.backward()
        return loss, optimizer.step(clip_norm=0.5)

    seen = []
    for number in range(5):
        ids = ranks.IDS[number % 4]
        loss, norm = step(ids[:, :-1], ids[:, 1:])
        seen.append([loss.item(), norm.item()])
    assert alone["steps"]["seen"] == seen


def test_a_second_run_has_the_same_bits(pair):
    assert ranks.run(2, "steps") == [pair["steps"]]


def test_messages():
    (found,) = ranks.run(3, "messages")
    assert found == {
        "sum": [3.0, 6.0, 9.0],
        "begun": [6.0] * 4,
        "total": 3.0,
        "any": [True, False],
        "text": "\u00e9 of 0",
        "neighbours": 3,
        "first": True,
        "arrays": ["a", "b", "none"],
    }


def test_processes_that_differ_are_named(pair):
    assert "The 2 processes that train together have different values of the width" in pair["disagreement"]


def test_more_processes_than_samples_are_refused(pair):
    assert pair["too_many"] == "a batch of 1 samples cannot be shared out over 2 workers: use fewer, or a larger batch"


def test_what_mpi_does_not_add_goes_by_way_of_the_host(pair):
    assert pair["staged"] == {"w": [3.0, 3.0], "v": [5.0, 5.0], "late": 1}


def test_a_process_that_fails_alone_ends_all():
    ranks.run(2, "failure", code=7)


def test_messages_take_neighbouring_gradients_that_are_large_enough_together():
    with recording():
        parts = [fnb.tensor(np.zeros(size, "float32")) * 1.0 for size in (100, 3, 40, 500, 7)]
    arena = Arena(parts)
    found = distributed.buckets(arena, 600)
    assert [(len(held), begin, end) for _, held, begin, end in found] == [(3, 0, 176), (1, 176, 688), (1, 688, 704)]
    assert [len(held) for _, held, _, _ in distributed.buckets(arena, 1)] == [1] * 5
    assert [len(held) for _, held, _, _ in distributed.buckets(arena, 10**9)] == [5]


def test_how_many_were_launched_is_read_from_the_environment(monkeypatch):
    for name in distributed.LAUNCHERS:
        monkeypatch.delenv(name, raising=False)
    assert distributed.launched() == 1
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "3")
    assert distributed.launched() == 3
    monkeypatch.setenv("PMI_SIZE", "what?")
    assert distributed.launched() == 3


def test_without_mpi4py_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(ArgumentError, match=r"needs mpi4py and an MPI.*pip install 'forgenb\[mpi\]'"):
        distributed.world()


class Alone:
    """A communicator of one process."""

    def Get_rank(self):
        return 0

    def Get_size(self):
        return 1


def test_another_number_of_samples_is_refused():
    model = GPT(GPTConfig(11, 8, 1, 2, 8), seed=3)
    optimizer = optim.SGD(model.named_parameters(), 0.1)
    step = distributed.DistributedStep(model, optimizer, None, distributed.World(Alone()), 6)
    ids = ranks.IDS[0][:4]
    with pytest.raises(ArgumentError, match="process 0 of 1 takes samples 0 to 5 of a batch of 6, and got 4 samples"):
        step(ids[:, :-1], ids[:, 1:])


def test_pauses_come_when_their_values_are_complete_and_in_their_order():
    w, v = (fnb.Parameter(fnb.tensor(np.full(3, 2.0, "float32"), name=name)) for name in "wv")
    with fnb.capture():
        loss = ((w * 3.0).exp() * v).sum()
    update, seen = train.grad_update(loss), []
    second, first = update.grads
    routine = train.to_routine(
        update, pauses=[([first], lambda: seen.append("v")), ([second, first], lambda: seen.append("both"))]
    )
    routine.run()
    with fnb.debug():
        routine.run()
    assert seen == ["v", "both"] * 2
    np.testing.assert_allclose(v.grad.numpy(), np.exp(6.0), rtol=1e-6)
    assert "exp" in routine.source
    assert len(routine.assembly) > 100


def test_a_pause_for_what_is_not_computed_is_refused():
    w = fnb.Parameter(fnb.tensor(2.0, name="w"))
    with fnb.capture():
        loss = w * 3.0
    with pytest.raises(ArgumentError, match="a pause waits for values that the program computes"):
        train.to_routine(train.grad_update(loss), pauses=[([w], print)])


@pytest.mark.parametrize("wrong", [None, "x", [1.5], np.ones((2, 2)), 0])
def test_wrong_types_are_refused_like_wrong_values(wrong):
    model = GPT(GPTConfig(11, 8, 1, 2, 8), seed=3)
    good = {
        "model": model,
        "optimizer": optim.SGD(model.parameters(), 0.1),
        "clip_norm": 1.0,
        "world": distributed.World(Alone()),
        "samples": 4,
        "bucket": 1,
    }
    distributed.DistributedStep(**good)
    for name in good:
        if name != "clip_norm" or wrong is not None:
            with pytest.raises(ArgumentError, match="DistributedStep|a batch is shared out over|cannot be shared out"):
                distributed.DistributedStep(**{**good, name: wrong})
