"""Leaves of float64 and what a sweep gives them."""

import contextlib
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


@contextlib.contextmanager
def only_counting():
    """No cyclic collector, and what exists is out of sight: a walk over the objects of a long run takes long."""
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def live(*kinds):
    """How many objects of these kinds were made inside `only_counting` and are still there."""
    return sum(issubclass(type(thing), kinds) for thing in gc.get_objects())
