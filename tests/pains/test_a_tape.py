"""Section A: what a tape promises, on every backend."""

import numpy as np
import pytest
from support.leaves import gradients, leaf, live, only_counting

import forgenb as fnb
from forgenb.errors import TapeError
from forgenb.tape import record

pytestmark = pytest.mark.usefixtures("each_backend")


def test_a_second_sweep_of_shared_nodes_adds_exactly_once():
    """P01."""
    a, b = leaf(3.0), leaf(2.0)
    c = a + b
    d = leaf(1.0)
    e = c * d
    e.backward(retain_graph=True)
    assert (a.grad.item(), d.grad.item()) == (1.0, 5.0)
    e.backward()
    assert (a.grad.item(), d.grad.item()) == (2.0, 10.0)


def test_a_node_used_twice_is_visited_once():
    """P03."""
    a = leaf(1.0)
    b = a + a
    (b + b).backward()
    assert a.grad.item() == 4.0


def test_an_op_that_returns_its_own_input_is_refused():
    """P05: a tape cannot get a cycle."""
    x = leaf(1.0)

    def backward(dout):
        return (dout,)

    y = x * 2.0
    for output in (x, y):
        with pytest.raises(TapeError, match="on the tape already"):
            record(output, (x, y), backward)
    assert x.node.leaf


def test_a_custom_op_that_returns_its_input_makes_no_cycle():
    """P05."""
    same = fnb.custom_op(lambda x: x, lambda dout, x: dout)
    x = leaf([1.0, 2.0])
    y = same(x)
    assert y is not x
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


ROUNDS = {
    "products": lambda x: (x * x / (x + 3.0)).sum(),
    "softmax": lambda x: (fnb.ops.softmax(x) * x).sum(),
    "exp": lambda x: fnb.ops.exp(x).mean(),
    "tanh": lambda x: fnb.ops.tanh(x).mean(),
    "sigmoid": lambda x: fnb.ops.sigmoid(x).mean(),
    "sqrt": lambda x: fnb.ops.sqrt(x).mean(),
    "gelu": lambda x: fnb.ops.gelu(x).mean(),
    "matmul": lambda x: (x @ x.T).sum(),
    "grad": lambda x: fnb.grad(lambda y: (y * y).sum())(x).sum(),
}


@pytest.mark.parametrize("round_", ROUNDS.values(), ids=ROUNDS)
@pytest.mark.parametrize("sweeps", [True, False])
def test_rounds_leave_no_tensor_without_the_cyclic_collector(round_, sweeps, each_backend):
    """P07: no reference cycles, in a hundred rounds, or in five where each takes long."""

    def one():
        x = leaf(np.linspace(0.5, 2, 6).reshape(2, 3))
        y = round_(x)
        if sweeps:
            y.backward()

    one()
    with only_counting():
        for _ in range(100 if each_backend == "cpu" else 5):
            one()
        assert live(fnb.Tensor) == 0


def test_the_message_of_a_consumed_graph_is_one_short_paragraph():
    """P08."""
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    y.backward()
    with pytest.raises(TapeError, match="sum.*consumed.*retain_graph=True") as caught:
        y.backward()
    assert str(caught.value).count("\n") == 0
    assert len(str(caught.value)) < 300


def test_mean_and_max_are_tracked():
    """P12; that no op drops a tracked input in silence is shown for the whole table in tests/ops."""
    t = leaf([1.0, 2.0, 3.0])
    (t * t).mean().backward()
    np.testing.assert_allclose(t.grad.numpy(), [2 / 3, 4 / 3, 2], rtol=1e-15)
    assert gradients(lambda x: x.max(), leaf([1.0, 3.0, 2.0])) == [[0, 1, 0]]


@pytest.mark.parametrize("key", [slice(None), [0, 1], Ellipsis], ids=str)
def test_a_tracked_tensor_is_not_written_into_an_array(key):
    """P14: its gradient would be lost in silence. More of this is in tests/interop."""
    array, y = np.zeros(2), leaf([1.0, 2.0]) * 2.0
    with pytest.raises(TypeError, match="join tensors with stack or concat"):
        array[key] = y
    assert array.tolist() == [0, 0]
    array[key] = y.detach()
    assert array.tolist() == [2, 4]


def test_a_base_has_its_whole_gradient_though_a_view_of_it_exists():
    """P16: a view has a gradient where it is asked for and used."""
    base = leaf([1.0, 2.0, 3.0])
    view = base[:2].retain_grad()
    (base**2).sum().backward()
    assert base.grad.tolist() == [2, 4, 6]
    assert view.grad is None


def test_a_view_passes_its_gradient_to_its_base():
    """P16."""
    base = leaf([1.0, 2.0, 3.0])
    view = base[:2].retain_grad()
    ((base * base).sum() + (view * 3.0).sum()).backward()
    assert base.grad.tolist() == [5, 7, 6]
    assert view.grad.tolist() == [3, 3]
