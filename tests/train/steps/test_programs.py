"""Training steps as programs: the half-moons golden through a routine, and what does not fit together raises."""

import numpy as np
import pytest
from support import moons

import forgenb as fnb
from forgenb import ops, train
from forgenb.errors import ArgumentError, BackendError, IndexRangeError, MemoryModeError, TapeError

FIRST = [37.9813, 9.6839, 1.8736, 0.7336, 0.6647, 0.6498, 0.9360, 0.5021, 0.6486, 0.5630]
SUMS = [65.2182, 10.0822, 6.7825, 3.0243]
LATER = {209: [2.1808, 0.7330, 0.2203, 0.3808, 0.2179, 0.1261], 205: [2.328, 0.8877, 1.0188, 0.1814, 0.0877, 0.1424]}
"""Later sums by how many losses are zero. The first are those that were published. A change of initial values by one
unit in the last place, as by another order of summation, may lead to the second from the fifth epoch on."""


def score(p, x):
    hidden = ops.relu(x @ p["w1"].T + p["b1"])
    hidden = ops.relu(hidden @ p["w2"].T + p["b2"])
    return hidden @ p["w3"].T + p["b3"]


def margin_loss(p, x, y):
    return ops.relu(1.0 - y * score(p, x)).sum() / 10.0


def test_half_moons_golden():
    """One routine serves all 400 steps: the batch is a slice at a symbol, and the rate falls with another."""
    rng = moons.Xorshift(5)
    points, signs = moons.moons(rng, 200), moons.labels(400)
    p = {name: fnb.Parameter(fnb.tensor(value, name=name)) for name, value in moons.parameters(rng).items()}
    data, wanted = fnb.tensor(points.reshape(40, 10, 2)), fnb.tensor(signs.reshape(40, 10, 1))
    batch, step = fnb.symbol("batch", range=40), fnb.symbol("step")
    with fnb.capture() as c:
        loss = margin_loss(p, data[batch], wanted[batch])
        loss.name = "loss"
    update = train.grad_update(loss)
    sgd = train.sgd_update(loss, 0.1 * (800 - step) / 400, weight_decay=1e-4)
    routine = train.to_routine(train.sequence([update, sgd]), (batch, step))
    losses = []
    for number in range(400):
        routine.bindings[step] = number
        routine.run(batch=number % 40)
        losses.append(loss.item())
    np.testing.assert_allclose(losses[:10], FIRST, atol=1e-4)
    assert losses.index(0) == 23
    sums = np.reshape(losses, (10, 40)).sum(1)
    np.testing.assert_allclose(sums[:4], SUMS, atol=2e-3)
    assert losses.count(0) in LATER
    np.testing.assert_allclose(sums[4:], LATER[losses.count(0)], atol=2e-3)
    predicted = score(p, fnb.tensor(points)).numpy()
    assert (np.sign(predicted) == signs).all()
    assert routine.name == "loss gradient update then loss sgd update"
    assert len(c.program) < len(routine.program)


def captured(shape=()):
    w = fnb.Parameter(fnb.tensor(np.full(shape, 2.0, "float32"), name="w"))
    x = fnb.tensor(np.full(shape, 3.0, "float32"))
    with fnb.capture():
        loss = w * w * x
    return w, x, loss


def test_gradients_do_not_accumulate_across_runs_and_can_be_read():
    w, x, loss = captured()
    routine = train.to_routine(train.grad_update(loss))
    for _ in range(3):
        routine.run()
        assert (loss.item(), w.grad.item()) == (12.0, 12.0)
    x[...] = 1.0
    routine.run()
    assert w.grad.item() == 4.0


def test_a_loss_of_several_elements_has_seed_one_for_each():
    w, _, loss = captured((2, 2))
    train.to_routine(train.grad_update(loss)).run()
    np.testing.assert_array_equal(w.grad.numpy(), np.full((2, 2), 12.0))


def test_update_is_a_routine_of_its_own_that_needs_the_gradients():
    w, _, loss = captured()
    update = train.grad_update(loss)
    gradients = train.to_routine(update, name="gradients")
    descent = train.to_routine(train.sgd_update(update, 0.5), name="descent")
    with pytest.raises(MemoryModeError, match="'descent' reads a value that is not there yet.*'gradients'.*not run"):
        descent.run()
    assert w.item() == 2.0
    gradients.run()
    descent.run()
    assert w.item() == 2.0 - 0.5 * 12.0


def test_a_routine_before_the_one_that_produces_what_it_reads():
    _, _, loss = captured()
    update = train.grad_update(loss)
    with pytest.raises(MemoryModeError, match="reads a value that nothing has written"):
        train.to_routine(train.sgd_update(update, 0.5))


