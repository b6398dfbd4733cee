"""Wrong rules of functions of two operands, most of them broadcast."""

import numpy as np

from forgenb import ops

from .case import (
    ARGUMENT,
    CHAIN,
    FACTOR,
    MASK,
    MEAN,
    OVERWRITTEN,
    SHIFT,
    SIGN,
    SWAPPED,
    TRANSPOSE,
    UNSUMMED,
    ZERO,
    Problem,
    Wrong,
)


def rows_and_bias(r):
    return r.normal(size=(4, 4)), r.normal(size=4)


def two(r):
    return r.uniform(0.5, 2, (3, 4)), r.uniform(0.5, 2, (3, 4))


PROBLEMS = [
    Problem(
        "x + b",
        lambda x, b: x + b,
        rows_and_bias,
        right=lambda dout, x, b: (dout, dout.sum(axis=0)),
        wrong=[
            Wrong("bias not summed", {UNSUMMED}, lambda dout, x, b: (dout, dout)),
            Wrong("bias summed along rows", {UNSUMMED, TRANSPOSE}, lambda dout, x, b: (dout, dout.sum(axis=1))),
            Wrong("bias averaged", {MEAN, FACTOR}, lambda dout, x, b: (dout, dout.mean(axis=0))),
            # also OVERWRITTEN: what a loop over the rows with = for += leaves
            Wrong("the last row only", {UNSUMMED, OVERWRITTEN}, lambda dout, x, b: (dout, dout[-1])),
        ],
    ),
    Problem(
        "x * gamma",
        lambda x, gamma: x * gamma,
        rows_and_bias,
        right=lambda dout, x, gamma: (dout * gamma, (dout * x).sum(axis=0)),
        wrong=[
            Wrong("x forgotten", {CHAIN, FACTOR, ARGUMENT}, lambda dout, x, gamma: (dout * gamma, dout.sum(axis=0))),
            Wrong(
                "summed before the product",
                {UNSUMMED, ARGUMENT},
                lambda dout, x, gamma: (dout * gamma, dout.sum(axis=0) * x.sum(axis=0)),
            ),
        ],
    ),
    Problem(
        "column * row",
        lambda x, y: x * y,
        lambda r: (r.normal(size=(3, 1)), r.normal(size=(1, 3))),
        right=lambda dout, x, y: ((dout * y).sum(axis=1, keepdims=True), (dout * x).sum(axis=0, keepdims=True)),
        wrong=[
            Wrong(
                "axes mixed up",
                {UNSUMMED, TRANSPOSE},
                lambda dout, x, y: ((dout * y).sum(axis=0)[:, None], (dout * x).sum(axis=1)[None]),
            ),
        ],
    ),
    Problem(
        "temperature",
        lambda x, t: x * t,
        lambda r: (r.normal(size=(3, 4)), r.normal(size=())),
        right=lambda dout, x, t: (dout * t, (dout * x).sum()),
        wrong=[Wrong("the mean for the scalar", {MEAN, FACTOR}, lambda dout, x, t: (dout * t, (dout * x).mean()))],
    ),
    Problem(
        "x - y",
        lambda x, y: x - y,
        two,
        right=lambda dout, x, y: (dout, -dout),
        wrong=[Wrong("both as in a sum", {SIGN}, lambda dout, x, y: (dout, dout))],
    ),
    Problem(
        "x * y",
        lambda x, y: x * y,
        two,
        right=lambda dout, x, y: (dout * y, dout * x),
        wrong=[Wrong("own value, not the other's", {SWAPPED, ARGUMENT}, lambda dout, x, y: (dout * x, dout * y))],
    ),
    Problem(
        "x / y",
        lambda x, y: x / y,
        two,
        right=lambda dout, x, y: (dout / y, -dout * x / y**2),
        wrong=[
            Wrong("no minus", {SIGN}, lambda dout, x, y: (dout / y, dout * x / y**2)),
            Wrong("y not squared", {FACTOR, CHAIN, SHIFT}, lambda dout, x, y: (dout / y, -dout * x / y)),
        ],
    ),
    Problem(
        "x ** y",
        lambda x, y: x**y,
        two,
        right=lambda dout, x, y: (dout * y * x ** (y - 1), dout * x**y * np.log(x)),
        wrong=[
            Wrong(
                "log of the exponent",
                {ARGUMENT, SWAPPED},
                lambda dout, x, y: (dout * y * x ** (y - 1), dout * x**y * np.log(y)),
            )
        ],
    ),
    Problem(
        "angle",
        lambda y, x: ops.arctan(y / x),
        two,
        right=lambda dout, y, x: (dout * x / (x**2 + y**2), -dout * y / (x**2 + y**2)),
        wrong=[
            Wrong(
                "returned in the other order",
                {SWAPPED},
                lambda dout, y, x: (-dout * y / (x**2 + y**2), dout * x / (x**2 + y**2)),
            )
        ],
    ),
    Problem(
        "blend",
        lambda a, b, t: a + t * (b - a),
        lambda r: (r.normal(size=4), r.normal(size=4), r.uniform(0.2, 0.8, 4)),
        right=lambda dout, a, b, t: (dout * (1 - t), dout * t, dout * (b - a)),
        wrong=[
            Wrong("a - b", {SIGN}, lambda dout, a, b, t: (dout * (1 - t), dout * t, dout * (a - b))),
            Wrong("t and 1 - t", {SWAPPED}, lambda dout, a, b, t: (dout * t, dout * (1 - t), dout * (b - a))),
        ],
    ),
    Problem(
        "maximum",
        ops.maximum,
        lambda r: (r.normal(size=(3, 4)), r.normal(size=(3, 4))),
        right=lambda dout, x, y: (dout * (x > y), dout * (y > x)),
        wrong=[Wrong("the smaller one", {MASK, SWAPPED}, lambda dout, x, y: (dout * (x < y), dout * (y < x)))],
    ),
    Problem(
        "where x > 0",
        lambda x, y: ops.where(x > 0.0, x * 2.0, y * 3.0),
        lambda r: (r.normal(size=8), r.normal(size=8)),
        right=lambda dout, x, y: (2 * dout * (x > 0), 3 * dout * (x <= 0)),
        wrong=[
            Wrong("the other branch", {MASK}, lambda dout, x, y: (2 * dout * (x <= 0), 3 * dout * (x > 0))),
            Wrong("no gradient for y", {ZERO}, lambda dout, x, y: (2 * dout * (x > 0), 0 * dout)),
        ],
    ),
]
