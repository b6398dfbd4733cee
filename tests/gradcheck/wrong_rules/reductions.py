"""Wrong rules of sums, means, extrema and running sums."""

import numpy as np

from forgenb import ops

from .case import (
    CHAIN,
    DROPPED,
    FACTOR,
    MASK,
    MEAN,
    SHIFT,
    SIGN,
    TRANSPOSE,
    UNSUMMED,
    Problem,
    Wrong,
)


def numbers(r):
    return (r.normal(size=(4, 4)),)


def vector(r):
    return (r.normal(size=6),)


def largest(x):
    return np.eye(x.shape[1])[x.argmax(axis=1)]


def from_the_end(dout):
    return np.cumsum(dout[::-1])[::-1]


PROBLEMS = [
    Problem(
        "mean",
        lambda x: ops.mean(x),
        numbers,
        right=lambda dout, x: np.full(x.shape, dout / x.size),
        wrong=[Wrong("1/n forgotten", {MEAN, FACTOR}, lambda dout, x: np.full(x.shape, dout))],
    ),
    Problem(
        "mean of rows",
        lambda x: ops.mean(x, axis=1),
        lambda r: (r.normal(size=(3, 5)),),
        right=lambda dout, x: np.repeat(dout[:, None] / 5, 5, axis=1),
        wrong=[
            Wrong("divided by the rows", {MEAN, FACTOR}, lambda dout, x: np.repeat(dout[:, None] / len(x), 5, axis=1))
        ],
    ),
    Problem(
        "sum of rows",
        lambda x: ops.sum(x, axis=1),
        numbers,
        right=lambda dout, x: np.repeat(dout[:, None], 4, axis=1),
        wrong=[
            Wrong("spread down columns", {TRANSPOSE, UNSUMMED}, lambda dout, x: np.repeat(dout[None], 4, axis=0)),
            Wrong("shared out", {MEAN, FACTOR}, lambda dout, x: np.repeat(dout[:, None] / 4, 4, axis=1)),
        ],
    ),
    Problem(
        "max of rows",
        lambda x: ops.max(x, axis=1),
        numbers,
        right=lambda dout, x: dout[:, None] * largest(x),
        wrong=[
            Wrong("the entry after it", {SHIFT}, lambda dout, x: dout[:, None] * np.roll(largest(x), 1, axis=1)),
            Wrong("every entry", {MASK, CHAIN, FACTOR}, lambda dout, x: np.repeat(dout[:, None], 4, axis=1)),
            Wrong("every entry but it", {MASK}, lambda dout, x: dout[:, None] * (1 - largest(x))),
        ],
    ),
    Problem(
        "cumsum",
        ops.cumsum,
        vector,
        right=lambda dout, x: from_the_end(dout),
        wrong=[
            Wrong("not from the end", {TRANSPOSE}, lambda dout, x: np.cumsum(dout)),
            Wrong("without its own term", {SHIFT, DROPPED}, lambda dout, x: from_the_end(dout) - dout),
        ],
    ),
    Problem(
        "prod",
        lambda x: ops.prod(x),
        vector,
        right=lambda dout, x: dout * x.prod() / x,
        wrong=[Wrong("not divided by x", {CHAIN, FACTOR}, lambda dout, x: np.full(x.shape, dout * x.prod()))],
    ),
    Problem(
        "std",
        lambda x: ops.std(x, ddof=1),
        vector,
        right=lambda dout, x: dout * (x - x.mean()) / (5 * x.std(ddof=1)),
        wrong=[
            Wrong("n for n - 1", {SHIFT, FACTOR}, lambda dout, x: dout * (x - x.mean()) / (6 * x.std(ddof=1))),
            Wrong("mean not subtracted", {DROPPED}, lambda dout, x: dout * x / (5 * x.std(ddof=1))),
        ],
    ),
    Problem(
        "variance",
        lambda x: ops.mean(ops.square(x - ops.mean(x))),
        vector,
        right=lambda dout, x: 2 * dout * (x - x.mean()) / 6,
        wrong=[
            Wrong("mean added", {SIGN}, lambda dout, x: 2 * dout * (x + x.mean()) / 6),
            Wrong("the sum of squares", {MEAN, FACTOR}, lambda dout, x: 2 * dout * (x - x.mean())),
        ],
    ),
    Problem(
        "length",
        lambda x: ops.sqrt(ops.sum(x * x)),
        vector,
        right=lambda dout, x: dout * x / np.sqrt((x * x).sum()),
        wrong=[Wrong("not divided by the length", {CHAIN, FACTOR}, lambda dout, x: dout * x)],
    ),
    Problem(
        "logsumexp",
        lambda x: ops.logsumexp(x, axis=1),
        numbers,
        right=lambda dout, x: dout[:, None] * np.exp(x) / np.exp(x).sum(axis=1, keepdims=True),
        wrong=[
            Wrong("not normalised", {CHAIN, FACTOR}, lambda dout, x: dout[:, None] * np.exp(x)),
            Wrong(
                "normalised down columns",
                {UNSUMMED, TRANSPOSE},
                lambda dout, x: dout[:, None] * np.exp(x) / np.exp(x).sum(axis=0),
            ),
        ],
    ),
]
