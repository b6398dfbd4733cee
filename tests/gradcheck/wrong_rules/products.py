"""Wrong rules of products, of matrices and of functions of one variable."""

import numpy as np

from forgenb import ops

from .case import (
    ARGUMENT,
    CHAIN,
    DROPPED,
    FACTOR,
    OVERWRITTEN,
    SIGN,
    SWAPPED,
    TRANSPOSE,
    UNSUMMED,
    ZERO,
    Problem,
    Wrong,
)


def squares(r):
    return r.normal(size=(3, 3)), r.normal(size=(3, 3))


def per_sample(dout, x):
    return np.einsum("bti,bto->bio", x, dout)


PROBLEMS = [
    Problem(
        "a @ b",
        lambda a, b: a @ b,
        squares,
        right=lambda dout, a, b: (dout @ b.T, a.T @ dout),
        wrong=[
            Wrong("b not transposed", {TRANSPOSE}, lambda dout, a, b: (dout @ b, a.T @ dout)),
            Wrong("a not transposed", {TRANSPOSE}, lambda dout, a, b: (dout @ b.T, a @ dout)),
            Wrong("result transposed", {TRANSPOSE}, lambda dout, a, b: (dout @ b.T, dout.T @ a)),
            Wrong("factors in the other order", {SWAPPED}, lambda dout, a, b: (dout @ b.T, dout @ a.T)),
            Wrong("own value, not the other's", {SWAPPED, ARGUMENT}, lambda dout, a, b: (dout @ a.T, b.T @ dout)),
        ],
    ),
    Problem(
        "a @ a",
        lambda a: a @ a,
        lambda r: (r.normal(size=(3, 3)),),
        right=lambda dout, a: dout @ a.T + a.T @ dout,
        wrong=[Wrong("the second way overwrites the first", {OVERWRITTEN, DROPPED}, lambda dout, a: a.T @ dout)],
    ),
    Problem(
        "dot",
        lambda x, w: ops.dot(x, w),
        lambda r: (r.normal(size=5), r.normal(size=5)),
        right=lambda dout, x, w: (dout * w, dout * x),
        wrong=[Wrong("weights taken for constants", {ZERO}, lambda dout, x, w: (dout * w, None))],
    ),
    Problem(
        "outer",
        lambda u, v: ops.outer(u, v),
        lambda r: (r.normal(size=4), r.normal(size=4)),
        right=lambda dout, u, v: (dout @ v, dout.T @ u),
        wrong=[Wrong("not transposed", {TRANSPOSE}, lambda dout, u, v: (dout @ v, dout @ u))],
    ),
    Problem(
        "quadratic form",
        lambda x, a: ops.dot(x, a @ x),
        lambda r: (r.normal(size=3), r.normal(size=(3, 3))),
        right=lambda dout, x, a: (dout * (a + a.T) @ x, dout * np.outer(x, x)),
        wrong=[
            Wrong("as if a were symmetric", {TRANSPOSE}, lambda dout, x, a: (2 * dout * a @ x, dout * np.outer(x, x))),
            Wrong("a @ x alone", {DROPPED, OVERWRITTEN}, lambda dout, x, a: (dout * a @ x, dout * np.outer(x, x))),
        ],
    ),
    Problem(
        "three factors",
        lambda a, b, c: a * b * c,
        lambda r: (r.normal(size=4), r.normal(size=4), r.normal(size=4)),
        right=lambda dout, a, b, c: (dout * b * c, dout * a * c, dout * a * b),
        wrong=[
            Wrong("c forgotten", {CHAIN, FACTOR}, lambda dout, a, b, c: (dout * b, dout * a * c, dout * a * b)),
        ],
    ),
    Problem(
        "batched layer",
        lambda x, w: x @ w,
        lambda r: (r.normal(size=(2, 3, 4)), r.normal(size=(4, 2))),
        right=lambda dout, x, w: (dout @ w.T, per_sample(dout, x).sum(axis=0)),
        wrong=[
            Wrong("one gradient a sample", {UNSUMMED}, lambda dout, x, w: (dout @ w.T, per_sample(dout, x))),
            Wrong(
                "= in the loop over samples",
                {OVERWRITTEN, UNSUMMED},
                lambda dout, x, w: (dout @ w.T, per_sample(dout, x)[-1]),
            ),
        ],
    ),
    Problem(
        "x exp(x)",
        lambda x: x * ops.exp(x),
        lambda r: (r.normal(size=6),),
        right=lambda dout, x: dout * (np.exp(x) + x * np.exp(x)),
        wrong=[
            Wrong("the first term only", {DROPPED}, lambda dout, x: dout * np.exp(x)),
        ],
    ),
    Problem(
        "x / (1 + x^2)",
        lambda x: x / (1.0 + x * x),
        lambda r: (r.normal(size=6),),
        right=lambda dout, x: dout * (1 + x * x - 2 * x * x) / (1 + x * x) ** 2,
        wrong=[
            Wrong("plus in the quotient rule", {SIGN}, lambda dout, x: dout * (1 + 3 * x * x) / (1 + x * x) ** 2),
            Wrong("denominator not squared", {CHAIN, FACTOR}, lambda dout, x: dout * (1 - x * x) / (1 + x * x)),
            Wrong("only the numerator moves", {DROPPED}, lambda dout, x: dout / (1 + x * x)),
        ],
    ),
]