@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_is_that_of_the_optimiser(nesterov):
    w, _, loss = captured()
    steps = [train.grad_update(loss), train.sgd_update(loss, lambda: 0.01, 0.9, 0.1, nesterov)]
    routine = train.to_routine(train.sequence(steps))
    other = fnb.Parameter(fnb.tensor(2.0), decay=True)
    optimizer = fnb.optim.SGD([other], 0.01, momentum=0.9, nesterov=nesterov, weight_decay=0.1)
    for _ in range(4):
        routine.run()
        optimizer.zero_grad()
        (other * other * 3.0).backward()
        optimizer.step()
        assert w.item() == other.item()


def test_shared_statements_are_computed_once():
    _, _, loss = captured()
    both = train.sequence([train.forward(loss), train.grad_update(loss)])
    assert len(both) == len(train.grad_update(loss))


def test_forward_takes_only_what_is_needed():
    x = fnb.tensor([1.0, 2.0])
    with fnb.capture() as c:
        y = ops.exp(x)
        ops.tanh(x)
    assert len(c.program) == 2
    assert len(train.forward(y)) == 1


def test_a_node_or_an_error_that_says_where():
    _, x, loss = captured()
    assert train.diff_or_error(loss, "here") is loss.node
    with pytest.raises(TapeError, match=r"here: a tensor of shape \(\) is not differentiable"):
        train.diff_or_error(x, "here")


def test_not_differentiable():
    with fnb.capture():
        y = ops.exp(fnb.tensor([1.0]))
    with pytest.raises(TapeError, match="grad_update: a tensor of shape.*is not differentiable"):
        train.grad_update(y)


def test_without_checks_the_loss_is_scratch():
    w, _, loss = captured()
    update = train.grad_update_nochecks(loss)
    train.to_routine(update).run()
    assert w.grad.item() == 12.0
    assert update.params == (w,)
    with pytest.raises(MemoryModeError, match="retain"):
        loss.item()


def test_ids_that_forward_converts_and_checks_are_good_for_backward():
    table = fnb.Parameter(fnb.tensor(np.arange(8.0, dtype="float32").reshape(4, 2)))
    ids = fnb.tensor(np.array([3, 1, 3], "int32"))
    with fnb.capture():
        loss = (ops.embedding(ids, table) * 2.0).sum()
    routine = train.to_routine(train.grad_update(loss))
    routine.run()
    np.testing.assert_array_equal(table.grad.numpy(), [[0, 0], [2, 2], [0, 0], [4, 4]])
    ids[1] = 4
    with pytest.raises(IndexRangeError, match="token id 4: it must be in 0 .. 3"):
        routine.run()


def test_an_error_consumes_nothing():
    """What failed can be put right: the capture and its graph are as they were."""
    w, x, loss = captured()
    with fnb.capture():
        plain = x * 2.0
    with pytest.raises(TapeError, match="is not differentiable"):
        train.sequence([train.forward(plain), train.grad_update(plain)])
    train.to_routine(train.forward(plain)).run()
    assert plain.item() == 6.0
    with pytest.raises(ArgumentError, match="is not a parameter"):
        train.sequence([train.grad_update(loss), train.sgd_one(x, 0.1)])
    routine = train.to_routine(train.sequence([train.grad_update(loss), train.sgd_one(w, 0.5)]))
    routine.run()
    assert w.item() == 2.0 - 0.5 * 12.0


def test_other_results_of_a_capture_are_no_obstacle():
    """One may be used and others left, in any order, and one value may lead to several."""
    w = fnb.Parameter(fnb.tensor(2.0))
    with fnb.capture():
        shared = w * w
        left, right, unused = shared * 3.0, shared + 1.0, ops.exp(shared)
    both = train.to_routine(train.sequence([train.forward(right), train.grad_update(left)]))
    both.run()
    assert (right.item(), left.item(), w.grad.item()) == (5.0, 12.0, 12.0)
    assert train.forward_once(unused).item() == pytest.approx(np.exp(4.0))


def test_what_has_a_value_or_a_routine_is_refused():
    with pytest.raises(MemoryModeError, match="forward needs a tensor that is not computed yet"):
        train.forward(fnb.tensor(1.0))
    _, _, loss = captured()
    program = train.forward(loss)
    train.to_routine(program)
    with pytest.raises(MemoryModeError, match="that a routine computes already"):
        train.forward(loss)
    with pytest.raises(MemoryModeError, match="what another routine computes already"):
        train.to_routine(program)


def test_arguments():
    w, x, loss = captured()
    with pytest.raises(ArgumentError, match="no programs"):
        train.sequence([])
    with pytest.raises(ArgumentError, match="is not a parameter"):
        train.sgd_one(x, 0.1)
    with pytest.raises(TapeError, match="parameter w has no gradient"):
        train.sgd_one(w, 0.1)
    with pytest.raises(BackendError, match="captured on backend 'cpu', not on 'python'"):
        train.to_routine(train.forward(loss), backend="python")
    with fnb.capture() as c:
        pass
    with pytest.raises(ArgumentError, match="no statements"):
        train.to_routine(c.program)


