"""NumPy's functions of whole arrays: the arguments they hand over, the questions they answer, and what they refuse."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import InteropError


@pytest.fixture(params=["cpu", "python"])
def t(request):
    values = np.arange(6.0).reshape(2, 3) / 4
    return fnb.tensor(values, requires_grad=True, backend=request.param)


def test_stack_keeps_gradients(t):
    weights = np.arange(12.0).reshape(2, 2, 3)
    (np.stack([t, 2.0 * t]) * weights).sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), weights[0] + 2 * weights[1])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda t: np.sum(t, 0), lambda a: a.sum(0)),
        (lambda t: np.mean(t, axis=1, keepdims=True), lambda a: a.mean(1, keepdims=True)),
        (lambda t: np.concatenate([t, np.ones((1, 3))]), lambda a: np.concatenate([a, np.ones((1, 3))])),
        (lambda t: np.concat((t, t), 1), lambda a: np.concatenate([a, a], 1)),
        (lambda t: np.reshape(t, (3, 2)), lambda a: a.reshape(3, 2)),
        (lambda t: np.transpose(t), lambda a: a.T),
        (lambda t: np.where(t > 0.5, t, 0.0), lambda a: np.where(a > 0.5, a, 0.0)),
        (lambda t: np.clip(t, 0.2, None), lambda a: np.clip(a, 0.2, None)),
        (lambda t: np.clip(t, max=0.5), lambda a: np.minimum(a, 0.5)),
        (lambda t: np.take(t, [1, 0, 1], 1), lambda a: a[:, [1, 0, 1]]),
        (lambda t: np.take(t[0], [2, 0]), lambda a: a[0][[2, 0]]),
        (lambda t: np.pad(t, 1, constant_values=2.0), lambda a: np.pad(a, 1, constant_values=2.0)),
        (lambda t: np.einsum("ij,kj->ik", t, t, optimize=True), lambda a: a @ a.T),
        (lambda t: np.linalg.norm(t, axis=0), lambda a: np.linalg.norm(a, axis=0)),
        (lambda t: np.std(t, ddof=1), lambda a: a.std(ddof=1)),
        (lambda t: np.copy(t), lambda a: a),
        (lambda t: np.stack(t, 1), lambda a: a.T),
    ],
)
def test_arguments_are_handed_over(ours, theirs, t):
    found = ours(t)
    assert isinstance(found, fnb.Tensor)
    assert found.requires_grad
    np.testing.assert_allclose(found.numpy(), theirs(t.numpy()), rtol=1e-13)


def test_questions_are_answered_by_numpy(t):
    assert (np.shape(t), np.ndim(t), np.size(t), np.size(t, axis=1)) == ((2, 3), 2, 6, 3)
    assert np.allclose(t, t.numpy())
    assert not np.allclose(a=t, b=0.0)
    assert np.array_equal(t, t.detach())


def test_questions_about_the_shape_read_nothing():
    with fnb.capture():
        made = fnb.tensor(np.ones((2, 3))) * 2.0
        assert (np.shape(made), np.ndim(made), np.size(made)) == ((2, 3), 2, 6)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (
            lambda t: np.sum(t, dtype="float64"),
            r"np.sum of a tensor is fnb.ops.sum, which .* dtype=.*astype",
        ),
        (lambda t: np.sum(t, where=True), "does not take where="),
        (
            lambda t: np.max(t, initial=0.0),
            "np.max of a tensor is fnb.ops.max, which does not take initial=: leave initial= out",
        ),
        (lambda t: np.mean(t, out=np.zeros(())), "does not take out="),
        (lambda t: np.reshape(t, (3, 2), order="F"), "fnb.ops.reshape, which does not take order="),
        (lambda t: np.take(t, [0]), "fnb.ops.take, which does not take axis=None: say which axis, or reshape first"),
        (lambda t: np.concatenate([t, t], axis=None), "fnb.ops.concat, which does not take axis=None: say"),
        (
            lambda t: np.where(t > 0.5),
            r"fnb.ops.where, which does not take x=None, y=None: for the places [^;]*t.numpy\(\)$",
        ),
        (lambda t: np.linalg.norm(t, 1), "np.linalg.norm of a tensor is fnb.ops.norm, which does not take ord="),
        (lambda t: np.pad(t, 1, end_values=2.0), "fnb.ops.pad, which does not take end_values="),
        (
            lambda t: np.vstack([t, t]),
            r"np.vstack of a tensor has no op .*: use fnb.ops.concat, or t.numpy\(\)",
        ),
        (lambda t: np.ravel(t), r"use fnb.ops.reshape\(t, \(-1,\)\)"),
        (lambda t: np.argsort(t), r"np.argsort .* compose it of fnb.ops, or use t.numpy\(\)"),
        (lambda t: np.array([1.0], like=t), "np.array .* use fnb.tensor"),
        (lambda t: np.copyto(np.zeros((2, 3)), t), r"np.copyto .* t\[...\] = value"),
        (lambda t: np.linalg.inv(t), "np.linalg.inv of a tensor has no op"),
    ],
)
def test_what_has_no_op_names_what_to_use(call, match, t):
    for given in (t, t.detach()):
        with pytest.raises(InteropError, match=match):
            call(given)


def test_a_wrong_call_is_pythons_error(t):
    with pytest.raises(TypeError, match="unexpected keyword argument 'axes'"):
        np.sum(t, axes=1)
