"""Losses, log-softmax, rotary embedding, unfused attention and recurrent cells beyond the table."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, DTypeError, IndexRangeError, ShapeError, TapeError


def draw(*shape, seed=0, dtype="float64", tracked=False):
    values = np.random.default_rng(seed).uniform(-2, 2, shape).astype(dtype)
    return fnb.tensor(values, requires_grad=tracked)


def test_other_ways_to_the_plain_cross_entropy():
    """With a count of rows, all of which count, and from log probabilities."""
    x, targets = draw(6, 5), np.array([0, 4, 1, 1, 2, 3])
    plain = ops.cross_entropy(x, targets).item()
    np.testing.assert_allclose(ops.cross_entropy(x, targets, ignore_index=-1).item(), plain, rtol=1e-14)
    np.testing.assert_allclose(ops.nll_loss(ops.log_softmax(x), targets).item(), plain, rtol=1e-14)


@pytest.mark.parametrize("loss", [ops.cross_entropy, ops.nll_loss])
def test_ignored_rows_count_for_nothing(loss):
    x, kept = draw(5, 4, tracked=True), [0, 2, 3]
    targets = np.array([1, -100, 3, 0, -100])
    found = loss(x, targets, ignore_index=-100)
    np.testing.assert_allclose(found.item(), loss(x[np.array(kept)], targets[kept]).item(), rtol=1e-14)
    found.backward()
    assert np.flatnonzero(np.abs(x.grad.numpy()).sum(1)).tolist() == kept
    assert np.isnan(loss(x, np.full(5, -100), ignore_index=-100).item())
    with pytest.raises(IndexRangeError, match="target -100"):
        loss(x, targets)
    with pytest.raises(IndexRangeError, match="target 4: it must be in 0 .. 3"):
        loss(x, np.array([4, -100, 0, 0, 0]), ignore_index=-100)


@pytest.mark.parametrize("loss", [ops.cross_entropy, ops.nll_loss])
@pytest.mark.parametrize("wrong", [1.5, 2**63, "0"])
def test_an_ignored_target_is_a_whole_number(loss, wrong):
    with pytest.raises(ArgumentError, match=f"got ignore_index={wrong!r}: give a whole number"):
        loss(draw(2, 3), np.array([0, 1]), ignore_index=wrong)


@pytest.mark.parametrize("loss", [ops.cross_entropy, ops.nll_loss])
def test_ignored_targets_are_checked_before_each_run(loss):
    compiled = fnb.compile(lambda x, targets: loss(x, targets, ignore_index=-1))
    x = draw(3, 4)
    for targets in ([0, -1, 3], [-1, -1, 2], [1, 1, 1]):
        ids = np.array(targets)
        assert compiled(x, fnb.tensor(ids)).item() == loss(x, ids, ignore_index=-1).item()
    with pytest.raises(IndexRangeError, match="target 9"):
        compiled(x, fnb.tensor(np.array([0, 9, 0])))


def test_a_class_that_is_ruled_out_costs_nothing_but_a_share_of_the_label():
    x = fnb.tensor(np.array([[0.0, 0.0, -np.inf]]))
    for given, wanted in (
        ({}, np.log(2)),
        ({"ignore_index": -1}, np.log(2)),
        ({"label_smoothing": 0.1}, np.inf),
        ({"label_smoothing": 1.0}, np.inf),
    ):
        assert ops.cross_entropy(x, [1], **given).item() == pytest.approx(wanted)


def test_the_gradient_of_all_rows_needs_no_count():
    x, targets = draw(3, 4), [0, 1, 3]
    lse, dout = ops.logsumexp(x, axis=-1), fnb.tensor(2.0, dtype="float64")
    counted = ops.cross_entropy_grad(x, targets, lse, dout, fnb.tensor(3.0), label_smoothing=0.2)
    found = ops.cross_entropy_grad(x, targets, lse, dout, label_smoothing=0.2)
    assert found.numpy().tobytes() == counted.numpy().tobytes()
    plain = ops.cross_entropy_grad(x, targets, lse, dout).numpy()
    np.testing.assert_allclose(ops.cross_entropy_grad(x, targets, lse, dout, 3.0).numpy(), plain, rtol=1e-14)


def test_log_softmax_neither_overflows_nor_cancels():
    x = fnb.tensor(np.array([[1000.0, 0.0], [-1000.0, -1000.0]], "float32"))
    np.testing.assert_allclose(ops.log_softmax(x).numpy(), [[0, -1000], [-np.log(2), -np.log(2)]], rtol=1e-6)


def test_the_gradient_of_nll_can_be_differentiated():
    def slope(x):
        y = fnb.grad(lambda t: ops.nll_loss(t * t, [1, 0]))(x)
        return (y * x).sum()

    assert fnb.gradcheck(slope, draw(2, 3).numpy())


def test_second_derivatives_of_losses():
    y = np.array([0.3, -1.0, 2.0])
    for loss in (ops.mse_loss, lambda x, t: ops.huber_loss(x, t, 0.7)):
        assert fnb.gradcheck(
            lambda x, loss=loss: (fnb.grad(lambda t: loss(t, y))(x) * x).sum(), np.array([0.5, 0.4, 1.9])
        )


def test_a_probability_of_zero_adds_nothing():
    x = fnb.tensor(np.log([0.5, 0.5]), requires_grad=True)
    y = fnb.tensor(np.array([1.0, 0.0]), requires_grad=True)
    loss = ops.kl_div(x, y)
    loss.backward()
    assert loss.item() == pytest.approx(np.log(2))
    np.testing.assert_allclose(x.grad.numpy(), [-1, 0])
    np.testing.assert_allclose(y.grad.numpy(), [1 + np.log(2), 0])


def test_rotary_products_depend_on_the_distance_alone():
    q, k = draw(4, 6), draw(4, 6, seed=1)
    near = (ops.rope(q) @ ops.rope(k).T).numpy()
    far = (ops.rope(q, offset=11) @ ops.rope(k, offset=11).T).numpy()
    np.testing.assert_allclose(near, far, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ops.rope(ops.rope(q), inverse=True).numpy(), q.numpy(), rtol=1e-12)


def test_a_cell_whose_outputs_are_used_in_part():
    gates, c = draw(2, 12, tracked=True), draw(2, 3, seed=1, tracked=True)
    ops.lstm_cell(gates, c)[1].sum().backward()
    assert not gates.grad.numpy()[:, 9:].any()
    gates.grad = c.grad = None
    ops.lstm_cell(gates, c)[0].sum().backward()
    assert gates.grad.numpy()[:, 9:].all()


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: ops.mse_loss(draw(3), draw(3, 1)), ShapeError, "nothing is broadcast"),
        (lambda: ops.l1_loss(draw(3), draw(4)), ShapeError, r"l1_loss got shapes \(3,\) and \(4,\)"),
        (lambda: ops.huber_loss(draw(3), draw(4)), ShapeError, "huber_loss got"),
        (lambda: ops.huber(draw(3), delta=0.0), ArgumentError, "delta=0.0: it must be above 0"),
        (lambda: ops.kl_div(draw(3), draw(4)), ShapeError, "kl_div got"),
        (lambda: ops.kl_div(1.0, 1.0), ShapeError, "an axis of outcomes"),
        (lambda: ops.kl_terms(draw(3), draw(4)), ShapeError, "kl_terms got"),
        (lambda: ops.nll_loss(draw(3, 2), [0]), ShapeError, "without the last axis"),
        (lambda: ops.nll_loss(fnb.tensor([[1, 2]]), [0]), DTypeError, "dtype int64: convert"),
        (lambda: ops.cross_entropy(draw(1, 2), [0], 1.5), ArgumentError, r"must be in \[0, 1\]"),
        (lambda: ops.log_softmax(draw(2, 0)), ShapeError, "at least one element"),
        (lambda: ops.log_softmax(fnb.tensor([1])), DTypeError, "dtype int64"),
        (lambda: ops.rope(draw(2, 3)), ShapeError, "an even width"),
        (lambda: ops.rope(draw(2, 2), base=0.0), ArgumentError, "base=0.0"),
        (lambda: ops.rope(draw(2, 2), offset=-1), ArgumentError, "offset=-1"),
        (lambda: ops.rope(fnb.tensor([[1, 2]])), DTypeError, "dtype int64"),
        (lambda: ops.unfused_attention(draw(2, 3), draw(2, 4), draw(2, 4)), ShapeError, r"\[.., tq, d\]"),
        (lambda: ops.unfused_attention(*[draw(3, 2)] + [draw(2, 2)] * 2, causal=True), ShapeError, "3 queries for 2"),
        (lambda: ops.unfused_attention(*[fnb.tensor([[1]])] * 3), DTypeError, "got int64, int64, int64"),
        (lambda: ops.lstm_cell(draw(2, 8), draw(2, 3)), ShapeError, r"must be \[b, 4 n\]"),
        (lambda: ops.lstm_cell(draw(2, 8), draw(2, 2, dtype="float32")), DTypeError, "one float dtype"),
        (lambda: ops.gru_cell(draw(2, 6), draw(2, 5), draw(2, 2)), ShapeError, r"must be \[b, 3 n\]"),
    ],
)
def test_what_does_not_fit_is_refused(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_classes_as_whole_numbers_have_second_derivatives_too():
    """The curvature of each loss is that of its formula, whose targets have none."""
    z = np.array([0.5, -1.0, 2.0])
    found = fnb.hessian(lambda z: ops.bce_with_logits(z, [1, 0, 1]))(fnb.tensor(z))
    s = 1 / (1 + np.exp(-z))
    np.testing.assert_allclose(found.numpy(), np.diag(s * (1 - s) / 3), rtol=1e-13)
    found = fnb.hessian(lambda z: ops.cross_entropy(z, 1))(fnb.tensor(z))
    p = np.exp(z) / np.exp(z).sum()
    np.testing.assert_allclose(found.numpy(), np.diag(p) - np.outer(p, p), rtol=1e-13)


def test_targets_changed_between_two_sweeps_are_noticed():
    z, targets = fnb.tensor(np.zeros((2, 3)), requires_grad=True), fnb.tensor([0, 1])
    ops.cross_entropy(z, targets).backward(create_graph=True)
    targets.assign_(fnb.tensor([2, 2]))
    with pytest.raises(TapeError, match=r"cross_entropy_grad saved a tensor of shape \(2,\).*changed in place"):
        (z.grad * z.grad).sum().backward()
