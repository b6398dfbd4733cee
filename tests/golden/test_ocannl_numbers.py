"""Numbers that the examples of OCANNL 0.5.1 print: expressions, a step of descent, single ops, two shards of data."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops, train


def parameter(value, name=None):
    return fnb.Parameter(fnb.tensor(np.array(value, "float64"), name=name))


def trained(loss, rate):
    """A routine of the gradients of `loss` and of one step of descent after them."""
    update = train.grad_update(loss)
    return train.to_routine(train.sequence([update, train.sgd_update(update, rate)]))


@pytest.mark.usefixtures("each_backend")
def test_the_first_expressions():
    hey = parameter(7.0)
    assert (2 * hey).item() == 14
    assert (fnb.tensor([[7.0]]) @ fnb.tensor([2.0]) + 1).tolist() == [15]
    assert (fnb.tensor(np.full((3, 2), 7.0)) @ fnb.tensor([2.0, 3.0]) + fnb.tensor([4.0, 5.0, 6.0])).tolist() == [
        39, 40, 41,
    ]  # fmt: skip


@pytest.mark.usefixtures("each_backend")
def test_a_big_matrix():
    counting = np.arange(21.0)
    found = fnb.tensor(np.full((21, 21), 0.5)) @ fnb.tensor(counting) + fnb.tensor(counting)
    assert found.tolist() == list(range(105, 126))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_very_big_tensor(dtype):
    """A batch of 6, an output of 10 x 11, an input of 7 x 8 x 9; float32 prints as many digits as it holds."""
    shape = (6, 10, 11, 7, 8, 9)
    x = fnb.tensor(np.arange(np.prod(shape), dtype=dtype).reshape(shape))
    found = ops.einsum("bpqijk,ijk->bpq", x, fnb.tensor(np.full((7, 8, 9), 2, dtype))) - 10
    wanted = 253502.0 + 508032.0 * np.arange(660).reshape(6, 10, 11)
    assert wanted[0, 0, [0, 1, 9, 10]].tolist() == [253502, 761534, 4825790, 5333822]
    assert wanted[-1, -1, -1] == 335046590
    np.testing.assert_allclose(found.numpy(), wanted, rtol=4e-6 if dtype == "float32" else 0)


def nested(a, b):
    """The expression that micrograd shows first."""
    c = 2 * (2 * (a + b) + 1) + 1 - a
    d = 4 * (3 * (a * b + b**3) + ops.relu(a + b)) + ops.relu(b - a)
    squared = (c - d) ** 2
    return squared / 2 + 10 / squared


@pytest.mark.usefixtures("each_backend")
def test_the_first_expression_of_micrograd():
    a, b = parameter(-4.0), parameter(2.0)
    with fnb.capture():
        g = nested(a, b)
    train.to_routine(train.grad_update(g)).run()
    assert g.item() == pytest.approx(24.70408163265306, rel=1e-13)
    assert a.grad.item() == pytest.approx(138.83381924198252, rel=1e-13)
    assert b.grad.item() == pytest.approx(645.5772594752186, rel=1e-13)


def parabola(x):
    return 3 * x**2 - 4 * x + 5


@pytest.mark.usefixtures("each_backend")
def test_a_parabola_at_one_place():
    x = parameter(5.0)
    y = parabola(x)
    y.backward()
    assert (y.item(), x.grad.item()) == (60, 26)


def test_a_parabola_swept_by_a_symbol():
    """One routine serves all places, and the gradient is that of the place alone."""
    x, n = parameter(np.arange(-50, 50) / 10), fnb.symbol("n", range=100)
    with fnb.capture():
        y = parabola(x[n])
    routine = train.to_routine(train.grad_update(y))
    values, slopes = [], []
    for place in range(100):
        routine.run(n=place)
        values.append(y.item())
        slopes.append(x.grad.numpy().copy())
    assert (max(values), min(values)) == pytest.approx((100, 3.67))
    assert (values.index(max(values)), values.index(min(values))) == (0, 57)
    np.testing.assert_allclose(slopes, np.diag(np.linspace(-34, 25.4, 100)), rtol=1e-13)


@pytest.mark.usefixtures("each_backend")
def test_two_runs_of_a_step_of_descent():
    a, b, c, f = params = [parameter(v, name) for name, v in (("a", 2.0), ("b", -3.0), ("c", 10.0), ("f", -2.0))]
    with fnb.capture():
        e = (a * b).retain().retain_grad()
        d = (e + c).retain().retain_grad()
        loss = d * f
    update = train.grad_update(loss)
    inner = [t.grad.retain() for t in (e, d)]
    routine = train.to_routine(train.sequence([update, train.sgd_update(update, 0.1)]))
    routine.run()
    assert (e.item(), d.item(), loss.item()) == (-6, 4, -8)
    assert [p.grad.item() for p in params] == [6, -4, -2, 4]
    assert [g.item() for g in inner] == [-2, -2]
    assert [p.item() for p in params] == pytest.approx([1.4, -2.6, 10.2, -2.4], rel=1e-13)
    routine.run()
    assert (e.item(), d.item(), loss.item()) == pytest.approx((-3.64, 6.56, -15.744))
    assert (a.grad.item(), b.grad.item()) == pytest.approx((6.24, -3.36))


@pytest.mark.usefixtures("each_backend")
def test_a_neuron():
    w, x, b = parameter([-3.0, 1.0]), parameter([2.0, 0.0]), parameter(6.7)
    v = w @ x + b
    v.backward()
    assert v.item() == pytest.approx(0.7)
    assert (w.grad.tolist(), x.grad.tolist(), b.grad.item()) == ([2, 0], [-3, 1], 1)


@pytest.mark.usefixtures("each_backend")
def test_a_maximum_under_windows_that_overlap():
    """Each window gives its gradient to its own maximum; its second neighbour gets none by having the value."""
    x = parameter([5.0, 3.0, 1.0, 2.0, 5.0])
    pooled = ops.max_pool2d(x.reshape(1, 1, 1, 5), (1, 2), 1)
    assert pooled.reshape(4).tolist() == [5, 3, 2, 5]
    pooled.sum().backward()
    assert x.grad.tolist() == [1, 1, 0, 1, 1]


@pytest.mark.usefixtures("each_backend")
def test_embeddings_of_places():
    turned = ops.rope(fnb.tensor([[5.0, 6.0, 7.0, 8.0]]), offset=1)
    np.testing.assert_allclose(turned.numpy(), [[-2.3473, 7.4492, 6.9197, 8.0696]], atol=5e-5)
    angles = ops.outer(fnb.tensor([0.0, 1.0]), 10000.0 ** -fnb.tensor([0.0, 0.5]))
    sines = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1).reshape(2, 4)
    np.testing.assert_allclose(sines.numpy()[:, :2], [[0, 1], [0.8415, 0.5403]], atol=5e-5)


@pytest.mark.usefixtures("each_backend")
def test_embedding_by_ids_learns_its_rows():
    table, targets = fnb.Parameter(fnb.tensor(np.zeros((5, 2), "float32"))), np.arange(8, dtype="float32").reshape(4, 2)
    ids = np.array([0, 3, 1, 3])
    targets[3] = targets[1]
    with fnb.capture():
        loss = ((ops.embedding(fnb.tensor(ids), table) - fnb.tensor(targets)) ** 2).mean()
    routine = trained(loss, 0.5)
    for _ in range(60):
        routine.run()
    assert loss.item() < 0.01
    assert table.numpy()[[2, 4]].tolist() == [[0, 0], [0, 0]]


XS = np.array([1.0, 2.0, 3.0, 4.0])


def squared_error(w, xs):
    return ((w * fnb.tensor(xs) - fnb.tensor(2 * xs)) ** 2).sum()


@pytest.mark.usefixtures("each_backend")
def test_all_data_in_one_shard():
    w = parameter(0.5)
    with fnb.capture():
        loss = squared_error(w, XS)
    routine = trained(loss, 0.05)
    routine.run()
    assert (loss.item(), w.grad.item(), w.item()) == (67.5, -90, pytest.approx(5))


@pytest.mark.usefixtures("each_backend")
def test_data_in_two_shards_give_their_sum():
    """Each shard has its own copy of w; gradients are summed, since the loss is no mean over a shard."""
    copies, losses, updates = [parameter(0.5) for _ in range(2)], [], []
    for w, xs in zip(copies, np.split(XS, 2), strict=True):
        with fnb.capture():
            losses.append(squared_error(w, xs))
        updates.append(train.grad_update(losses[-1]))
    shards = [train.to_routine(update) for update in updates]
    descent = train.to_routine(train.sgd_update(updates[0], 0.05))
    for shard in shards:
        shard.run()
    owner, other = copies
    assert [loss.item() for loss in losses] == [11.25, 56.25]
    owner.grad.assign_(owner.grad + other.grad)
    descent.run()
    with fnb.no_grad():
        other.assign_(owner)
    assert owner.item() == other.item() == pytest.approx(5)
