"""Activation checkpointing of any function of a tensor: the same bits, less memory, derivatives of all kinds."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError, TapeError
from forgenb.recompute import recomputed

RNG = np.random.default_rng(7)
X, W = RNG.normal(size=(12, 4)), RNG.normal(size=(4, 4)) / 3


class Part:
    """A function with inner values, which counts its calls."""

    def __init__(self, tracked=True):
        self.w, self.calls = fnb.tensor(W, requires_grad=tracked), 0

    def __call__(self, x):
        self.calls += 1
        return x + fnb.ops.tanh(fnb.ops.gelu(x @ self.w) * 2.0)


def plain(part, x):
    return part(x)


def again(part, x):
    return recomputed(part, x, [part.w])


def swept(run, x_tracked=True, w_tracked=True, parts=3):
    """Value and gradients of a chain, and its peak of memory."""
    x, chain = fnb.tensor(X, requires_grad=x_tracked), [Part(w_tracked) for _ in range(parts)]
    with fnb.peak_memory() as peak:
        y = x
        for part in chain:
            y = run(part, y)
        y.backward(fnb.tensor(np.cos(X)))
    leaves = [t for t in (x, *(part.w for part in chain)) if t.requires_grad]
    return [y.numpy().tobytes(), *(t.grad.numpy().tobytes() for t in leaves)], peak.nbytes


@pytest.mark.usefixtures("each_backend")
@pytest.mark.parametrize(("x_tracked", "w_tracked"), [(True, True), (True, False), (False, True)])
def test_value_and_gradients_have_the_same_bits(x_tracked, w_tracked):
    assert swept(again, x_tracked, w_tracked)[0] == swept(plain, x_tracked, w_tracked)[0]


def test_a_longer_chain_costs_one_input_more_and_no_inner_value():
    swept(plain), swept(again)
    (four, eight), (kept, more) = ([swept(run, parts=n)[1] for n in (4, 8)] for run in (again, plain))
    part = X.nbytes + 2 * W.nbytes  # its input, its weight and the gradient of that
    assert eight - four <= 4 * part + 64
    assert more - kept > 4 * (part + 2 * X.nbytes)


def test_nothing_runs_twice_where_nothing_is_recorded_or_tracked():
    part = Part()
    with fnb.no_grad():
        assert again(part, fnb.tensor(X)).requires_grad is False
    assert part.calls == 1
    still = Part(tracked=False)
    assert again(still, fnb.tensor(X)).requires_grad is False
    y = again(part, fnb.tensor(X))
    assert part.calls == 2
    y.sum().backward()
    assert (part.calls, still.calls) == (3, 1)


def test_a_graph_that_is_retained_can_be_swept_again():
    part = Part()
    y = again(part, fnb.tensor(X)).sum()
    y.backward(retain_graph=True)
    once = part.w.grad.numpy().copy()
    y.backward()
    np.testing.assert_array_equal(part.w.grad.numpy(), 2 * once)


@pytest.mark.parametrize("of", ["x", "w"])
def test_second_derivatives_go_through(of):
    def product(run):
        part, x = Part(), fnb.tensor(X, requires_grad=True)
        point = x if of == "x" else part.w
        vector = fnb.tensor(np.sin(point.numpy()))
        return fnb.hvp(lambda: (run(part, x) ** 2.0).sum(), point, vector).numpy()

    np.testing.assert_allclose(product(again), product(plain), rtol=1e-12)


def test_what_is_not_named_gets_no_gradient():
    part = Part()
    x = fnb.tensor(X, requires_grad=True)
    recomputed(part, x).sum().backward()
    assert part.w.grad is None
    assert x.grad is not None


def test_a_parameter_that_changed_in_between_is_refused():
    part = Part()
    y = again(part, fnb.tensor(X)).sum()
    with fnb.no_grad():
        part.w[...] = W
    with pytest.raises(TapeError, match="was changed in place afterwards"):
        y.backward()


def test_what_is_not_named_is_left_to_others_that_need_it():
    x, a = (fnb.tensor(X, requires_grad=True) for _ in range(2))
    side = a * 2.0
    (recomputed(lambda x: x * side, x).sum() + side.sum()).backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2.0 * X)
    np.testing.assert_array_equal(a.grad.numpy(), np.full_like(X, 2.0))


def test_a_result_that_was_there_before_is_not_touched():
    w, plain = fnb.tensor(W, requires_grad=True), fnb.tensor(X)
    assert recomputed(lambda x: x, plain, [w]).requires_grad
    assert plain.requires_grad is False
    x = fnb.tensor(X, requires_grad=True)
    recomputed(lambda x: x, x, [w]).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.ones_like(X))
    assert w.grad is None


def test_an_error_in_the_second_call_leaves_the_tape_on_and_the_graph_as_it_was():
    x, calls = fnb.tensor(X, requires_grad=True), []

    def fails_once(x):
        calls.append(1)
        if len(calls) == 2:
            raise OSError("gone")
        return x * 2.0

    y = recomputed(fails_once, x).sum()
    with pytest.raises(OSError, match="gone"):
        y.backward(retain_graph=True)
    assert x.grad is None
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full_like(X, 2.0))


def test_another_shape_the_second_time_is_refused():
    x, rows = fnb.tensor(X, requires_grad=True), iter([3, 2])
    y = recomputed(lambda x: x[: next(rows)], x).sum()
    with pytest.raises(TapeError, match=r"gave shape \(2, 4\) and dtype float64, and before \(3, 4\) and float64"):
        y.backward()


@pytest.mark.parametrize("off", [False, True])
def test_what_are_no_tensors_is_refused(off):
    x = fnb.tensor(X, requires_grad=True)
    with fnb.recompute.recording(not off):
        for given, message in (
            ((abs, X), "x and parameters that are tensors, got ndarray"),
            ((abs, x, [W]), "x and parameters that are tensors, got ndarray"),
            ((abs, x, x), "its parameters as a list of tensors, got Tensor"),
            ((abs, x, None), "its parameters as a list of tensors, got NoneType"),
            ((lambda x: (x, x), x), "must return one tensor, got tuple"),
            ((lambda x: None, x), "must return one tensor, got NoneType"),
        ):
            with pytest.raises(ArgumentError, match=message):
                recomputed(*given)
