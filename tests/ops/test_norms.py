"""Normalisations beyond the table: running statistics, large offsets, messages."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, DTypeError, ShapeError, TapeError


def draw(*shape, seed=0, dtype="float64"):
    return fnb.tensor(np.random.default_rng(seed).uniform(0.5, 1.5, shape).astype(dtype))


def test_running_statistics_move_by_the_momentum():
    x = draw(4, 3, 5)
    running = fnb.tensor(np.zeros(3)), fnb.tensor(np.ones(3))
    ops.batchnorm(x, draw(3), draw(3), running=running, momentum=0.25)
    mean, var = x.numpy().mean((0, 2)), x.numpy().var((0, 2), ddof=1)
    np.testing.assert_allclose(running[0].numpy(), 0.25 * mean, rtol=1e-12)
    np.testing.assert_allclose(running[1].numpy(), 0.75 + 0.25 * var, rtol=1e-12)
    assert running[0].memory.version == 1


def test_a_batch_far_from_zero_keeps_its_variance():
    x = draw(64, 2, 40).numpy() + np.array([1e4, -1e4])[:, None]
    x = x.astype("float32")
    out = ops.batchnorm(fnb.tensor(x), *(fnb.tensor(np.full(2, v, "float32")) for v in (1, 0))).numpy()
    np.testing.assert_allclose(out.std((0, 2)), 1, rtol=1e-3)
    wanted = (x - x.mean((0, 2), dtype="float64")[:, None]) / x.std((0, 2), dtype="float64")[:, None]
    np.testing.assert_allclose(out, wanted, atol=2e-2)


def test_any_number_of_threads_gives_the_same_bits():
    backend = fnb.tensor(0.0).backend
    before, found = backend.threads, []
    try:
        for number in (1, 2, 4):
            backend.threads = number
            x = fnb.tensor(draw(33, 5, 700, dtype="float32").numpy(), requires_grad=True)
            g = fnb.tensor(draw(5, dtype="float32").numpy(), requires_grad=True)
            y = ops.batchnorm(x, g, g) + ops.groupnorm(x, g, g, 5)
            (y * y * y).sum().backward()
            found.append([t.numpy().tobytes() for t in (y, x.grad, g.grad)])
    finally:
        backend.threads = before
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x, g: ops.batchnorm(x, g, draw(4)), ShapeError, r"x must be \[n, c, ...\]"),
        (lambda x, g: ops.batchnorm(x[:1, :, 0], g, g), ArgumentError, "at least two elements"),
        (lambda x, g: ops.batchnorm(x, g, g.astype("float32")), DTypeError, "one float dtype"),
        (lambda x, g: ops.batchnorm(x, g, g, running=(g, draw(2))), ShapeError, r"x must be \[n, c"),
        (lambda x, g: ops.batchnorm_inference(x, g, g, g, draw(2)), ShapeError, r"x must be \[n, c"),
        (lambda x, g: ops.groupnorm(x, g, g, 2), ShapeError, "groups divide c"),
        (lambda x, g: ops.groupnorm(x, g, g, 0), ArgumentError, "groups=0"),
        (lambda x, g: ops.groupnorm(x, g, g.astype("float16"), 3), DTypeError, "one float dtype"),
        (lambda x, g: ops.rmsnorm(x, g), ShapeError, "must be the last axis of x"),
        (lambda x, g: ops.rmsnorm(x, draw(4, dtype="float32")), DTypeError, "one float dtype"),
        (lambda x, g: ops.layernorm(x, g, g), ShapeError, "trailing axes of x"),
        (lambda x, g: ops.layernorm(x, x[0], x[0, 0]), ShapeError, "trailing axes of x"),
    ],
)
def test_what_does_not_fit_is_refused(call, kind, message):
    with pytest.raises(kind, match=message):
        call(draw(2, 3, 4), draw(3))


def test_the_gradient_of_layer_normalisation_is_that_of_one_axis():
    with pytest.raises(ShapeError, match=r"a gain of shape \(3, 4\): see the axes as one"):
        ops.layernorm_grad(draw(2, 3, 4), draw(3, 4), draw(2, 3, 4))


def test_given_statistics_have_no_gradient():
    tracked = fnb.tensor(np.ones(3), requires_grad=True)
    with pytest.raises(TapeError, match="batchnorm_inference"):
        ops.batchnorm_inference(draw(2, 3), draw(3), draw(3), tracked, draw(3))
