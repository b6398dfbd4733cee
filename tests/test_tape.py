"""Recording and sweeping: what a tape promises."""

import numpy as np
import pytest
from support.leaves import leaf

import forgenb as fnb
from forgenb.errors import DTypeError, TapeError

# Sweeps


def test_a_chain_of_50000_additions_runs_backward():
    x = leaf([1.0, 2.0])
    y = x
    for _ in range(50_000):
        y = y + 1.0
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_chain_of_50000_additions_is_dropped_without_a_sweep():
    y = leaf(1.0)
    for _ in range(50_000):
        y = y + 1.0
    assert y.item() == 50_001
    del y


def test_a_sweep_frees_values_and_gradients_as_it_uses_them():
    """Ten values are saved; nothing is added to them but the few that one rule works with, and they fall away."""
    size = 8 * 10_000
    x = leaf(np.full(10_000, 0.5))
    with fnb.peak_memory() as peak:
        y = x
        for _ in range(10):
            y = fnb.ops.exp(-y)
        forward = peak.now
        root = y.sum()
        del y
        root.backward()
    assert forward >= 10 * size
    assert peak.nbytes <= forward + 3 * size
    assert x.grad.size == 10_000


def test_a_sweep_leaves_nothing_but_gradients_of_leaves():
    x = leaf(np.full(10_000, 0.5))
    with fnb.peak_memory() as peak:
        root = fnb.ops.exp(fnb.ops.exp(-x)).sum()
        root.backward()
        assert peak.now <= 8 * 10_000 + 1000


def test_a_consumed_part_of_another_graph_is_refused_and_no_gradient_changes():
    x, w = leaf(2.0), leaf(5.0)
    shared = x * x
    shared.backward()
    with pytest.raises(TapeError, match="mul .*consumed"):
        (shared * w).backward()
    assert x.grad.item() == 4.0
    assert w.grad is None


def test_reshape_to_the_same_shape_makes_no_cycle():
    x = leaf([1.0, 2.0])
    x.reshape(2).reshape(2, 1).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_saved_value_that_was_changed_in_place_is_refused():
    x, y = leaf([1.0, 2.0]), fnb.tensor([3.0, 4.0], dtype="float64")
    out = (x * y).sum()
    y.add_in_place(y.copy())
    with pytest.raises(TapeError, match="mul saved a tensor of shape \\(2,\\).*changed in place"):
        out.backward()
    assert x.grad is None


def test_a_value_that_was_not_saved_may_be_changed_in_place():
    x, y = leaf([1.0, 2.0]), fnb.tensor([3.0, 4.0], dtype="float64")
    out = (x + y).sum()
    y.add_in_place(y.copy())
    out.backward()
    assert x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("seed", "message"),
    [
        (None, "needs a seed gradient of that shape"),
        (np.ones(3), "must have the root's shape \\(2,\\)"),
        (np.ones(2, np.float32), "dtype float64 .* float32"),
    ],
)
def test_a_seed_that_does_not_fit_is_refused(seed, message):
    y = leaf([1.0, 2.0]) * 2.0
    with pytest.raises(TapeError, match=message):
        y.backward(None if seed is None else fnb.tensor(seed))


def test_a_seed_that_is_no_tensor_is_refused():
    with pytest.raises(TapeError, match="must be a tensor of shape \\(2,\\), got list"):
        (leaf([1.0, 2.0]) * 2.0).backward([1.0, 1.0])


def test_a_seed_weighs_the_elements():
    x = leaf([1.0, 2.0])
    (x * x).backward(fnb.tensor([10.0, 1.0], dtype="float64"))
    assert x.grad.tolist() == [20.0, 4.0]


def test_integer_leaves_are_refused():
    with pytest.raises(DTypeError, match="int64 cannot require a gradient"):
        fnb.tensor([1, 2], requires_grad=True)


def test_backward_from_an_untracked_tensor_is_refused():
    with pytest.raises(TapeError, match="not tracked"):
        fnb.tensor(1.0).backward()
    with fnb.no_grad():
        y = leaf(1.0) * 2.0
    with pytest.raises(TapeError, match="compute it outside no_grad"):
        y.backward()


def test_detach_ends_the_tape_and_an_unused_leaf_has_no_gradient():
    x, unused = leaf(3.0), leaf(1.0)
    (x * x.detach()).backward()
    assert x.grad.item() == 3.0
    assert unused.grad is None


def test_leaves_accumulate_until_they_are_cleared():
    x = leaf(3.0)
    for expected in (6.0, 12.0):
        (x * x).backward()
        assert x.grad.item() == expected
    x.grad = None
    (x * x).backward()
    assert x.grad.item() == 6.0


def test_an_earlier_gradient_is_not_written_when_another_comes():
    x = leaf(3.0)
    (x * x).backward()
    first = x.grad
    (x * x).backward()
    assert first.item() == 6.0


def test_inner_gradients_are_kept_where_asked_for():
    x = leaf(3.0)
    y = x * x
    z = y * 2.0
    y.retain_grad()
    z.backward()
    assert (y.grad.item(), z.grad) == (2.0, None)
    with pytest.raises(TapeError, match="not tracked"):
        fnb.tensor(1.0).retain_grad()


# Aliasing


def test_the_gradient_of_a_leaf_that_is_its_own_root_is_a_copy_of_the_seed():
    x = leaf([1.0, 2.0])
    seed = fnb.tensor(np.ones(2))
    x.backward(seed)
    assert x.grad.memory is not seed.memory


# Gradients of gradients


@pytest.mark.parametrize(
    ("f", "first", "second"),
    [
        (lambda x: x * x * x, lambda x: 3 * x**2, lambda x: 6 * x),
        (lambda x: (x * x + 1.0) / x, lambda x: 1 - x**-2, lambda x: 2 * x**-3),
        (lambda x: (x - 2.0 * x * x) * -x, lambda x: 6 * x**2 - 2 * x, lambda x: 12 * x - 2),
    ],
)
def test_create_graph_gives_second_derivatives(f, first, second):
    at = np.array([0.5, 1.5, 3.0])
    x = leaf(at)
    f(x).sum().backward(create_graph=True)
    dx, x.grad = x.grad, None
    np.testing.assert_allclose(dx.numpy(), first(at), rtol=1e-12)
    dx.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), second(at), rtol=1e-12)


def test_second_derivatives_through_products_of_matrices():
    a = np.array([[1.0, 2.0], [3.0, 5.0]])
    x = leaf([[1.0, -2.0], [0.5, 4.0]])
    y = x @ fnb.tensor(a) @ x
    y.sum().backward(create_graph=True)
    dx, x.grad = x.grad, None
    (dx * dx).sum().backward()
    step, base = 1e-6, x.numpy().copy()

    def squares(v):
        ones = np.ones((2, 2))
        d = ones @ (a @ v).T + (v @ a).T @ ones
        return (d * d).sum()

    numeric = np.zeros_like(base)
    for i in np.ndindex(2, 2):
        up, down = base.copy(), base.copy()
        up[i] += step
        down[i] -= step
        numeric[i] = (squares(up) - squares(down)) / (2 * step)
    np.testing.assert_allclose(x.grad.numpy(), numeric, rtol=1e-6)


def test_without_create_graph_gradients_are_not_tracked():
    x = leaf(2.0)
    (x * x).backward()
    assert not x.grad.requires_grad
