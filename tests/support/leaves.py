"""Leaves of float64 and what a sweep gives them."""

import gc

import numpy as np

import forgenb as fnb


def leaf(data, dtype="float64"):
    """A tensor on the default backend that wants a gradient."""
    return fnb.tensor(data, dtype=dtype, requires_grad=True)


def gradients(f, *leaves):
    """The gradients of the sum of ``f(*leaves)``, as lists."""
    out = f(*leaves)
    out.backward(fnb.tensor(np.ones(out.shape, out.dtype)))
    return [t.grad.tolist() for t in leaves]


def live_tensors():
    """How many tensors this process holds."""
    return sum(issubclass(type(thing), fnb.Tensor) for thing in gc.get_objects())
