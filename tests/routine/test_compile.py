"""A compiled step: the same bits as the step itself, new inputs each call, and what cannot be recorded raises."""

import copy
import pickle
import threading
from collections import namedtuple

import numpy as np
import pytest

import forgenb as fnb
from forgenb import models, nn, ops, optim
from forgenb.errors import IndexRangeError, MemoryModeError
from forgenb.routine import Compiled, compile

CONFIG = models.GPTConfig(vocab=17, context=8, layers=2, heads=2, width=16, dropout=0.2)
OPTIMIZERS = {
    "adamw": lambda p: optim.AdamW(p, lr=1e-2),
    "momentum": lambda p: optim.SGD(p, lr=1e-2, momentum=0.9, nesterov=True, weight_decay=0.1),
    "rmsprop": lambda p: optim.RMSprop(p, lr=1e-3),
}


def training(kind, seed=1):
    model = models.GPT(CONFIG, seed=seed)
    optimizer = OPTIMIZERS[kind](list(model.named_parameters()))

    def step(ids, targets):
        optimizer.zero_grad()
        loss = model.loss(ids, targets)
        loss.backward()
        return loss, optimizer.step(clip_norm=1.0)

    return model, optimizer, step


def batches(count):
    rng = np.random.default_rng(0)
    return [(rng.integers(0, 17, (3, 8)), rng.integers(0, 17, (3, 8))) for _ in range(count)]


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_fifty_steps_have_the_bits_of_eager_ones(kind):
    """Dropout seeds, learning rates and bias corrections advance inside the routine."""
    eager, recorded = training(kind), training(kind)
    run = compile(recorded[2])
    for number, (ids, targets) in enumerate(batches(50)):
        for model, optimizer, _ in (eager, recorded):
            model.dropout_seed = 1000 + number
            optimizer.lr = 1e-2 / (1 + number)
        loss, norm = eager[2](fnb.tensor(ids), fnb.tensor(targets))
        loss_again, norm_again = run(ids, targets)
        assert (loss.item(), norm) == (loss_again.item(), norm_again.item())
    for one, other in zip(eager[0].parameters(), recorded[0].parameters(), strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    states = eager[1].state_dict(), recorded[1].state_dict()
    assert states[0].keys() == states[1].keys()
    assert all(np.array_equal(states[0][name], states[1][name]) for name in states[0])
    assert len(run.routines) == 1


def test_another_shape_is_recorded_anew():
    _, _, step = training("adamw")
    run = compile(step)
    ids, targets = batches(1)[0]
    run(ids, targets)
    run(ids[:2], targets[:2])
    run(ids, targets)
    assert len(run.routines) == 2


def test_ids_are_checked_before_each_run():
    model, _, step = training("adamw")
    run = compile(step)
    ids, targets = batches(1)[0]
    run(ids, targets)
    before = [p.numpy().copy() for p in model.parameters()]
    with pytest.raises(IndexRangeError, match="embedding got token id 17: it must be in 0 .. 16"):
        run(np.full_like(ids, 17), targets)
    for p, old in zip(model.parameters(), before, strict=True):
        np.testing.assert_array_equal(p.numpy(), old)


def test_a_norm_that_is_not_finite_changes_nothing():
    model, optimizer, step = training("adamw")
    run = compile(step)
    ids, targets = batches(1)[0]
    run(ids, targets)
    steps = optimizer.steps
    fnb.ops.assign_(model.ln_f.weight.detach(), np.inf)
    before = {name: p.numpy().copy() for name, p in model.named_parameters()}
    _, norm = run(ids, targets)
    assert not np.isfinite(norm.item())
    assert optimizer.steps == steps
    for name, p in model.named_parameters():
        np.testing.assert_array_equal(p.numpy(), before[name])


def test_reading_a_value_while_recording_raises():
    run = compile(lambda x: ops.exp(x) if (x * 2.0).sum().item() > 0 else x)
    with pytest.raises(MemoryModeError, match="while its step was being recorded"):
        run(np.ones(3, "float32"))


def test_branching_on_a_late_number_raises():
    def step(x):
        optimizer = optim.SGD([fnb.Parameter(fnb.tensor([1.0]))], lr=0.1)
        rate = fnb.routine.late(lambda: optimizer.lr)
        return x * 2.0 if rate else x

    with pytest.raises(MemoryModeError, match="branches on a late number.*frozen"):
        compile(step)(np.ones(3, "float32"))


def test_scratch_cannot_be_read_and_says_how_to_keep_it():
    kept = []

    def step(x):
        kept.append(ops.exp(x))
        return ops.sum(kept[0])

    run = compile(step, "sums")
    assert run(np.zeros(4, "float32")).item() == 4
    with pytest.raises(MemoryModeError, match="scratch of routine 'sums'.*retain"):
        kept[0].numpy()


def test_retained_values_can_be_read():
    kept = []

    def step(x):
        kept.append(ops.exp(x).retain())
        return ops.sum(kept[0])

    run = compile(step)
    run(np.zeros(4, "float32"))
    np.testing.assert_array_equal(kept[0].numpy(), np.ones(4))


def test_constants_that_a_step_writes_into_are_fresh_in_each_run():
    """A gradient of a slice starts from zeros in every run, also where others are added to it in place."""

    def step(x):
        leaf = x.detach()
        leaf.requires_grad = True
        (leaf[:2].sum() + (leaf[1:] * 3.0).sum() + leaf.sum()).backward()
        return leaf.grad

    run = compile(step)
    for _ in range(3):
        np.testing.assert_array_equal(run(np.zeros(4, "float32")).numpy(), [2, 5, 4, 4])


def test_a_tensor_from_outside_is_read_at_each_run():
    outside = fnb.tensor([1.0, 2.0])
    run = compile(lambda x: x + outside)
    assert run(np.zeros(2, "float32")).tolist() == [1, 2]
    outside[...] = 5.0
    assert run(np.zeros(2, "float32")).tolist() == [5, 5]


def test_threads_give_the_same_bits():
    found = []
    backend = fnb.tensor(0.0).backend
    before = backend.threads
    try:
        for threads in (1, 2):
            backend.threads = threads
            model, _, step = training("adamw")
            run = compile(step)
            for ids, targets in batches(3):
                run(np.repeat(ids, 40, 0), np.repeat(targets, 40, 0))
            found.append([p.numpy().copy() for p in model.parameters()])
    finally:
        backend.threads = before
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_routine_runs_from_another_thread_but_not_twice_at_once():
    run = compile(lambda x: ops.exp(x))
    x = np.zeros(3, "float32")
    run(x)
    found = []
    worker = threading.Thread(target=lambda: found.append(run(x).tolist()))
    worker.start()
    worker.join()
    assert found == [[1, 1, 1]]
    routine = next(iter(run.routines.values()))[0]
    with routine._lock, pytest.raises(MemoryModeError, match="is running in another thread"):
        run(x)


def test_the_program_prints_names_shapes_and_scopes():
    def step(x):
        with fnb.routine.scope("block 3"):
            return ops.gelu(x)

    run = compile(step, "tiny")
    run(np.zeros((2, 3), "float32"))
    text = str(next(iter(run.routines.values()))[0])
    assert "routine tiny: 1 statements" in text
    assert "block 3:" in text
    assert "gelu_kernel" in text
    assert "2x3" in text


def test_scratch_is_shared():
    def step(x):
        for _ in range(10):
            x = ops.softmax(ops.reshape(x, (100, -1))).reshape(-1)
        return x

    def memory(size):
        run = compile(step)
        run(np.zeros(size, "float32"))
        return run.routine.memory()

    large, small = memory(200_000), memory(1000)
    assert large["scratch"] < large["unshared"] / 3
    assert large["stored"] >= 800_000
    assert small["scratch"] + small["stored"] == small["unshared"]


def test_one_dropout_used_twice_draws_what_eager_calls_draw():
    found = []
    for wrap in (lambda step: step, compile):
        drop = nn.Dropout(0.5, site=1)
        run = wrap(lambda x, drop=drop: (drop(x), drop(x)))
        found.append([[t.numpy().copy() for t in run(fnb.tensor(np.ones(64, "float32")))] for _ in range(3)])
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0][0][0] != found[0][0][1]).any()