def test_parameters_come_in_the_order_of_their_making_from_shared_graphs():
    a, b = (fnb.Parameter(fnb.tensor(value)) for value in (1.0, 2.0))
    frozen = fnb.Parameter(fnb.tensor(3.0))
    frozen.requires_grad = False
    y = b * a + frozen
    for _ in range(60):
        y = y + y
    assert [p.item() for p in train.parameters(y)] == [1.0, 2.0]
    assert train.is_param(a)
    assert not train.is_param(frozen)
    assert not train.is_param(y)


def test_counters_advance_with_the_part_that_uses_them():
    """Dropout draws anew in each run of a program cut from a capture; an optimiser's count stays with its update."""
    drop = fnb.nn.Dropout(0.5)
    w = fnb.Parameter(fnb.tensor(np.ones(1000, "float32")))
    optimizer = fnb.optim.SGD([w], 0.0)
    with fnb.capture() as c:
        y = drop(w * 1.0)
        y.sum().backward()
        optimizer.step()
    assert len(c.program.recorder.before) == 2
    steps = optimizer.steps
    routine = train.to_routine(train.forward(y))
    masks = []
    for _ in range(3):
        routine.run()
        masks.append(y.numpy().copy())
    assert (masks[0] != masks[1]).any()
    assert (masks[1] != masks[2]).any()
    assert optimizer.steps == steps


def test_running_statistics_move_in_every_run_of_a_program():
    """They are nothing that the loss needs, and yet part of the step: one of a compiled step moves them as far."""
    x = np.random.default_rng(0).normal(size=(6, 3)).astype("float32")
    layers = [fnb.nn.BatchNorm(3), fnb.nn.BatchNorm(3)]
    with fnb.capture():
        loss = (layers[0](fnb.tensor(x)) ** 2).sum()
    update = train.grad_update(loss)
    assert update.changes()
    routine = train.to_routine(train.sequence([update, train.sgd_update(update, 0.0)]))
    for _ in range(2):
        routine.run()
        layers[1](fnb.tensor(x))
    for name in ("running_mean", "running_var"):
        np.testing.assert_array_equal(getattr(layers[0], name).numpy(), getattr(layers[1], name).numpy())
    with fnb.capture():
        out = layers[0](fnb.tensor(x)) + fnb.tensor(x)
    train.to_routine(train.forward(out)).run()
    layers[1](fnb.tensor(x))
    np.testing.assert_array_equal(layers[0].running_mean.numpy(), layers[1].running_mean.numpy())


def test_what_an_optimiser_does_in_a_capture_is_no_part_of_its_loss():
    w = fnb.Parameter(fnb.tensor(2.0, name="w"))
    other = fnb.tensor([1.0])
    with fnb.capture():
        loss = w * fnb.tensor(3.0)
        loss.backward(retain_graph=True)
        fnb.optim.SGD([w], lr=0.5).step()
        other[...] = 5.0
    train.to_routine(train.forward(loss)).run()
    assert (loss.item(), w.item(), other.item()) == (6.0, 2.0, 1.0)
    assert not train.grad_update(captured()[2]).changes()


@pytest.mark.parametrize("wrong", [None, 3, "x", [1.5], np.ones((2, 2)), print])
def test_wrong_types_are_refused_like_wrong_values(wrong):
    w = fnb.Parameter(fnb.tensor(1.0, name="w"))
    with fnb.capture():
        loss = w * 2.0
    update = train.grad_update(loss)
    for function in (train.forward, train.grad_update, train.grad_update_nochecks, train.forward_once):
        with pytest.raises(ArgumentError, match="needs a (captured )?tensor, got"):
            function(wrong)
    with pytest.raises(ArgumentError, match="here needs a tensor, got"):
        train.diff_or_error(wrong, "here")
    for function in (train.to_routine, train.sequence, lambda part: train.sequence([update, part])):
        with pytest.raises(ArgumentError, match="works on programs, such as those of forward"):
            function(wrong)
    if wrong is not None:
        with pytest.raises(ArgumentError, match="bindings"):
            train.to_routine(update, wrong)
    if wrong is not None and not isinstance(wrong, str):
        for function in (train.to_routine, lambda part, name: train.sequence([part], name)):
            with pytest.raises(ArgumentError, match="a name is text"):
                function(update, name=wrong)
    with pytest.raises(ArgumentError, match="nesterov to be True or False"):
        train.sgd_update(update, 0.1, 0.5, nesterov=wrong)
    with pytest.raises(ArgumentError, match="from_device to be True or False"):
        train.set_on_host(w, wrong)
    for pauses in (wrong, [wrong], [(wrong, print)], [([w], 3)]):
        with fnb.capture():
            again = w * 2.0
        with pytest.raises(ArgumentError, match="pauses are pairs of"):
            train.to_routine(train.forward(again), pauses=pauses)
