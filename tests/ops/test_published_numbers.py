"""Published values that other implementations reproduce: GELU, causal softmax, the loss of a certain miss."""

import numpy as np
import pytest

import forgenb as fnb


def test_gelu():
    x = fnb.tensor([-4.0, -1.0, -0.5, 0.5, 1.0, 3.0])
    out = fnb.ops.gelu(x).numpy()
    np.testing.assert_allclose(out[1:], [-0.158808, -0.154286, 0.345714, 0.841192, 2.9963627], rtol=3e-6)
    # Published as 1 + tanh in float32, which cancels there; the value in float64 is -7.02459e-5.
    assert out[0] == pytest.approx(-7.021427e-5, rel=5e-4)
    assert out[0] == pytest.approx(-7.0245914e-5, rel=1e-6)


def test_gelu_slope():
    x = fnb.tensor([-4.0, -1.0, 0.0, 1.0], requires_grad=True)
    fnb.ops.sum(fnb.ops.gelu(x)).backward()
    slope = x.grad.numpy()
    np.testing.assert_allclose(slope[1:], [-0.08296409, 0.5, 1.0829641], rtol=3e-6)
    assert slope[0] == pytest.approx(-3.3497825e-4, rel=5e-4)  # cancels in float32 as published, see above


@pytest.mark.usefixtures("each_backend")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gelu_far_out(dtype):
    """Beyond 1.8e19 the square of a float32 is infinite, and 0 times that would be NaN."""
    x = fnb.tensor(np.array([-np.inf, -1e30, -2e19, 2e19, 1e30, np.inf, np.nan], dtype), requires_grad=True)
    out = fnb.ops.gelu(x)
    np.testing.assert_array_equal(out.numpy(), np.array([0, 0, 0, 2e19, 1e30, np.inf, np.nan], dtype))
    fnb.ops.sum(out).backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.array([0, 0, 0, 1, 1, 1, np.nan], dtype))


def test_causal_softmax():
    x = fnb.tensor([[0.0, 1.0, 2.0, 3.0]] * 2)
    expected = [[0.26894143, 0.7310586, 0, 0], [0.09003057, 0.24472848, 0.66524094, 0]]
    out = fnb.ops.softmax(x, causal=True, off=1).numpy()
    np.testing.assert_allclose(out, expected, rtol=2e-7)
    assert (out[0, 2:] == 0).all()
    assert out[1, 3] == 0


@pytest.mark.usefixtures("each_backend")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("miss", [80.0, 87.0, 88.0, 104.0, 2000.0])
def test_loss_and_slope_of_a_certain_miss_agree(miss, dtype):
    """A probability in float32 ends at 1.2e-38, and the loss that is its logarithm at 87.34."""
    x = fnb.tensor(np.array([[0.0, miss]], dtype), requires_grad=True)
    loss = fnb.ops.cross_entropy(x, np.array([0]))
    loss.backward()
    assert loss.item() == miss
    assert x.grad.tolist() == [[-1, 1]]


@pytest.mark.usefixtures("each_backend")
@pytest.mark.parametrize(("dtype", "tiny"), [("float32", 30.0), ("float64", 60.0)])
def test_a_hit_that_is_nearly_certain_has_a_slope(dtype, tiny):
    """A probability of 1 - 1e-13 is rounded to 1, and its logarithm to 0; the others are not."""
    x = fnb.tensor(np.array([[0.0, -tiny]], dtype), requires_grad=True)
    fnb.ops.cross_entropy(x, np.array([0])).backward()
    assert x.grad.numpy()[0, 1] == pytest.approx(np.exp(-tiny), rel=1e-5)


def test_cross_entropy_does_not_saturate():
    loss = fnb.ops.cross_entropy(fnb.tensor([[0.0, 200.0]]), np.array([0]))
    assert loss.item() == 200.0
    half = fnb.ops.cross_entropy(fnb.tensor(np.log([[0.75, 0.25]])), np.array([0]))
    assert half.item() == pytest.approx(0.2876821, rel=1e-6)


def test_binary_cross_entropy_from_logits():
    """PyTorch's documented example, and logits far out on either side of their targets."""
    assert fnb.ops.bce_with_logits(np.full((10, 64), 1.5), np.ones((10, 64))).item() == pytest.approx(0.20141, abs=1e-5)
    z = fnb.tensor(np.array([[-200.0], [-1.0], [0.5], [200.0]]), requires_grad=True)
    y = np.array([[0.0], [1.0], [0.0], [0.0]])
    loss = fnb.ops.bce_with_logits(z, y)
    assert loss.item() == pytest.approx(np.mean(np.logaddexp(0, z.numpy()) - z.numpy() * y), rel=1e-14)
    loss.backward()
    sigmoid = 1 / (1 + np.exp(-z.numpy()))
    np.testing.assert_allclose(z.grad.numpy(), (sigmoid - y) / 4, rtol=1e-14)


def test_the_slope_of_binary_cross_entropy_does_not_cancel():
    z = fnb.tensor([30.0, -30.0], requires_grad=True)
    fnb.ops.bce_with_logits(z, [True, False]).backward()
    np.testing.assert_allclose(z.grad.numpy(), [-np.exp(-30) / 2, np.exp(-30) / 2], rtol=1e-6)