def test_gradients_of_a_step_are_not_left_on_the_parameters():
    model, optimizer, step = training("adamw")
    ids, targets = batches(1)[0]
    compile(step)(ids, targets)
    assert all(p.grad is None for p in model.parameters())
    model.eval()
    optimizer.zero_grad()
    model.loss(ids, targets).backward()
    assert model.wte.weight.grad.numpy().any()


def test_a_step_that_never_clears_its_gradients_is_refused():
    w = fnb.Parameter(fnb.tensor([1.0, 2.0], name="w"))

    def step(x):
        loss = (w * x).sum()
        loss.backward()
        return loss

    with pytest.raises(MemoryModeError, match=r"step 'step' leaves a gradient on 'w'.*call zero_grad\(\) inside"):
        compile(step)(np.ones(2, "float32"))


@pytest.mark.parametrize("result", [1.5, np.ones(2), None, "loss"])
def test_a_step_must_return_tensors(result):
    with pytest.raises(MemoryModeError, match="must return a tensor or a tuple of tensors"):
        compile(lambda x: result)(np.ones(2, "float32"))


def test_a_second_thread_cannot_change_the_inputs_of_a_run():
    run = compile(lambda x: x + 1.0)
    run(np.zeros(4, "float32"))
    inside, go_on, found = threading.Event(), threading.Event(), []
    runner = run.routine._runner
    whole = runner.execute

    def slowly():
        inside.set()
        go_on.wait(10)
        whole()

    runner.execute = slowly
    first = threading.Thread(target=lambda: found.append(run(np.full(4, 5, "float32")).numpy().copy()))
    first.start()
    inside.wait(10)
    with pytest.raises(MemoryModeError, match="running in another thread"):
        run(np.full(4, 9, "float32"))
    go_on.set()
    first.join()
    np.testing.assert_array_equal(found[0], np.full(4, 6, "float32"))


