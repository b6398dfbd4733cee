"""HIPS autograd: NumPy's functions, traced anew in every step."""

from __future__ import annotations

import autograd
import autograd.numpy as np

from .specs import MLP, Chain, Spec, Step, Unsupported

PACKAGES = ("autograd", "numpy")


def build(contender: str, spec: Spec, arrays: dict, threads: int) -> Step:
    """A workload's step."""
    if isinstance(spec, MLP):
        return _mlp(spec, arrays)
    if isinstance(spec, Chain):
        return _chain(spec.repeats, arrays)
    raise Unsupported("the transformer is not written for it")


def _mlp(spec: MLP, arrays: dict) -> Step:
    last = len(spec.sizes) - 2
    activation = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0)}[spec.activation]

    def loss(p, x, y):
        for i in range(last):
            x = activation(np.dot(x, p[f"{i}.weight"]) + p[f"{i}.bias"])
        z = np.dot(x, p[f"{last}.weight"]) + p[f"{last}.bias"]
        if spec.binary:
            return np.mean(np.maximum(z, 0) - z * y + np.log1p(np.exp(-np.abs(z))))
        top = np.max(z, axis=1, keepdims=True)
        total = np.log(np.sum(np.exp(z - top), axis=1)) + top[:, 0]
        return np.mean(total - z[np.arange(len(y)), y])

    x, y = (np.split(arrays[name], spec.batches) for name in ("x", "y"))
    p = {name: value for name, value in arrays.items() if name not in ("x", "y")}
    velocity = {name: np.zeros_like(value) for name, value in p.items()}
    both = autograd.value_and_grad(loss)
    done = iter(range(2**62))

    def run():
        i = next(done) % spec.batches
        value, gradient = both(p, x[i], y[i])
        for name in p:
            velocity[name] = spec.momentum * velocity[name] + gradient[name]
            p[name] = p[name] - spec.lr * velocity[name]
        return value

    return Step(run)


def _chain(repeats: int, arrays: dict) -> Step:
    x = arrays["x"]
    last = {}

    def loss(p):
        h = x
        for _ in range(repeats):
            h = np.tanh(h * p[0] + p[1]) - x
        return np.mean(h)

    both = autograd.value_and_grad(loss)

    def run():
        value, (last["w"], _) = both((arrays["weight"], arrays["bias"]))
        return value

    return Step(run, lambda: float(last["w"].astype("f8").sum()))
