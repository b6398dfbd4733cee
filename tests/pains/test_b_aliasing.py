"""Section B: gradients have memory of their own, and an augmented assignment changes no caller's tensor."""

import numpy as np
import pytest
from support.leaves import leaf

import forgenb as fnb

pytestmark = pytest.mark.usefixtures("each_backend")


@pytest.mark.parametrize(
    "f",
    [lambda x, y: x + y, lambda x, y: x - y, lambda x, y: (x + y) * 1.0, lambda x, y: x.reshape(3) + y],
    ids=["add", "sub", "scaled", "reshaped"],
)
def test_gradients_share_no_memory(f):
    """P18."""
    x, y = leaf([1.0, 2.0, 3.0]), leaf([4.0, 5.0, 6.0])
    seed = fnb.tensor(np.ones(3))
    out = f(x, y).retain_grad()
    out.backward(seed)
    assert len({id(t.memory) for t in (x.grad, y.grad, out.grad, seed)}) == 4
    before = y.grad.tolist()
    x.grad.add_in_place(x.grad.copy())
    assert y.grad.tolist() == before
    assert seed.tolist() == [1.0] * 3


@pytest.mark.parametrize("tracked", [False, True])
def test_augmented_assignment_binds_a_new_tensor(tracked):
    """P22: one value with and without a tape."""

    def f(x):
        y = x
        y += 1
        return (y * x).sum()

    x = fnb.tensor([1.0, 1.0, 1.0], requires_grad=tracked)
    out = f(x)
    assert out.item() == 6
    assert x.tolist() == [1, 1, 1]
    if tracked:
        out.backward()
        assert x.grad.tolist() == [3, 3, 3]


@pytest.mark.parametrize("tracked", [False, True])
def test_augmented_assignment_to_an_array_of_the_caller_leaves_it(tracked):
    """P22: what a tensor was made from is not written either."""
    array = np.ones(3)
    x = fnb.tensor(array, requires_grad=tracked)
    x += 1
    assert (x.tolist(), array.tolist()) == ([2, 2, 2], [1, 1, 1])
