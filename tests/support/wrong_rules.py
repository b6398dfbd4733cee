"""Ops of NumPy with a rule of one's own, and a collection of rules that are wrong in a usual way."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import forgenb as fnb


def numpy_op(forward: Callable, backward: Callable) -> Callable:
    """An op whose forward and backward take and return arrays."""

    def run(*tensors):
        return fnb.tensor(np.asarray(forward(*(t.numpy() for t in tensors)), np.float64))

    def rule(dout, *tensors):
        found = backward(dout.numpy(), *(t.numpy() for t in tensors))
        several = found if isinstance(found, tuple) else (found,)
        return tuple(None if g is None else fnb.tensor(np.asarray(g, np.float64)) for g in several)

    return fnb.custom_op(run, rule)


def draw(*shape, low=-1.5, high=1.5, seed=5):
    return np.asarray(np.random.default_rng(seed).uniform(low, high, shape))


class Case(NamedTuple):
    """A function, its right rule, a wrong one, the inputs, and what the mistake is called."""

    mistake: str
    forward: Callable
    right: Callable
    wrong: Callable
    inputs: tuple
    says: str = ""


v, z = draw(5, low=0.3), draw(5, low=0.4, seed=6)
u, pair = draw(3, 4), (draw(3, 3), draw(3, 3, seed=7))
ROWS = np.array([0, 2, 2, 1])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def softmax_rule(total):
    return lambda d, x: softmax(x) * (d - total(d * softmax(x), -1, keepdims=True))


def added(d, x):
    found = np.zeros_like(x)
    np.add.at(found, ROWS, d)
    return found


def assigned(d, x):
    found = np.zeros_like(x)
    found[ROWS] = d
    return found


def spread(d, x):
    return np.broadcast_to(d[:, None], x.shape)


def suffix_sums(d, x):
    return np.cumsum(d[::-1])[::-1]


def elu(x):
    return np.where(x > 0, x, np.expm1(x))


def correlation(x, w):
    return np.correlate(x, w, "valid")


def normalised(x):
    deviation = x - x.mean(-1, keepdims=True)
    return deviation / np.sqrt(np.square(deviation).mean(-1, keepdims=True))


def normalised_rule(first, second, total=np.mean, scaled=True):
    def rule(d, x):
        y, deviation = normalised(x), x.std(-1, keepdims=True)
        inner = d - first * total(d, -1, keepdims=True) - second * y * total(d * y, -1, keepdims=True)
        return inner / deviation if scaled else inner

    return rule


square = (lambda x: x * x), lambda d, x: 2 * d * x
sine = np.sin, lambda d, x: d * np.cos(x)
tanh = np.tanh, lambda d, x: d * (1 - np.tanh(x) ** 2)
times = (lambda x, y: x * y), lambda d, x, y: (d * y, d * x)
product = (lambda x, y: x @ y), lambda d, x, y: (d @ y.T, x.T @ d)
total = (lambda x: x.sum(-1)), spread
mean = (lambda x: x.mean(-1)), lambda d, x: spread(d, x) / x.shape[-1]
largest = (lambda x: x.max(-1)), lambda d, x: d[:, None] * (x == x.max(-1, keepdims=True))
bias = (lambda x, b: x + b), lambda d, x, b: (d, d.sum(0))
wave = (lambda x: x * np.sin(x)), lambda d, x: d * (np.sin(x) + x * np.cos(x))
smooth = softmax, softmax_rule(np.sum)
norm = normalised, normalised_rule(1, 1)
squares = (lambda p, t: np.square(p - t).mean()), lambda d, p, t: (d * (p - t) * 2 / p.size, d * (t - p) * 2 / p.size)
gram = (lambda x: x @ x.T), lambda d, x: (d + d.T) @ x
cubes = (lambda x: x**3 + x * x), lambda d, x: d * (3 * x * x + 2 * x)
angle = np.arctan2, lambda d, y, x: (d * x / (x * x + y * y), -d * y / (x * x + y * y))
slope = np.array(0.2)
clipped = (
    lambda x: np.where(abs(x) < 0.8, x * x / 2, 0.8 * (abs(x) - 0.4)),
    lambda d, x: d * np.where(abs(x) < 0.8, x, 0.8 * np.sign(x)),
)


def changes(d, x):
    return np.append(0, d) - np.append(d, 0)


def weighted(x, w):
    return (x * w).sum() / w.sum()


def lengths(x, y):
    return np.linalg.norm(x) * np.linalg.norm(y)


def cosine(x, y):
    return x @ y / lengths(x, y)


def cosine_rule(d, x, y):
    return tuple(d * (b / lengths(x, y) - cosine(x, y) * a / (a @ a)) for a, b in ((x, y), (y, x)))


def averaged(d, x):
    return added(d, x) / np.array([1, 1, 2])[:, None]


def ordered(d, x):
    found = np.zeros_like(x)
    found[np.argsort(x)] = d
    return found


def leaky(x, a):
    return np.where(x > 0, x, a * x)


def leaky_rule(d, x, a):
    return d * np.where(x > 0, 1, a), (d * x * (x < 0)).sum()


CASES = [
    Case("zero", *square, lambda d, x: 0 * d, (v,), "returns zero for input 0"),
    Case("zero", *square, lambda d, x: None, (v,), "returns None for input 0"),
    Case("sign", *sine, lambda d, x: -d * np.cos(x), (v,)),
    Case("ignores-incoming", *square, lambda d, x: 2 * x, (v,)),
    Case("changed-incoming", *square, lambda d, x: 2 * x * d * d, (v,), "its square"),
    Case("merged-incoming", *square, lambda d, x: 2 * x * d.mean(), (v,), "averaged"),
    Case("mask-inverted", lambda x: np.maximum(x, 0), lambda d, x: d * (x > 0), lambda d, x: d * (x < 0), (u,)),
    Case("mask-inverted", *largest, lambda d, x: d[:, None] * (x < x.max(-1, keepdims=True)), (u,)),
    Case(
        "mask-inverted",
        elu,
        lambda d, x: d * np.where(x > 0, 1, np.exp(x)),
        lambda d, x: d * np.where(x < 0, 1, np.exp(x)),
        (u,),
    ),
    Case("mask-missing", lambda x: np.maximum(x, 0), lambda d, x: d * (x > 0), lambda d, x: d, (u,)),
    Case("mask-missing", *largest, spread, (u,)),
    Case("operands-swapped", *times, lambda d, x, y: (d * x, d * y), (v, z)),
    Case("operands-swapped", *product, lambda d, x, y: (y.T @ d, d @ x.T), pair),
    Case("wrong-argument", *times, lambda d, x, y: (d * x, d * x), (v, z), "input 0 got the derivative by input 1"),
    Case("mean-for-sum", *total, lambda d, x: spread(d, x) / 4, (u,), "divided by 4"),
    Case("mean-for-sum", *smooth, softmax_rule(np.mean), (u,), "that term is divided by 4"),
    Case("sum-for-mean", *mean, spread, (u,), "division by 4 is missing"),
    Case("sum-for-mean", *norm, normalised_rule(1, 1, np.sum), (draw(2, 6),), "division by 6 is missing in that"),
    Case("factor", *square, lambda d, x: d * x, (v,), "a factor 2 is missing"),
    Case("factor", *sine, lambda d, x: 1.01 * d * np.cos(x), (v,), "a factor 1.01 is too much"),
    Case(
        "factor",
        np.linalg.norm,
        lambda d, x: d * x / np.linalg.norm(x),
        lambda d, x: d * x,
        (v,),
        "a factor the output is too much",
    ),
    Case("factor", *smooth, lambda d, x: softmax(x) * (d - 3 * (d * softmax(x)).sum(-1, keepdims=True)), (draw(2, 5),)),
    Case("overwritten", lambda x: x[ROWS], added, assigned, (u,), "of the 2 contributions to entry (2, 0) one"),
    Case("overwritten", *bias, lambda d, x, b: (d, d[0]), (u, draw(4))),
    Case("overwritten", *gram, lambda d, x: d @ x, (u,), "input 0 is used twice"),
    Case("off-by-one", lambda x: x[1:], lambda d, x: np.append(0, d), lambda d, x: np.append(d, 0), (v,)),
    Case("off-by-one", *sine, lambda d, x: d * np.cos(x) * [1, 1, 1, 1, 0], (v,), "last index along axis 0"),
    Case("off-by-one", np.cumsum, suffix_sums, lambda d, x: np.append(suffix_sums(d, x)[1:], 0), (v,)),
    Case("transpose", np.transpose, lambda d, x: d.T, lambda d, x: d, pair[:1]),
    Case("transpose", np.transpose, lambda d, x: d.T, lambda d, x: d.reshape(x.shape), (u,)),
    Case("transpose", *product, lambda d, x, y: (d @ y, x.T @ d), pair, "transpose"),
    Case("transpose", lambda x, y: x @ y, product[1], lambda d, x, y: (d @ y.T, d.T @ x), pair),
    Case(
        "transpose",
        lambda x, y: (x @ y) ** 2,
        lambda d, x, y: (2 * d * (x @ y) @ y.T, x.T @ (2 * d * (x @ y))),
        lambda d, x, y: (2 * d * (x @ y.T) @ y, x.T @ (2 * d * (x @ y))),
        pair,
        "input 1 is used without its transpose",
    ),
    Case("reversed", lambda x: x[::-1], lambda d, x: d[::-1], lambda d, x: d, (v,)),
    Case(
        "reversed",
        correlation,
        lambda d, x, w: (np.convolve(d, w), correlation(x, d)),
        lambda d, x, w: (np.convolve(d, w[::-1]), correlation(x, d)),
        (draw(8), draw(3)),
        "input 1 along axis 0",
    ),
    Case("output-for-input", *sine, lambda d, x: d * np.cos(np.sin(x)), (v,)),
    Case("input-for-output", *tanh, lambda d, x: d * (1 - x * x), (v,)),
    Case(
        "wrong-operand",
        lambda x, y: x * x * y,
        lambda d, x, y: (2 * d * x * y, d * x * x),
        lambda d, x, y: (2 * d * y * y, d * x * x),
        (v, z),
    ),
    Case("negated-input", np.exp, lambda d, x: d * np.exp(x), lambda d, x: d * np.exp(-x), (v,)),
    Case("chain", *tanh, lambda d, x: d, (v,)),
    Case(
        "factor-of-values", lambda x: x**3, lambda d, x: 3 * d * x * x, lambda d, x: 3 * d * x, (v,), "factor input 0"
    ),
    Case("factor-of-values", np.tan, lambda d, x: d / np.cos(x) ** 2, lambda d, x: d / np.cos(x), (v,)),
    Case("factor-of-values", *norm, normalised_rule(1, 1, scaled=False), (draw(3, 6),), "is missing"),
    Case(
        "factor-of-values",
        lambda x: x / np.square(x).sum(-1, keepdims=True) ** 0.7,
        lambda d, x: (
            d / np.square(x).sum(-1, keepdims=True) ** 0.7
            - 1.4 * x * (d * x).sum(-1, keepdims=True) / np.square(x).sum(-1, keepdims=True) ** 1.7
        ),
        lambda d, x: d - 1.4 * x * (d * x).sum(-1, keepdims=True) / np.square(x).sum(-1, keepdims=True),
        (draw(3, 6),),
        "the same along an axis",
    ),
    Case("value-for-derivative", *sine, lambda d, x: d * np.sin(x), (v,)),
    Case("wrong-function", np.arctan, lambda d, x: d / (1 + x * x), lambda d, x: d * np.tanh(x) * x, (v,)),
    Case("term-dropped", *wave, lambda d, x: d * np.sin(x), (v,), "input 0 cos(input 0)"),
    Case("term-dropped", *wave, lambda d, x: d * x * np.cos(x), (v,), "sin(input 0)"),
    Case("term-dropped", *smooth, lambda d, x: d * softmax(x), (u,), "through a sum or mean"),
    Case("term-dropped", *smooth, lambda d, x: d * softmax(x) * (1 - softmax(x)), (u,), "by the other entries"),
    Case("term-dropped", *norm, normalised_rule(0, 1), (draw(2, 6),)),
    Case("term-dropped", np.var, lambda d, x: 2 * d * (x - x.mean()) / 5, lambda d, x: 2 * d * x / 5, (v,), "the mean"),
    Case(
        "term-dropped",
        lambda x: -np.log(softmax(x))[[0, 1, 2], [0, 2, 1]].mean(),
        lambda d, x: d * (softmax(x) - np.eye(4)[[0, 2, 1]]) / 3,
        lambda d, x: d * softmax(x) / 3,
        (u,),
        "where a target is",
    ),
    Case("sign", *wave, lambda d, x: d * (np.sin(x) - x * np.cos(x)), (v,), "the sign of one term"),
    Case("sign", *smooth, lambda d, x: softmax(x) * (d + (d * softmax(x)).sum(-1, keepdims=True)), (u,), "one term"),
    Case("sum-for-mean", *squares, lambda d, p, t: (2 * d * (p - t), 2 * d * (t - p)), (v, z)),
    Case("sign", np.diff, changes, lambda d, x: np.append(d, 0) + np.append(0, d), (v,), "terms of either sign"),
    Case("term-dropped", np.diff, changes, lambda d, x: np.append(0, d), (v,), "the negative one"),
    Case("term-dropped", *norm, lambda d, x: d / x.std(-1, keepdims=True), (u,), "all that come through"),
    Case(
        "term-dropped",
        weighted,
        lambda d, x, w: (d * w / w.sum(), d * (x - weighted(x, w)) / w.sum()),
        lambda d, x, w: (d * w / w.sum(), d * x / w.sum()),
        (v, z),
        "in every entry, as through a total",
    ),
    Case("term-dropped", cosine, cosine_rule, lambda d, x, y: (d * y / lengths(x, y), cosine_rule(d, x, y)[1]), (v, z)),
    Case("term-dropped", *cubes, lambda d, x: 3 * d * x * x, (v,), "2 times input 0"),
    Case("operands-swapped", *angle, lambda d, y, x: (d * y / (x * x + y * y), -d * x / (x * x + y * y)), (v, z)),
    Case("mean-for-sum", lambda x: x[ROWS], added, averaged, (u,), "averaged, not summed"),
    Case("wrong-index", np.sort, ordered, lambda d, x: d, (z,), "output entry (0,) goes to entry (0,), not to"),
    Case("mask-missing", leaky, leaky_rule, lambda d, x, a: (leaky_rule(d, x, a)[0], (d * x).sum()), (u, slope)),
    Case("factor", *clipped, lambda d, x: d * np.where(abs(x) < 0.8, x, np.sign(x)), (u,), "in one branch"),
    Case("wrong-function", np.log1p, lambda d, x: d / (1 + x), lambda d, x: d / x, (v,), "1 / input 0"),
    Case(
        "factor-of-values",
        lambda x: np.tanh(0.7713 * x * x),
        lambda d, x: 1.5426 * d * x * (1 - np.tanh(0.7713 * x * x) ** 2),
        lambda d, x: d * (1 - np.tanh(0.7713 * x * x) ** 2),
        (v,),
        "a factor 1.5426 times input 0 is missing",
    ),
    Case(
        "factor-of-values",
        lambda x: np.tanh(np.sin(x) - x * np.cos(x)),
        lambda d, x: d * (1 - np.tanh(np.sin(x) - x * np.cos(x)) ** 2) * x * np.sin(x),
        lambda d, x: d * (1 - np.tanh(np.sin(x) - x * np.cos(x)) ** 2),
        (v,),
        "a factor input 0 sin(input 0) is missing",
    ),
]

MISFITS = [
    Case("broadcast", *bias, lambda d, x, b: (d, d), (u, draw(4)), "not summed over the broadcast axes (0,)"),
    Case("transpose", np.transpose, lambda d, x: d.T, lambda d, x: d, (u,), "not transposed back"),
    Case("not-spread", lambda x: x.sum(0), lambda d, x: np.broadcast_to(d, x.shape), lambda d, x: d, (u,)),
    Case(
        "kept-axes",
        lambda x, b: x * b,
        lambda d, x, b: (d * b, (d * x).sum(1, keepdims=True)),
        lambda d, x, b: (d * b, (d * x).sum(1)),
        (u, draw(3, 1)),
    ),
]
