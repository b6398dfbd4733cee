"""micrograd: every number a node of its own, in float64, with the two functions it lacks added in its own manner."""

from __future__ import annotations

import gc
import math
import sys

import numpy as np
from micrograd.engine import Value

from .specs import MLP, Spec, Step, Unsupported

PACKAGES = ("micrograd", "numpy")


def build(contender: str, spec: Spec, arrays: dict[str, np.ndarray], threads: int) -> Step:
    """A workload's step; it has one thread."""
    if not isinstance(spec, MLP) or not spec.binary or spec.activation != "tanh":
        raise Unsupported("only the smallest network is written for it")
    sys.setrecursionlimit(100_000)  # its sort of the graph is recursive
    layers = [
        [
            [[Value(float(w)) for w in column] for column in arrays[f"{i}.weight"].T],
            [Value(float(b)) for b in arrays[f"{i}.bias"]],
        ]
        for i in range(len(spec.sizes) - 1)
    ]
    parameters = [p for weight, bias in layers for p in [*(w for column in weight for w in column), *bias]]
    rows, targets = arrays["x"].tolist(), arrays["y"][:, 0].tolist()

    def step():
        loss = Value(0.0)
        for row, target in zip(rows, targets):
            loss = loss + binary_cross_entropy(_forward(layers, row), target)
        loss = loss * (1 / len(rows))
        for p in parameters:
            p.grad = 0.0
        loss.backward()
        for p in parameters:
            p.data -= spec.lr * p.grad
        return np.float64(loss.data)

    def run():
        gc.disable()  # it would walk the growing graph over and over, for four fifths of the time
        try:
            return step()
        finally:
            gc.collect()  # nodes and their closures are cycles: without it, no graph would ever go
            gc.enable()

    return Step(run)


def tanh(x: Value) -> Value:
    """The hyperbolic tangent."""
    t = math.tanh(x.data)
    out = Value(t, (x,), "tanh")

    def _backward():
        x.grad += (1 - t * t) * out.grad

    out._backward = _backward
    return out


def binary_cross_entropy(z: Value, y: float) -> Value:
    """:math:`max(z, 0) - zy + log(1 + e^{-|z|})`, whose derivative is the sigmoid of z less y."""
    small = math.exp(-abs(z.data))
    out = Value(max(z.data, 0.0) - z.data * y + math.log1p(small), (z,), "bce")

    def _backward():
        sigmoid = (1.0 if z.data >= 0 else small) / (1 + small)
        z.grad += (sigmoid - y) * out.grad

    out._backward = _backward
    return out


def _forward(layers: list, x: list) -> Value:
    for number, (weight, bias) in enumerate(layers):
        x = [sum((w * a for w, a in zip(column, x)), b) for column, b in zip(weight, bias)]
        x = [tanh(v) for v in x] if number < len(layers) - 1 else x
    return x[0]
