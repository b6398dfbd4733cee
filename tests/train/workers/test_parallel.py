"""Gradients from several streams, merged for one update: the numbers of one stream, and a fixed order of sums."""

import numpy as np
import pytest
from support import moons

import forgenb as fnb
from forgenb import ops, train
from forgenb.backend import Stream, get_backend
from forgenb.errors import ArgumentError, BackendError, IndexRangeError, MemoryModeError, ShapeError

BATCH, TOTAL = 120, 2400


def updates_of_moons(workers, dtype, epochs=1, total=TOTAL):
    """Half moons by a small network: an update for each worker, the descent, and the symbols (batch, step)."""
    rng = moons.Xorshift(1)
    points = moons.moons(moons.Xorshift(0), TOTAL)[:total].astype(dtype)
    p = {k: fnb.Parameter(fnb.tensor(v.astype(dtype), name=k)) for k, v in moons.parameters(rng).items()}
    size = BATCH // workers
    data = fnb.tensor(points.reshape(-1, size, 2))
    wanted = fnb.tensor(moons.labels(total).astype(dtype).reshape(-1, size, 1))
    batch, step = fnb.symbol("batch", range=data.shape[0]), fnb.symbol("step")
    updates = []
    for _ in range(workers):
        with fnb.capture():
            hidden = ops.relu(data[batch] @ p["w1"].T + p["b1"])
            hidden = ops.relu(hidden @ p["w2"].T + p["b2"])
            loss = ops.relu(1.0 - wanted[batch] * (hidden @ p["w3"].T + p["b3"])).sum() / BATCH
            loss.name = "loss"
        updates.append(train.grad_update(loss))
    steps = epochs * data.shape[0]
    rate = 0.1 * (2 * steps - step) / steps
    return updates, train.sgd_update(updates[0], rate, weight_decay=2e-4), (batch, step), list(p.values())


def curve(workers, dtype="float64", epochs=2, **how):
    """Losses of every round, and the parameters in the end."""
    updates, descent, symbols, params = updates_of_moons(workers, dtype, epochs)
    losses = []

    def note(count):
        losses.append(epoch.loss.item())
        epoch.bindings["step"] += count

    epoch = train.parallel_update(updates, descent, symbols, post_sync=note, **how)
    for _ in range(epochs):
        epoch()
    for stream in epoch.streams:
        stream.close()
    return np.array(losses), [p.numpy().copy() for p in params]


@pytest.fixture(scope="module")
def one():
    return {dtype: curve(1, dtype)[0] for dtype in ("float64", "float32")}


