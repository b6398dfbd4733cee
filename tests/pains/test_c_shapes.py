"""Section C: broadcasting, shapes of gradients, reshaping of any layout, arrays without elements."""

import itertools

import numpy as np
import pytest
from support.leaves import gradients, leaf

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError

pytestmark = pytest.mark.usefixtures("each_backend")


def test_broadcast_operands_get_summed_gradients():
    """P24."""
    assert gradients(ops.add, leaf(np.ones((2, 1))), leaf(np.ones((1, 3)))) == [[[3], [3]], [[2, 2, 2]]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_gradient_of_a_number_without_dimensions_is_one_too(dtype):
    """P28."""
    scale = fnb.tensor(2.0, dtype=dtype, requires_grad=True)
    (fnb.tensor(np.ones((2, 3), dtype)) * scale).sum().backward()
    assert isinstance(scale.grad, fnb.Tensor)
    assert scale.grad.shape == scale.grad.numpy().shape == ()
    assert scale.grad.dtype.name == dtype
    assert scale.grad.item() == 6


WITH_GAPS = {
    "broadcast": (lambda x: ops.broadcast_to(x[:, :1], (3, 8)), lambda x: np.broadcast_to(x[:, :1], (3, 8))),
    "rows again": (lambda x: ops.broadcast_to(x[0], (3, 8)), lambda x: np.broadcast_to(x[0], (3, 8))),
    "sliced": (lambda x: x[:, :4], lambda x: x[:, :4]),
    "stepped": (lambda x: x[:, ::2], lambda x: x[:, ::2]),
    "reversed": (lambda x: x[::-1], lambda x: x[::-1]),
    "transposed": (lambda x: x.T, lambda x: x.T),
}


@pytest.mark.parametrize("layout", WITH_GAPS)
def test_reshape_of_a_layout_with_gaps_copies(layout):
    """P30."""
    array = np.arange(24.0).reshape(3, 8)
    x = leaf(array)
    view, wanted = (f(a) for f, a in zip(WITH_GAPS[layout], (x, array), strict=True))
    for shape in ((-1,), (2, -1), wanted.shape[::-1], (*wanted.shape, 1)):
        found = view.reshape(shape)
        np.testing.assert_array_equal(found.numpy(), wanted.reshape(shape))
        assert found.memory is not x.memory
    seed = np.arange(1.0, 1 + wanted.size)
    (view.reshape(-1) * fnb.tensor(seed)).sum().backward()
    slopes = np.zeros_like(array)
    np.add.at(slopes.reshape(-1), WITH_GAPS[layout][1](np.arange(24).reshape(3, 8)).reshape(-1), seed)
    np.testing.assert_array_equal(x.grad.numpy(), slopes)


def test_reshape_without_gaps_is_a_view():
    """P30."""
    x = fnb.tensor(np.arange(24.0).reshape(3, 8))
    assert x[1:].reshape(4, 4).memory is x.memory
    assert x[1:].reshape(4, 4).tolist() == np.arange(8.0, 24).reshape(4, 4).tolist()


def test_reductions_of_nothing():
    """P32."""
    empty = fnb.tensor(np.zeros((0,)))
    assert empty.sum().item() == 0
    assert np.isnan(empty.mean().item())
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ArgumentError, match=f"{name} of shape \\(0,\\)"):
            getattr(empty, name)()
        with pytest.raises(ValueError, match="check for size 0"):
            getattr(fnb.tensor(np.zeros((3, 0))), name)(axis=1)
        assert getattr(fnb.tensor(np.zeros((3, 0))), name)(axis=0).shape == (0,)


def test_a_gradient_of_nothing_is_nothing():
    """P32: neither a launch over nothing nor its gradient fails, whichever axes have no elements."""
    for shape, axis in itertools.product([(0,), (0, 3), (3, 0)], (None, 0)):
        x = leaf(np.zeros(shape))
        (ops.exp(x) * x).sum(axis=axis).sum().backward()
        assert x.grad.shape == shape
