"""Rules with a mistake in one of several terms, in a mask, or in the axes of a sum; `wrong_rules` has the rest."""

from __future__ import annotations

import numpy as np

from .wrong_rules import (
    Case,
    correlation,
    draw,
    gram,
    norm,
    normalised_rule,
    pair,
    product,
    smooth,
    softmax,
    softmax_rule,
    u,
    v,
    wave,
    z,
)

TARGETS = [0, 2, 1]
FORM = (lambda x, m: x @ m @ x), lambda d, x, m: (d * (m + m.T) @ x, d * np.outer(x, x))


def leaky(x):
    return np.where(x > 0, x, 0.1 * x)


def leaky_rule(d, x):
    return d * np.where(x > 0, 1, 0.1)


def at_class(d, x, target):
    return d * (softmax(x) - np.eye(4)[target]) / 3


def lengths(x):
    return np.sqrt(np.square(x).sum(1))


def commuted(x, y):
    return x @ y + y @ x


def commuted_rule(d, x, y):
    return d @ y.T + y.T @ d, x.T @ d + d @ x.T


scaled = (lambda x, g: x * g), lambda d, x, g: (d * g, (d * x).sum(0))
power = np.power, lambda d, x, y: (d * y * x ** (y - 1), d * x**y * np.log(x))
lower = np.tril, lambda d, x: np.tril(d)
big, four, six = draw(4, 4), draw(4), draw(6)

CASES = [
    Case("wrong-operand", leaky, leaky_rule, lambda d, x: d * np.where(d > 0, 1, 0.1), (u,), "by the incoming"),
    Case("ignores-incoming", *wave, lambda d, x: d * np.sin(x) + x * np.cos(x), (v,), "one term of the rule"),
    Case("stale", *product, lambda d, x, y: (d @ (y - 0.01 * x.T @ d).T, x.T @ d), pair, "a step of 1/100 times"),
    Case("merged-incoming", *scaled, lambda d, x, g: (d * g, d.sum(0) * x.mean(0)), (u, four), "are averaged before"),
    Case("overwritten", commuted, commuted_rule, lambda d, x, y: (y.T @ d, commuted_rule(d, x, y)[1]), pair, "twice"),
    Case("overwritten", *scaled, lambda d, x, g: (d * g, (d * x)[-1]), (u, four), "the last alone"),
    Case("wrong-axis", *scaled, lambda d, x, g: (d * g, (d * x).sum(1)), (big, four), "axes (1,) of the output"),
    Case(
        "wrong-axis", *smooth, softmax_rule(lambda t, axis, keepdims: t.sum(0)), (big,), "over axis 0, not over axis 1"
    ),
    Case(
        "wrong-axis",
        lengths,
        lambda d, x: d[:, None] * x / lengths(x)[:, None],
        lambda d, x: d[:, None] * x / lengths(x.T),
        (big,),
        "of input 0**2",
    ),
    Case("operands-swapped", lambda x: x**2, lambda d, x: 2 * d * x, lambda d, x: np.roll(2 * d * x, 3), (six,)),
    Case(
        "transpose", lambda x: x.reshape(2, 3).sum(0), lambda d, x: np.tile(d, 2), lambda d, x: np.repeat(d, 2), (six,)
    ),
    Case("off-by-one", *lower, lambda d, x: np.tril(d, -1), (big,), "the mask is shifted"),
    Case("mask-wrong", *lower, lambda d, x: np.triu(d), (big,), "12 entries"),
    Case("transpose", *gram, lambda d, x: 2 * d @ x, (big[:3],), "in one of several terms"),
    Case("transpose", *FORM, lambda d, x, m: (2 * d * m @ x, FORM[1](d, x, m)[1]), (draw(3), pair[0]), "of input 1"),
    Case(
        "off-by-one",
        correlation,
        lambda d, x, w: (np.convolve(d, w), correlation(x, d)),
        lambda d, x, w: (np.convolve(d, w), correlation(np.append(x[1:], 0), d)),
        (draw(8), draw(3)),
        "input 0 is shifted",
    ),
    Case(
        "off-by-one",
        lambda x: -np.log(softmax(x))[[0, 1, 2], TARGETS].mean(),
        lambda d, x: at_class(d, x, TARGETS),
        lambda d, x: at_class(d, x, [1, 3, 2]),
        (u,),
        "one term is shifted",
    ),
    Case(
        "term-dropped", lambda x: x * np.exp(x), lambda d, x: d * (1 + x) * np.exp(x), lambda d, x: d * np.exp(x), (v,)
    ),
    Case(
        "wrong-operand", *power, lambda d, x, y: (power[1](d, x, y)[0], d * x**y * np.log(y)), (v, z), "in a function"
    ),
    Case("sign", *norm, normalised_rule(1, -1), (draw(2, 6),), "one of those that come through"),
    Case(
        "term-dropped",
        lambda x: x * x * np.sin(x),
        lambda d, x: d * (2 * x * np.sin(x) + x * x * np.cos(x)),
        lambda d, x: d * x * x * np.cos(x),
        (v,),
        "2 times input 0 sin(input 0)",
    ),
    Case("sign", np.var, lambda d, x: 2 * d * (x - x.mean()) / 5, lambda d, x: 2 * d * (x + x.mean()) / 5, (v,)),
]
