"""Footprints and stages: what may run side by side, and what has to wait."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.routine.footprint import Footprint, Touch, footprint
from forgenb.routine.stages import Work, choose_shares, stages

CHEAP, DEAR = Work(100.0, 64), Work(100_000.0, 64)


def rows(start, writes, pitch=16, grains=8):
    return Touch(start, pitch, pitch, grains, writes)


def whole(start, writes, length=128):
    return Touch(start, 0, length, 1, writes)


def numbers(found):
    return [sorted({n for task in stage.tasks for n, _, _ in task.calls}) for stage in found]


def test_shares_follow_each_other_without_waiting():
    first = Footprint(8, (rows(0, False), rows(1000, True)))
    second = Footprint(8, (rows(1000, False), rows(2000, True)))
    (stage,) = stages([first, second], [DEAR, DEAR], 1000.0)
    assert all([n for n, _, _ in task.calls] == [0, 1] for task in stage.tasks)
    shares = stage.tasks[0].calls[0][2]
    assert sorted(task.calls[0][1] for task in stage.tasks) == list(range(shares))


def test_who_reads_all_of_it_waits():
    first = Footprint(8, (rows(0, False), rows(1000, True)))
    second = Footprint(8, (whole(1000, False), rows(2000, True)))
    assert numbers(stages([first, second], [DEAR, DEAR], 1000.0)) == [[0], [1]]


@pytest.mark.parametrize("grains", [8, 3])
def test_who_writes_where_another_read_or_wrote_waits(grains):
    first = Footprint(8, (whole(0, False), rows(1000, True)))
    for other in (Footprint(grains, (rows(0, True, grains=grains),)), Footprint(8, (rows(1016, True),))):
        assert numbers(stages([first, other], [DEAR, DEAR], 1000.0)) == [[0], [1]]


def test_who_shares_nothing_goes_first():
    chain = [Footprint(1, (whole(0, False), whole(1000, True))), Footprint(1, (whole(1000, False), whole(2000, True)))]
    alone = Footprint(1, (whole(0, False), whole(3000, True)))
    assert numbers(stages([*chain, alone], [DEAR] * 3, 1000.0)) == [[0, 2], [1]]


def test_dear_statements_are_cut_and_cheap_ones_put_together():
    many = [Footprint(1, (whole(1000 * n, True),)) for n in range(20)]
    (stage,) = stages(many, [CHEAP] * 19 + [DEAR], 1000.0)
    cut = [task for task in stage.tasks if task.calls[0][0] == 19]
    assert [task.calls[0][1:] for task in cut] == [(i, len(cut)) for i in range(len(cut))]
    assert sorted(len(task.calls) for task in stage.tasks if task not in cut) == [9, 10]
    assert stage.cost == pytest.approx(19 * 100 + 100_000)


def test_a_stage_says_how_much_of_it_waits_for_memory():
    far = Work(5000.0, 4, fetching=True)
    (stage,) = stages([Footprint(1, (whole(1000 * n, True),)) for n in range(3)], [far, CHEAP, far], 1000.0)
    assert (stage.cost, stage.fetching) == (10_100.0, 10_000.0)


@pytest.mark.parametrize(("rows", "columns", "shared"), [(1, 384, True), (1, 64, False), (2, 384, False)])
def test_one_row_is_shared_out_from_less_work_than_two(rows, columns, shared):
    run = fnb.compile(lambda x, w: x @ w)
    run(np.ones((rows, 384), "float32"), np.ones((384, columns), "float32"))
    assert run.routine._runner._shared == shared


def test_shares_are_few_where_statements_are_cheap():
    prints = [Footprint(24, (rows(0, True, grains=24),))] * 3
    assert choose_shares(prints, [CHEAP] * 3, 1000.0) == 2
    assert choose_shares(prints, [DEAR] * 3, 1000.0) == 8
    assert choose_shares([Footprint(15, ())] * 3, [DEAR] * 3, 1000.0) == 15
    mostly = [Footprint(8, ())] * 60 + [Footprint(2, ())]
    assert choose_shares(mostly, [DEAR] * 61, 1000.0) == 8
    assert choose_shares([Footprint(1, ())] * 3, [DEAR] * 3, 1000.0) >= 1


def test_shares_of_a_touch():
    assert [rows(100, True, 16, 8).share(i, 4) for i in range(4)] == [(100, 132), (132, 164), (164, 196), (196, 228)]
    assert whole(5, False, 7).share(3, 4) == (5, 12)


def recorded(step, *arrays):
    run = fnb.compile(step)
    run(*arrays)
    return {s.name: footprint(s) for s in reversed(run.routine.program.statements)}


def test_footprints_of_maps_and_rows():
    x, row = np.ones((6, 4), "float32"), np.ones(4, "float32")
    found = recorded(lambda x, row: ops.softmax(x * row), x, row)
    assert found["mul_kernel"].grains == 6
    assert [t.pitch for t in found["mul_kernel"].touches] == [16, 0, 16]
    assert found["softmax_kernel"].grains == 6
    assert {(t.pitch, t.length) for t in found["softmax_kernel"].touches} == {(16, 16)}


def test_footprints_of_cut_dimensions():
    x = np.ones((64, 2048), "float32")
    found = recorded(lambda x: ops.sum(x, axis=1), x)
    reads, writes = found["sum_row_kernel"].touches
    assert (reads.pitch, writes.pitch) == (4096, 4)
    found = recorded(lambda x: ops.sum(x, axis=1), x[:, :1500].copy())
    assert found["sum_row_kernel"].grains == 1


def step_of_everything(x, w, v, ids):
    h = ops.layernorm(ops.gelu(x @ w), v, v)
    a = ops.attention(ops.concat([h, h, h], axis=-1).reshape(4, 16, -1), 2)
    loss = ops.cross_entropy(a.reshape(64, -1), ids)
    loss.backward()
    return loss, w.grad, v.grad


def test_any_number_of_threads_gives_the_bits_of_one():
    rng = np.random.default_rng(0)
    x, ids = rng.normal(0, 1, (64, 24)).astype("float32"), rng.integers(0, 24, 64)
    backend, found = fnb.tensor(0.0).backend, []
    before = backend.threads
    try:
        for threads in (1, 2, 3, 8):
            backend.threads = threads
            w = fnb.Parameter(fnb.tensor(np.linspace(-1, 1, 576, dtype="float32").reshape(24, 24)))
            v = fnb.Parameter(fnb.tensor(np.linspace(0.5, 1, 24, dtype="float32")))

            def step(x, ids, w=w, v=v):
                w.grad = v.grad = None
                return step_of_everything(x, w, v, ids)

            run = fnb.compile(step)
            for _ in range(3):
                found.append(b"".join(t.numpy().tobytes() for t in run(x, ids)))
    finally:
        backend.threads = before
    assert len(set(found)) == 1
