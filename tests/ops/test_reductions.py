"""prod, var, std, norm, logsumexp, cumsum: NumPy's meaning, zeros and infinities, nothing to reduce, many elements."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, ShapeError

nan, inf = np.nan, np.inf


def gradient(f, x):
    t = fnb.tensor(np.asarray(x, np.float64), requires_grad=True)
    out = f(t)
    out.backward(fnb.tensor(np.ones(out.shape)))
    return t.grad.tolist()


def hessian(f, x):
    """Rows of second derivatives of f at x."""
    t = fnb.tensor(np.asarray(x, np.float64), requires_grad=True)
    f(t).backward(create_graph=True)
    first, rows = t.grad, []
    for i in range(t.size):
        t.grad = None
        first[i].backward(retain_graph=True)
        rows.append(t.grad.tolist())
    return rows


@pytest.mark.parametrize(
    ("x", "slopes"),
    [
        ([2, 3, 4, 5, 6, 7], [2520, 1680, 1260, 1008, 840, 720]),
        ([2, 0, 4, 5, 6], [0, 240, 0, 0, 0]),
        ([2, 0, 4, 0], [0, 0, 0, 0]),
        ([7], [1]),
    ],
)
def test_the_gradient_of_a_product_is_that_of_the_other_factors(x, slopes):
    assert gradient(ops.prod, x) == slopes


def test_second_derivatives_of_a_product_with_a_zero():
    assert hessian(ops.prod, [2, 0, 5]) == [[0, 5, 0], [5, 0, 2], [0, 2, 0]]


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64"])
def test_whole_numbers_give_int64(dtype):
    x = np.array([[1, 2, 3], [1, 0, 2]]).astype(dtype)
    for name in ("prod", "cumsum"):
        found = getattr(fnb.tensor(x), name)(axis=1)
        assert found.dtype.name == "int64"
        assert found.tolist() == getattr(np, name)(x, axis=1).tolist()
    for name in ("var", "std", "norm", "logsumexp"):
        assert getattr(fnb.tensor(x), name)().dtype.name == "float32"


def test_reductions_of_nothing():
    x = np.zeros((3, 0))
    for name in ("prod", "any", "all"):
        for axis in (None, 0, 1):
            assert getattr(fnb.tensor(x), name)(axis=axis).tolist() == getattr(np, name)(x, axis=axis).tolist()
    t = fnb.tensor(x, requires_grad=True)
    assert np.isnan(t.var(axis=1).numpy()).all()
    assert np.isnan(t.std().numpy())
    assert t.norm(axis=1).tolist() == [0, 0, 0]
    assert t.logsumexp(axis=1).tolist() == [-inf] * 3
    assert t.logsumexp(axis=0).shape == (0,)
    assert t.cumsum(axis=1).shape == (3, 0)
    t.prod().backward()
    assert t.grad.shape == (3, 0)


def test_degrees_of_freedom():
    x = fnb.tensor([1.0, 2.0, 4.0])
    for ddof in (0, 1, 0.5):
        np.testing.assert_allclose(x.var(ddof=ddof).item(), np.var(x.numpy(), ddof=ddof), rtol=1e-6)
        np.testing.assert_allclose(x.std(ddof=ddof).item(), np.std(x.numpy(), ddof=ddof), rtol=1e-6)
    assert x.var(ddof=3).item() == inf
    assert np.isnan(fnb.tensor([1.0]).var(ddof=1).item())


def test_a_variance_does_not_lose_a_large_mean():
    x = np.random.default_rng(0).normal(1e4, 0.1, 5000).astype("float32")
    np.testing.assert_allclose(fnb.tensor(x).var().item(), np.var(x.astype("float64")), rtol=1e-4)


def test_a_norm_of_halves_does_not_overflow_halfway():
    x = fnb.tensor(np.full(4, 300, "float16"))
    assert x.norm().item() == 600
    assert x.norm().dtype.name == "float16"
    assert fnb.tensor(np.array([1e3, 1e3, 1e-3], "float16")).prod().item() == pytest.approx(1000, rel=1e-3)


@pytest.mark.parametrize(
    ("x", "out", "slopes"),
    [
        ([1000, 1000], 1000 + np.log(2), [0.5, 0.5]),
        ([-1000, -1000], -1000 + np.log(2), [0.5, 0.5]),
        ([-inf, 0], 0, [0, 1]),
        ([-inf, -inf], -inf, [0, 0]),
        ([inf, 0], inf, [nan, 0]),
        ([nan, 0], nan, [nan, nan]),
    ],
)
def test_logsumexp_at_its_ends(x, out, slopes):
    assert ops.logsumexp(fnb.tensor(np.array(x, np.float64))).item() == pytest.approx(out, nan_ok=True)
    np.testing.assert_allclose(gradient(ops.logsumexp, x), slopes, rtol=1e-12)


@pytest.mark.parametrize("shape", [(5000,), (3, 2500), (200, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_long_running_sums(shape, dtype):
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(dtype)
    for axis in (None, *range(len(shape))):
        np.testing.assert_array_equal(fnb.tensor(x).cumsum(axis).numpy(), np.cumsum(x, axis))


def test_running_sums_do_not_drift():
    x = np.full(1_000_000, 0.1, "float32")
    found = fnb.tensor(x).cumsum().numpy()
    np.testing.assert_allclose(found, np.cumsum(x.astype("float64")), rtol=3e-6)


@pytest.mark.parametrize("name", ["prod", "var", "std", "norm", "logsumexp", "any", "all", "cumsum"])
def test_axes_that_do_not_exist(name):
    with pytest.raises(ShapeError, match=f"{name} got axis=2"):
        getattr(ops, name)(fnb.tensor([[1.0]]), axis=2)


def test_cumsum_runs_along_one_axis():
    with pytest.raises(ArgumentError, match=r"cumsum got axis=\(0, 1\): it must be the number of one axis"):
        ops.cumsum(fnb.tensor([[1.0]]), axis=(0, 1))


@pytest.mark.parametrize("f", [ops.var, ops.std, ops.norm, ops.logsumexp, ops.prod, ops.cumsum])
def test_second_derivatives(f):
    fnb.gradcheck(fnb.grad(lambda x: f(x * x).sum()), np.random.default_rng(0).uniform(0.5, 1.5, 5))


def test_extrema_stand_on_the_tape_under_their_names():
    x = fnb.tensor(np.arange(3.0), requires_grad=True)
    assert [x.max().node.name, x.min().node.name] == ["max", "min"]
