"""Silence, and the messages of what a user may get wrong."""

import itertools
import warnings

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.backend import get_backend
from forgenb.errors import ForgeError
from forgenb.testing.declared import all_kernels


def test_a_product_of_any_layout_is_silent():
    a, b = (fnb.tensor(np.random.default_rng(0).uniform(-1, 1, (6, 6)).astype("float32")) for _ in range(2))
    views = [a, a.T, a[::2, :3], a[:, ::-1], a[1:4, 1:4], ops.expand_dims(a, 0)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x, y in itertools.product(views, [b, b.T]):
            inner = x.shape[-1]
            found = (x @ y[:inner]).numpy()
            np.testing.assert_allclose(found, x.numpy() @ y.numpy()[:inner], rtol=1e-5, atol=1e-6)


MISUSES = {
    "shapes that do not broadcast": lambda x: x + fnb.tensor(np.ones(4)),
    "shapes that do not multiply": lambda x: x @ x,
    "too many axes": lambda x: x.sum(axis=5),
    "a wrong reshape": lambda x: x.reshape(4, 4),
    "words": lambda x: fnb.tensor(["a"]),
    "a ragged list": lambda x: fnb.tensor([[1.0], [1.0, 2.0]]),
    "a complex number": lambda x: fnb.tensor(1j),
    "an id out of range": lambda x: ops.embedding([7], x),
    "ids that are no integers": lambda x: ops.embedding([0.5], x),
    "targets of a wrong shape": lambda x: ops.cross_entropy(x, [0]),
    "a target out of range": lambda x: ops.cross_entropy(x, [0, 3]),
    "a target too few": lambda x: ops.bce_with_logits(x, [1.0, 0.0]),
    "logits that are integers": lambda x: ops.bce_with_logits(fnb.tensor([1, 2]), [1.0, 0.0]),
    "a list for a shape": lambda x: ops.layernorm(x, [1.0], [0.0], 1e-5),
    "integers to drop out": lambda x: ops.dropout(fnb.tensor([1, 2]), 0.5, 1),
    "integers to square and add": lambda x: ops.sumsq(fnb.tensor([1, 2])),
    "an integer leaf": lambda x: fnb.tensor([1], requires_grad=True),
    "a seed of a wrong shape": lambda x: (fnb.tensor([1.0, 2.0], requires_grad=True) * 2).backward(fnb.tensor([1.0])),
    "no seed": lambda x: (fnb.tensor([1.0, 2.0], requires_grad=True) * 2).backward(),
    "an unknown backend": lambda x: fnb.tensor([1.0], backend="gpu"),
    "an unknown dtype": lambda x: x.astype("float8"),
}


@pytest.mark.parametrize("misuse", MISUSES)
def test_a_misuse_gets_one_of_our_errors_in_a_few_lines(misuse):
    with pytest.raises(ForgeError) as caught:
        MISUSES[misuse](fnb.tensor(np.ones((2, 3))))
    text = str(caught.value)
    assert len(text.splitlines()) <= 6
    assert len(text) > 25
    assert not any(word in text for word in ("nopython", "CPUDispatcher", "numba", "_kernel"))


@pytest.mark.parametrize("name", sorted(all_kernels()))
def test_no_kernel_may_assume_that_numbers_are_finite(name):
    """The generated text of a kernel has no fast-math switch; in the plug-in's intrinsics there is one, reassoc."""
    text = get_backend("cpu").source(all_kernels()[name], "float32")
    assert not any(word in text for word in ("fastmath", "nnan", "ninf"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_guards_hold_in_compiled_code(dtype):
    x = fnb.tensor(np.array([np.nan, 1.0, np.inf, -np.inf] * 20, dtype))
    assert ops.not_equal(x, x).numpy().tolist() == np.isnan(x.numpy()).tolist()
    assert (
        ops.where(ops.equal(x, x), x, 0.0).numpy().tolist()
        == np.nan_to_num(x.numpy(), posinf=np.inf, neginf=-np.inf).tolist()
    )