def test_results_that_hold_nothing_can_be_read():
    def step(x, y):
        y = y * 2.0
        return x * 2.0, y, y.sum()

    run = compile(step)
    for _ in range(2):
        assert [t.tolist() for t in run(np.ones(2, "float32"), np.ones((0, 3), "float32"))] == [[2, 2], [], 0]


def test_results_that_are_arguments_may_be_the_next_arguments():
    run = compile(lambda x, y: (y, x, x + y))
    found = run(fnb.tensor([1.0]), fnb.tensor([2.0]))
    for expected in ([1.0], [2.0]), ([2.0], [1.0]):
        found = run(*found[:2])
        assert [t.tolist() for t in found] == [*expected, [3.0]]


def test_a_slice_at_a_symbol_is_a_result_like_any_other():
    data, s = fnb.tensor([[1.0, 2.0], [3.0, 4.0]]), fnb.symbol("s", range=2)
    run = compile(lambda: data[s])
    assert [run(s=n).tolist() for n in (0, 1)] == data.tolist()


def test_results_come_in_the_form_in_which_the_step_returns_them():
    pair = namedtuple("pair", "double more")
    found = compile(lambda x: pair(x * 2.0, x + 1.0))(np.ones(2, "float32"))
    assert (found.double.tolist(), found.more.tolist()) == ([2, 2], [2, 2])
    assert isinstance(compile(lambda x: [x * 2.0])(np.ones(2, "float32")), list)


def test_an_error_in_a_step_leaves_no_gradient_behind():
    w = fnb.Parameter(fnb.tensor([1.0, 2.0], name="w"))

    def broken(x, clears):
        if clears:
            w.grad = None
        (w * x).sum().backward()
        return x if not clears else None

    for clears in (True, False):
        with pytest.raises(MemoryModeError, match="must return a tensor|without ever clearing"):
            compile(broken)(np.ones(2, "float32"), clears)
        assert w.grad is None
    with pytest.raises(MemoryModeError, match="value of a tensor was asked for"), fnb.capture():
        _read_after_backward(w)
    assert w.grad is None


def _read_after_backward(w):
    loss = (w * w).sum()
    loss.backward()
    return loss.item()


def test_a_call_runs_its_own_routine_whatever_another_thread_calls():
    class Contended(Compiled):
        """Another thread calls it again and again, with another shape."""

        routine = property(lambda self: next(iter(self.routines.values()), [None])[0], lambda self, _: None)

    run = Contended(lambda x: x + 1.0, "step")
    for size in (2, 3):
        assert run(np.ones(size, "float32")).tolist() == [2.0] * size


@pytest.mark.parametrize("copied", [copy.deepcopy, pickle.dumps])
def test_a_routine_cannot_be_copied_or_pickled(copied):
    run = compile(lambda x: x + 1.0, "step")
    run(np.ones(2, "float32"))
    with pytest.raises(TypeError, match="routine 'step' cannot be copied or pickled"):
        copied(run.routine)


@pytest.mark.parametrize("rows", [0, 3])
def test_an_empty_batch_trains_as_eager_code_does(rows):
    """No statement computes what holds nothing, but others read it: sums over no rows, products with no terms."""
    found = []
    for wrap in (lambda step: step, compile):
        w, b = fnb.Parameter(fnb.tensor(np.ones((3, 2), "float32"))), fnb.Parameter(fnb.tensor([1.0, 2.0]))
        optimizer = optim.SGD([w, b], lr=0.1)

        def step(x, optimizer=optimizer, w=w, b=b):
            optimizer.zero_grad()
            loss = (ops.tanh(x @ w) + b).sum()
            loss.backward()
            optimizer.step()
            return loss, w.grad, b.grad, x * 2.0

        results = wrap(step)(fnb.tensor(np.ones((rows, 3), "float32")))
        found.append([t.tolist() for t in (*results, w, b)])
    assert found[0] == found[1]


def test_a_step_whose_results_hold_nothing_may_have_no_statements():
    assert compile(lambda x: ops.cumsum(x, axis=0))(np.ones((0, 3), "float32")).shape == (0, 3)
