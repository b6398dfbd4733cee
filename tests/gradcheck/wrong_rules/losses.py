"""Wrong rules of softmax, of normalisation and of losses."""

import numpy as np

import forgenb as fnb
from forgenb import ops

from .case import (
    CHAIN,
    DROPPED,
    FACTOR,
    MASK,
    MEAN,
    SHIFT,
    SIGN,
    SWAPPED,
    TRANSPOSE,
    UNSUMMED,
    Problem,
    Wrong,
)

TARGETS = np.array([2, 0, 3, 1])
ONE_HOT = np.eye(4)[TARGETS]
BINARY = np.array([1.0, 0, 0, 1, 1, 0])


def square(r):
    return (r.normal(size=(4, 4)),)


def pair(r):
    return r.normal(size=(3, 4)), r.normal(size=(3, 4))


def probabilities(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax_rule(dout, x, axis=1):
    y = probabilities(x)
    return y * (dout - (dout * y).sum(axis=axis, keepdims=True))


def rows(x):
    return x.mean(axis=-1, keepdims=True)


def standard(x):
    rstd = 1 / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    return (x - rows(x)) * rstd, rstd


def layernorm_slip(first=1, second=1, scaled=True, divided=True, order=(0, 1, 2)):
    """The rule of layernorm; with another argument than these, one slip in it."""

    def rule(dout, x, gamma, beta):
        normal, rstd = standard(x)
        g = dout * gamma if scaled else dout
        dx = (rstd if divided else 1) * (g - first * rows(g) - second * normal * rows(g * normal))
        found = dx, (dout * normal).sum(axis=0), dout.sum(axis=0)
        return tuple(found[i] for i in order)

    return rule


def rmsnorm_rule(dout, x, sign):
    r = 1 / np.sqrt(rows(x * x) + 1e-6)
    return r * dout + sign * r**3 * x * rows(dout * x)


def huber_rule(dout, x, near, slope=1.0):
    return dout / x.size * np.where(near, x, slope * np.sign(x))


PROBLEMS = [
    Problem(
        "softmax",
        ops.softmax,
        square,
        right=softmax_rule,
        wrong=[
            Wrong("no sum", {DROPPED}, lambda dout, x: dout * probabilities(x)),
            Wrong("the diagonal only", {DROPPED}, lambda dout, x: dout * probabilities(x) * (1 - probabilities(x))),
            Wrong("summed down columns", {UNSUMMED, TRANSPOSE}, lambda dout, x: softmax_rule(dout, x, axis=0)),
        ],
    ),
    Problem(
        "log_softmax",
        ops.log_softmax,
        square,
        right=lambda dout, x: dout - probabilities(x) * dout.sum(axis=1, keepdims=True),
        wrong=[
            Wrong("sum of dout taken for 1", {CHAIN, FACTOR, UNSUMMED}, lambda dout, x: dout - probabilities(x)),
            # also DROPPED: of the terms of the sum the entry's own is left
            Wrong("dout not summed", {UNSUMMED, DROPPED}, lambda dout, x: dout - probabilities(x) * dout),
        ],
    ),
    Problem(
        "layernorm",
        ops.layernorm,
        lambda r: (r.normal(size=(3, 5)), r.normal(size=5), r.normal(size=5)),
        right=layernorm_slip(),
        wrong=[
            Wrong("mean and deviation constant", {DROPPED}, layernorm_slip(first=0, second=0)),
            Wrong("the mean constant", {DROPPED}, layernorm_slip(first=0)),
            Wrong("the deviation constant", {DROPPED}, layernorm_slip(second=0)),
            Wrong("the projection added", {SIGN}, layernorm_slip(second=-1)),
            Wrong("gamma forgotten", {CHAIN, FACTOR}, layernorm_slip(scaled=False)),
            Wrong("not divided by the deviation", {CHAIN, FACTOR}, layernorm_slip(divided=False)),
            Wrong("gamma and beta changed places", {SWAPPED}, layernorm_slip(order=(0, 2, 1))),
        ],
    ),
    Problem(
        "rms norm",
        lambda x: x / ops.sqrt(ops.mean(x * x, axis=1, keepdims=True) + 1e-6),
        square,
        right=lambda dout, x: rmsnorm_rule(dout, x, -1),
        wrong=[Wrong("projection added", {SIGN}, lambda dout, x: rmsnorm_rule(dout, x, 1))],
    ),
    Problem(
        "cross_entropy",
        lambda x: ops.cross_entropy(x, TARGETS),
        square,
        right=lambda dout, x: dout * (probabilities(x) - ONE_HOT) / 4,
        wrong=[
            Wrong("not divided by the batch", {MEAN, FACTOR}, lambda dout, x: dout * (probabilities(x) - ONE_HOT)),
            Wrong("target - p", {SIGN}, lambda dout, x: dout * (ONE_HOT - probabilities(x)) / 4),
            Wrong("1 not subtracted at the target", {DROPPED}, lambda dout, x: dout * probabilities(x) / 4),
            Wrong("at the next class", {SHIFT}, lambda dout, x: dout * (probabilities(x) - np.roll(ONE_HOT, 1, 1)) / 4),
            Wrong("dout taken for 1", {CHAIN, FACTOR}, lambda dout, x: (probabilities(x) - ONE_HOT) / 4),
        ],
    ),
    Problem(
        "bce",
        lambda x: ops.mean(ops.softplus(x) - x * fnb.tensor(BINARY)),
        lambda r: (r.normal(size=6),),
        right=lambda dout, x: dout * (1 / (1 + np.exp(-x)) - BINARY) / 6,
        wrong=[
            Wrong(
                "times p (1 - p) once more",
                {CHAIN, FACTOR},
                lambda dout, x: dout * (1 / (1 + np.exp(-x)) - BINARY) / 6 * np.exp(-x) / (1 + np.exp(-x)) ** 2,
            )
        ],
    ),
    Problem(
        "mse",
        lambda x, t: ops.mean(ops.square(x - t)),
        pair,
        right=lambda dout, x, t: (dout * 2 * (x - t) / x.size, -dout * 2 * (x - t) / x.size),
        wrong=[
            Wrong("2 forgotten", {FACTOR}, lambda dout, x, t: (dout * (x - t) / x.size, -dout * (x - t) / x.size)),
            Wrong("the same for both", {SIGN}, lambda dout, x, t: (dout * 2 * (x - t) / x.size,) * 2),
            Wrong(
                "divided by the rows",
                {MEAN, FACTOR},
                lambda dout, x, t: (dout * 2 * (x - t) / len(x), -dout * 2 * (x - t) / len(x)),
            ),
        ],
    ),
    Problem(
        "huber",
        lambda x: ops.mean(ops.where(ops.abs(x) < 0.5, 0.5 * x * x, 0.5 * (ops.abs(x) - 0.25))),
        lambda r: (r.permutation([-2, -1.1, -0.3, -0.1, 0.2, 0.4, 0.8, 1.3]),),
        right=lambda dout, x: huber_rule(dout, x, abs(x) < 0.5, 0.5),
        wrong=[
            Wrong("branches changed places", {MASK}, lambda dout, x: huber_rule(dout, x, abs(x) > 0.5, 0.5)),
            Wrong("delta forgotten", {FACTOR, CHAIN}, lambda dout, x: huber_rule(dout, x, abs(x) < 0.5)),
            Wrong("never linear", {MASK, DROPPED}, lambda dout, x: dout / x.size * x),
        ],
    ),
    Problem(
        "divergence",
        lambda p, q: ops.sum(p * (ops.log(p) - ops.log(q))),
        lambda r: (r.uniform(0.2, 1, 5), r.uniform(0.2, 1, 5)),
        right=lambda dout, p, q: (dout * (np.log(p / q) + 1), -dout * p / q),
        wrong=[
            Wrong("the 1 forgotten", {DROPPED}, lambda dout, p, q: (dout * np.log(p / q), -dout * p / q)),
            Wrong("p and q changed places", {SWAPPED}, lambda dout, p, q: (-dout * p / q, dout * (np.log(p / q) + 1))),
        ],
    ),
    Problem(
        "loss with weight decay",
        lambda w: ops.mean(ops.square(w - 1.0)) + 0.05 * ops.sum(ops.square(w)),
        lambda r: (r.normal(size=6),),
        right=lambda dout, w: dout * (2 * (w - 1) / 6 + 0.1 * w),
        wrong=[
            Wrong("no decay", {DROPPED}, lambda dout, w: dout * 2 * (w - 1) / 6),
            Wrong("decay subtracted", {SIGN}, lambda dout, w: dout * (2 * (w - 1) / 6 - 0.1 * w)),
        ],
    ),
]
