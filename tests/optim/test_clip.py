"""The global norm and clipping by it."""

import math

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError
from forgenb.optim import SGD, clip_grad_norm, clip_grad_value, global_norm


def parameters(*grads, dtype="float64"):
    found = []
    for grad in grads:
        p = fnb.Parameter(fnb.tensor(np.zeros(np.shape(grad), dtype)))
        p.grad = fnb.tensor(np.asarray(grad, dtype))
        found.append(p)
    return found


@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 1e-6), ("float64", 1e-13)])
def test_the_norm_is_that_of_all_elements_together(dtype, rtol):
    rng = np.random.default_rng(4)
    arrays = [rng.normal(size=shape).astype(dtype) for shape in ((), (0, 3), (1024,), (1025,), (129, 517))]
    wanted = math.sqrt(sum(float((a.astype(np.float64) ** 2).sum()) for a in arrays))
    assert global_norm([fnb.tensor(a) for a in arrays]) == pytest.approx(wanted, rel=rtol)


def test_the_norm_of_mixed_dtypes_views_and_nothing():
    tensors = [fnb.tensor(np.array([3.0], d)) for d in ("float16", "float32", "float64")]
    assert global_norm(tensors) == pytest.approx(math.sqrt(27.0))
    assert global_norm([fnb.tensor(np.arange(6.0).reshape(2, 3)).T]) == pytest.approx(math.sqrt(55.0))
    assert global_norm([]) == 0.0


def test_the_norm_reads_the_device_once():
    tensors = [fnb.tensor(np.ones(3)) for _ in range(5)]
    before = fnb.stats()
    global_norm(tensors)
    spent = fnb.stats().since(before)
    assert (spent.syncs, spent.launches) == (1, 7)


def test_clipping_scales_gradients_to_the_norm():
    params = parameters([3.0, 0.0], [[4.0]])
    assert clip_grad_norm([*params, fnb.Parameter(fnb.tensor(1.0))], 1.0) == 5.0
    np.testing.assert_allclose(params[0].grad.numpy(), [0.6, 0.0])
    np.testing.assert_allclose(params[1].grad.numpy(), [[0.8]])


def test_nothing_changes_up_to_the_norm():
    params = parameters([3.0, 4.0])
    before = params[0].grad.numpy().tobytes()
    assert clip_grad_norm(params, 5.0) == 5.0
    assert params[0].grad.numpy().tobytes() == before


def test_a_step_that_clips_is_the_step_after_clipping():
    inside, outside = parameters([3.0, 4.0]), parameters([3.0, 4.0])
    assert SGD(inside, 0.1).step(clip_norm=1.0) == 5.0
    clip_grad_norm(outside, 1.0)
    SGD(outside, 0.1).step()
    np.testing.assert_allclose(inside[0].numpy(), outside[0].numpy(), rtol=1e-15)
    assert inside[0].grad.tolist() == [3.0, 4.0]
    assert SGD(inside, 0.1).step(clip_norm=10.0) == 5.0


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e200])
def test_a_norm_that_is_not_finite_updates_nothing(bad):
    params = parameters([bad, 1.0], [2.0])
    optimizer = SGD(params, 0.1, momentum=0.9)
    norm = optimizer.step(clip_norm=1.0)
    assert not math.isfinite(norm)
    assert not math.isfinite(clip_grad_norm(params, 1.0))
    assert [p.tolist() for p in params] == [[0.0, 0.0], [0.0]]
    assert params[1].grad.tolist() == [2.0]
    assert optimizer.steps == 0
    assert list(optimizer.state_dict()) == ["step"]


@pytest.mark.parametrize("norm", [0.0, -1.0, float("nan")])
def test_an_impossible_norm_is_refused(norm):
    with pytest.raises(ArgumentError, match="a norm above 0"):
        clip_grad_norm(parameters([1.0]), norm)
    with pytest.raises(ArgumentError, match="a norm above 0"):
        SGD(parameters([1.0]), 0.1).step(clip_norm=norm)


def test_clipping_by_value_bounds_each_number():
    found = parameters([-3.0, 0.5, np.nan], [[2.0]])
    unused = fnb.Parameter(fnb.tensor([1.0]))
    clip_grad_value([*found, unused], 1.0)
    np.testing.assert_array_equal(found[0].grad.numpy(), [-1.0, 0.5, np.nan])
    assert found[1].grad.tolist() == [[1.0]]
    for limit in (0.0, float("nan")):
        with pytest.raises(ArgumentError, match="a limit above 0"):
            clip_grad_value(found, limit)