@pytest.mark.parametrize("workers", [2, 3, 4, 5, 6])
def test_the_curve_does_not_depend_on_the_number_of_streams(one, workers):
    np.testing.assert_allclose(curve(workers)[0], one["float64"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(curve(workers, "float32")[0][:20], one["float32"][:20], rtol=0, atol=1e-4)


@pytest.mark.parametrize("workers", [2, 3, 5])
def test_a_second_run_and_the_other_way_to_merge_have_the_same_bits(workers):
    losses, params = curve(workers, "float32")
    for merge in ("stream", "copy"):
        again, found = curve(workers, "float32", merge=merge)
        np.testing.assert_array_equal(again, losses)
        for mine, theirs in zip(found, params, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_merging_from_copies_takes_more_statements_and_memory():
    """So that the keyword has an effect which one can see."""
    sizes = {}
    for merge in ("stream", "copy"):
        updates, descent, symbols, _ = updates_of_moons(2, "float32")
        epoch = train.parallel_update(updates, descent, symbols, merge=merge)
        sizes[merge] = len(epoch._merges[1, 0].program)
        [stream.close() for stream in epoch.streams]
    assert sizes["copy"] == 2 * sizes["stream"]


def test_a_partial_round_merges_only_those_that_took_part():
    """7 batches on 3 workers: rounds of 3, 3 and 1, of which the last has the loss and gradient of one worker."""
    w = fnb.Parameter(fnb.tensor(np.float64(0.0), name="w"))
    data, batch = fnb.tensor(np.arange(1.0, 8.0)), fnb.symbol("batch", range=7)
    updates = []
    for _ in range(3):
        with fnb.capture():
            loss = w * data[batch] + data[batch]
        updates.append(train.grad_update(loss))
    seen = []
    descent = train.sgd_update(updates[0], 1.0)
    epoch = train.parallel_update(
        updates, descent, (batch,), post_sync=lambda k: seen.append((k, epoch.loss.item(), w.item()))
    )
    epoch()
    # round 1: losses 1+2+3, gradient 6; round 2 at w = -6: (1 - 6)(4 + 5 + 6), gradient 15; round 3 at w = -21: -20 * 7
    assert seen == [(3, 6.0, -6.0), (3, -75.0, -21.0), (1, -140.0, -28.0)]
    [stream.close() for stream in epoch.streams]


def test_the_toy_of_two_shards():
    """y = 2x at x = 1..4 from w = 0.5, squared errors summed, rate 0.05: w becomes 5 on one shard and on two."""
    for shards in (1, 2):
        w = fnb.Parameter(fnb.tensor(0.5, name="w"))
        x, shard = fnb.tensor(np.arange(1, 5, dtype="float32").reshape(shards, -1)), fnb.symbol("shard", range=shards)
        updates = []
        for _ in range(shards):
            with fnb.capture():
                residual = w * x[shard] - 2.0 * x[shard]
                loss = (residual * residual).sum()
            updates.append(train.grad_update(loss))
        epoch = train.parallel_update(updates, train.sgd_update(updates[0], 0.05), (shard,))
        epoch()
        assert (epoch.loss.item(), round(w.item(), 5)) == (67.5, 5.0)
        [stream.close() for stream in epoch.streams]


def test_each_submission_has_the_indices_of_its_own_moment():
    """A symbol without a range is taken when a round begins: what the callback sets counts from the next one on."""
    w = fnb.Parameter(fnb.tensor(np.zeros(()), name="w"))
    batch, step = fnb.symbol("batch", range=4), fnb.symbol("step")
    updates = []
    for _ in range(2):
        with fnb.capture():
            loss = w * 1.0
        updates.append(train.grad_update(loss))
    moves, descent = [], train.sgd_update(updates[0], 1.0 * (step + 1))

    def note(count):
        moves.append(w.item())
        epoch.bindings[step] += count

    epoch = train.parallel_update(updates, descent, (batch, step), post_sync=note)
    epoch()
    assert moves == [-2.0, -2.0 - 2 * 3]
    assert epoch.bindings[step] == 4
    [stream.close() for stream in epoch.streams]


def test_an_error_of_a_worker_reaches_the_caller_and_the_next_round_works():
    table = fnb.Parameter(fnb.tensor(np.ones((3, 2), "float32"), name="table"))
    ids = [fnb.tensor(np.zeros(2, "int64")) for _ in range(2)]
    updates = []
    for mine in ids:
        with fnb.capture():
            loss = ops.embedding(mine, table).sum()
        updates.append(train.grad_update(loss))
    both = train.parallel_update(updates, train.sgd_update(updates[0], 1.0))
    good = [[(mine, np.array([0, 1]))] for mine in ids]
    with pytest.raises(IndexRangeError, match="3"):
        both.step([good[0], [(ids[1], np.array([0, 3]))]])
    np.testing.assert_array_equal(table.numpy(), np.ones((3, 2)))
    both.step(good)
    np.testing.assert_array_equal(table.numpy(), [[-1, -1], [-1, -1], [1, 1]])
    [stream.close() for stream in both.streams]


def test_an_error_inside_a_stream_leaves_the_parameters(monkeypatch):
    updates, descent, symbols, params = updates_of_moons(2, "float32", total=240)
    epoch = train.parallel_update(updates, descent, symbols)
    before = [p.numpy().copy() for p in params]

    def fails():
        epoch.routines[1]._lock.release()
        raise MemoryError("no room")

    monkeypatch.setattr(epoch.routines[1], "finish", fails)
    with pytest.raises(MemoryError, match="no room"):
        epoch()
    monkeypatch.undo()
    for p, old in zip(params, before, strict=True):
        np.testing.assert_array_equal(p.numpy(), old)
    epoch()
    assert any((p.numpy() != old).any() for p, old in zip(params, before, strict=True))
    [stream.close() for stream in epoch.streams]


def test_an_error_of_the_callback_ends_the_pass_after_a_whole_round():
    updates, descent, symbols, _ = updates_of_moons(2, "float32")

    def stop(count):
        raise KeyboardInterrupt

    epoch = train.parallel_update(updates, descent, symbols, post_sync=stop)
    with pytest.raises(KeyboardInterrupt):
        epoch()
    assert [routine.runs for routine in epoch.routines] == [1, 1]
    [stream.close() for stream in epoch.streams]


def test_what_does_not_belong_together_is_refused():
    updates, descent, symbols, _ = updates_of_moons(2, "float32")
    others, *_ = updates_of_moons(2, "float32")
    with pytest.raises(ArgumentError, match="at least one update"):
        train.parallel_update([], descent, symbols)
    with pytest.raises(ArgumentError, match="merge='add'.*stream, copy"):
        train.parallel_update(updates, descent, symbols, merge="add")
    with pytest.raises(ArgumentError, match="update 1 has other parameters"):
        train.parallel_update([updates[0], others[1]], descent, symbols)
    with pytest.raises(ArgumentError, match="update 1 is update 0 again"):
        train.parallel_update([updates[0], updates[0]], descent, symbols)
    with pytest.raises(ArgumentError, match="2 updates and 1 streams"), Stream() as stream:
        train.parallel_update(updates, descent, symbols, [stream])
    w = fnb.Parameter(fnb.tensor(1.0, name="w"))
    shapes = []
    for shape in ((), (2,)):
        with fnb.capture():
            loss = w * fnb.tensor(np.ones(shape, "float32"))
        shapes.append(train.grad_update(loss))
    with pytest.raises(ArgumentError, match="update 1 computes its gradients or its loss in another order or shape"):
        train.parallel_update(shapes, train.sgd_update(shapes[0], 1.0))


def test_workers_that_would_change_the_same_values_at_once_are_refused():
    layer, updates = fnb.nn.BatchNorm(2), []
    for _ in range(2):
        with fnb.capture():
            loss = layer(fnb.tensor(np.eye(2, dtype="float32"))).sum()
        updates.append(train.grad_update(loss))
    with pytest.raises(ArgumentError, match="2 updates that change values from outside, such as running statistics"):
        train.parallel_update(updates, train.sgd_update(updates[0], 1.0))
    alone = train.parallel_update(updates[:1], train.sgd_update(updates[0], 1.0))
    alone()
    assert layer.running_mean.numpy().any()
    [stream.close() for stream in alone.streams]


@pytest.mark.parametrize("merge", ["stream", "copy"])
def test_every_backend_shares_a_step_out(each_backend, merge):
    """5 batches of 2 on 3 workers by hand: rounds of 3 and 2, each a step by the sum of its gradients."""
    rng = np.random.default_rng(0)
    x, wanted = rng.normal(size=(5, 2, 3)), rng.normal(size=(5, 2, 1))
    start = rng.normal(size=(3, 1))
    w = fnb.Parameter(fnb.tensor(start, name="w"))
    data, targets = fnb.tensor(x), fnb.tensor(wanted)
    batch, step = fnb.symbol("batch", range=5), fnb.symbol("step")
    updates = []
    for _ in range(3):
        with fnb.capture():
            error = data[batch] @ w - targets[batch]
            loss = (error * error).sum()
        updates.append(train.grad_update(loss))
    losses = []

    def note(count):
        losses.append(epoch.loss.item())
        epoch.bindings[step] += count

    descent = train.sgd_update(updates[0], 0.01 / (1 + step))
    epoch = train.parallel_update(updates, descent, (batch, step), merge=merge, post_sync=note)
    epoch()
    expected, weight = [], start
    for part, rate in ((slice(0, 3), 0.01), (slice(3, 5), 0.01 / 4)):
        error = x[part] @ weight - wanted[part]
        expected.append((error**2).sum())
        weight = weight - rate * 2 * (x[part].swapaxes(1, 2) @ error).sum(0)
    np.testing.assert_allclose(losses, expected, rtol=1e-12)
    np.testing.assert_allclose(w.numpy(), weight, rtol=1e-12)
    assert {stream.backend.name for stream in epoch.streams} == {each_backend}
    [stream.close() for stream in epoch.streams]


def test_memory_is_that_of_all_its_routines():
    """Two gradients and two losses of 64 bytes each at least, and the gradient's own place beside its merge."""
    sizes = {}
    for workers in (1, 2):
        updates, descent, symbols, _ = updates_of_moons(workers, "float32")
        epoch = train.parallel_update(updates, descent, symbols)
        own = [r.memory()[kind] for r in epoch.routines for kind in ("scratch", "stored", "constant")]
        sizes[workers] = epoch.memory()
        assert sizes[workers] >= sum(own) > 4 * sum(p.size for p in updates[0].params) * workers
        [stream.close() for stream in epoch.streams]
    assert sizes[2] > sizes[1]


def test_suggested_streams_are_at_least_one_and_no_more_than_asked_for():
    cpu = get_backend("cpu")
    before, cpu.threads = cpu.threads, 3
    try:
        for most, backend, wanted in ((None, None, 3), (2, None, 2), (8, "cpu", 3), (1, "cpu", 1), (None, "python", 1)):
            streams = train.suggest_streams(most, backend)
            assert (len(streams), streams[0].backend.name) == (wanted, backend or "cpu")
            [stream.close() for stream in streams]
    finally:
        cpu.threads = before
    for wrong in (0, -1, 1.5, True, "2"):
        with pytest.raises(ArgumentError, match="suggest_streams got max_streams=.*whole number of at least 1"):
            train.suggest_streams(wrong)


@pytest.mark.parametrize("wrong", [None, 3, "x", [1.5], np.ones((2, 2)), {"a": 1}])
def test_wrong_types_are_refused_like_wrong_values(wrong):
    updates, _, symbols, _ = updates_of_moons(2, "float32", total=240)
    descent = train.sgd_update(updates[0], 0.1)
    with Stream() as one, Stream() as two:
        good = {"updates": updates, "descent": descent, "bindings": symbols, "streams": [one, two]}
        for name in ("updates", "descent", "bindings", "merge", "streams", "post_sync"):
            if wrong is not None or name not in ("streams", "post_sync"):
                with pytest.raises(ArgumentError, match="parallel_update"):
                    train.parallel_update(**{**good, name: wrong})
        both = train.parallel_update(**good)
        for values in (wrong, [wrong], [[(wrong, wrong)]], [], [()] * 3):
            with pytest.raises(ArgumentError, match="a round of 2 workers takes a list of"):
                both.step(values)
        with pytest.raises(ArgumentError, match="indices as a mapping|parallel_update|no symbol"):
            both.step([(), ()], wrong if not isinstance(wrong, dict) else 3)


def test_streams_that_cannot_do_the_work_are_refused():
    updates, descent, symbols, _ = updates_of_moons(1, "float32", total=240)
    with Stream() as stream, Stream("python") as other:
        with pytest.raises(BackendError, match="updates of 'cpu' and a stream of 'python'"):
            train.parallel_update(updates, descent, symbols, [other])
        epoch = train.parallel_update(updates, descent, symbols, [stream])
        with pytest.raises(BackendError, match="a step over streams by a task of the stream"):
            stream.submit(epoch).result()
    for _ in range(2):  # a routine that was begun and could not go on is let go
        with pytest.raises(BackendError, match="the stream is closed"):
            epoch()
    with pytest.raises(BackendError, match="the stream is closed"):
        train.parallel_update(updates, descent, symbols, [stream])


def test_one_call_at_a_time():
    updates, descent, symbols, _ = updates_of_moons(2, "float32", total=240)
    found = []

    def again(count):
        with pytest.raises(MemoryModeError, match="a step over streams is running in another thread"):
            epoch()
        found.append(count)

    epoch = train.parallel_update(updates, descent, symbols, post_sync=again)
    epoch()
    assert found == [2, 2]
    [stream.close() for stream in epoch.streams]


def test_an_input_of_another_shape_is_refused():
    x = fnb.tensor(np.ones(3, "float32"))
    w = fnb.Parameter(fnb.tensor(1.0, name="w"))
    with fnb.capture():
        loss = (w * x).sum()
    update = train.grad_update(loss)
    one = train.parallel_update([update], train.sgd_update(update, 1.0))
    for wrong in (np.ones(4, "float32"), np.ones(2, "float32"), fnb.tensor(np.ones(8, "float32"))):
        with pytest.raises(ShapeError, match=r"an input of shape \(3,\) got a value of shape"):
            one.step([[(x, wrong)]])
    one.step([[(x, np.full(3, 2.0, "float32"))]])
    assert w.item() == -5
    [stream.close() for stream in one.streams]
