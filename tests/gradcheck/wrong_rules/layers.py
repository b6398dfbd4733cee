"""Wrong rules of layers: what is saved, what is shared, what is masked."""

import numpy as np

import forgenb as fnb
from forgenb import ops

from .case import (
    ARGUMENT,
    CHAIN,
    DROPPED,
    FACTOR,
    MASK,
    MEAN,
    NONE,
    SHIFT,
    SIGN,
    STALE,
    SWAPPED,
    TRANSPOSE,
    ZERO,
    Problem,
    Wrong,
)

KEPT = np.array([[1.0, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 1]])
REDRAWN = np.array([[0.0, 1, 1, 0], [1, 1, 0, 1], [1, 0, 1, 1]])
CAUSAL = np.where(np.tri(3), 0, -np.inf)


class Cached:
    """A square of its input, which it keeps for backward in one place however often it is called."""

    def __init__(self):
        self.last = np.zeros(())

    def __call__(self, x):
        """Twice the layer: x^4."""
        y = x * x
        self.last = np.array(y.numpy())
        return y * y

    def wrong(self, dout, x):
        return dout * 2 * self.last * 2 * self.last


twice = Cached()


def linear_rule(dout, x, w, seen):
    """A layer whose weights are kept as (out, in); `seen` is what dx is computed with."""
    return dout @ seen, dout.T @ x


def convolved(dout, w, turn=1):
    """Gradient of the input of a sliding product."""
    return np.convolve(dout, w[::turn])


def slid(x, dout, start=0):
    padded = np.pad(x, (0, 1))
    return np.array([(padded[k + start : k + start + len(dout)] * dout).sum() for k in range(3)])


def sliding(x, w):
    return ops.stack([ops.dot(x[i : i + 3], w) for i in range(5)])


def attend(q, k, v):
    scores = q @ ops.transpose(k) * 0.5 + fnb.tensor(CAUSAL)
    return ops.softmax(scores) @ v


def attention_rule(dout, q, k, v, scale=0.5, projected=True, mask=CAUSAL):
    e = np.exp(q @ k.T * 0.5 + mask)
    p = e / e.sum(axis=1, keepdims=True)
    dp = dout @ v.T
    ds = p * (dp - projected * (dp * p).sum(axis=1, keepdims=True)) * scale
    return ds @ k, ds.T @ q, p.T @ dout


def step(h, x, w, u):
    return np.tanh(h @ w + x @ u)


def recurrent_rule(dout, h, x, w, u, through=1.0, slope_of=None):
    """Two steps of a recurrent layer on the same input."""
    first = step(h, x, w, u)
    second = step(first, x, w, u)
    d2 = dout * (1 - (second if slope_of is None else first) ** 2)
    d1 = through * (d2 @ w.T) * (1 - first**2)
    return d1 @ w.T, d2 @ u.T + d1 @ u.T, first.T @ d2 + h.T @ d1, x.T @ d2 + x.T @ d1


def recurrent(h, x, w, u):
    for _ in range(2):
        h = ops.tanh(h @ w + x @ u)
    return h


def four_squares(r):
    return tuple(r.normal(size=(3, 3)) * 0.7 for _ in range(4))


def gate(x):
    return 1 / (1 + np.exp(-x))


PROBLEMS = [
    Problem(
        "linear",
        lambda x, w: x @ ops.transpose(w),
        lambda r: (r.normal(size=(3, 3)), r.normal(size=(3, 3))),
        right=lambda dout, x, w: linear_rule(dout, x, w, w),
        wrong=[
            Wrong("weight gradient as (in, out)", {TRANSPOSE}, lambda dout, x, w: (dout @ w, x.T @ dout)),
            Wrong(
                "weights stepped before dx",
                {STALE},
                lambda dout, x, w: linear_rule(dout, x, w, w - 0.1 * dout.T @ x),
            ),
        ],
    ),
    Problem(
        "dropout",
        lambda x: x * fnb.tensor(KEPT) * 1.5,
        lambda r: (r.normal(size=(3, 4)),),
        right=lambda dout, x: dout * KEPT * 1.5,
        wrong=[
            Wrong("not rescaled", {FACTOR}, lambda dout, x: dout * KEPT),
            # also SHIFT: the rows of this mask happen to be those of the other, moved by one
            Wrong("mask drawn anew", {STALE, MASK, SHIFT}, lambda dout, x: dout * REDRAWN * 1.5),
            Wrong("the dropped ones", {MASK}, lambda dout, x: dout * (1 - KEPT) * 1.5),
        ],
    ),
    Problem(
        "one layer called twice",
        twice,
        lambda r: (r.uniform(0.5, 1.5, 5),),
        right=lambda dout, x: 4 * dout * x**3,  # not from what is kept: gradcheck calls the layer elsewhere as well
        wrong=[Wrong("both backward steps see the second input", {STALE}, twice.wrong)],
    ),
    Problem(
        "sliding product",
        sliding,
        lambda r: (r.normal(size=7), r.normal(size=3)),
        right=lambda dout, x, w: (convolved(dout, w), slid(x, dout)),
        wrong=[
            Wrong("kernel flipped", {TRANSPOSE}, lambda dout, x, w: (convolved(dout, w, -1), slid(x, dout))),
            Wrong("window one late", {SHIFT}, lambda dout, x, w: (convolved(dout, w), slid(x, dout, 1))),
        ],
    ),
    Problem(
        "causal attention",
        attend,
        lambda r: (r.normal(size=(3, 4)), r.normal(size=(3, 4)), r.normal(size=(3, 4))),
        right=attention_rule,
        wrong=[
            Wrong("scores not scaled", {FACTOR, CHAIN}, lambda *given: attention_rule(*given, scale=1)),
            Wrong("softmax without its sum", {DROPPED}, lambda *given: attention_rule(*given, projected=False)),
            Wrong("mask forgotten", {MASK}, lambda *given: attention_rule(*given, mask=0)),
            Wrong(
                "queries and keys changed places",
                {SWAPPED},
                lambda *given: tuple(attention_rule(*given)[i] for i in (1, 0, 2)),
            ),
        ],
    ),
    Problem(
        "recurrent layer",
        recurrent,
        four_squares,
        right=recurrent_rule,
        wrong=[
            # also ZERO: all that the first state has comes through the second
            Wrong("nothing through the state", {DROPPED, ZERO}, lambda *given: recurrent_rule(*given, through=0.0)),
            Wrong(
                "slope at the earlier state",
                {STALE, SHIFT, ARGUMENT},
                lambda *given: recurrent_rule(*given, slope_of="first"),
            ),
            Wrong(
                "input gradient of the last step only",
                {DROPPED},
                lambda dout, h, x, w, u: (
                    *recurrent_rule(dout, h, x, w, u)[:1],
                    (dout * (1 - step(step(h, x, w, u), x, w, u) ** 2)) @ u.T,
                    *recurrent_rule(dout, h, x, w, u)[2:],
                ),
            ),
        ],
    ),
    Problem(
        "memory cell",
        lambda c, f, g: ops.sigmoid(f) * c + g,
        lambda r: (r.normal(size=5), r.normal(size=5), r.normal(size=5)),
        right=lambda dout, c, f, g: (dout * gate(f), dout * c * gate(f) * (1 - gate(f)), dout),
        wrong=[
            Wrong(
                "the new cell for the old one",
                {STALE, ARGUMENT},
                lambda dout, c, f, g: (dout * gate(f), dout * (gate(f) * c + g) * gate(f) * (1 - gate(f)), dout),
            ),
            Wrong(
                "slope of the gate forgotten",
                {CHAIN, FACTOR},
                lambda dout, c, f, g: (dout * gate(f), dout * c, dout),
            ),
        ],
    ),
    Problem(
        "gated unit",
        lambda x: x[:3] * ops.sigmoid(x[3:]),
        lambda r: (r.normal(size=6),),
        right=lambda dout, x: np.concatenate([dout * gate(x[3:]), dout * x[:3] * gate(x[3:]) * gate(-x[3:])]),
        wrong=[
            Wrong(
                "halves changed places",
                {SWAPPED},
                lambda dout, x: np.concatenate([dout * x[:3] * gate(x[3:]) * gate(-x[3:]), dout * gate(x[3:])]),
            )
        ],
    ),
    Problem(
        "average pool",
        lambda x: ops.mean(ops.reshape(x, (4, 2)), axis=1),
        lambda r: (r.normal(size=8),),
        right=lambda dout, x: np.repeat(dout / 2, 2),
        wrong=[
            Wrong("not divided by the window", {MEAN, FACTOR}, lambda dout, x: np.repeat(dout, 2)),
            Wrong("laid out by turns", {TRANSPOSE}, lambda dout, x: np.tile(dout / 2, 2)),
        ],
    ),
    Problem(
        "residual",
        lambda x: x + ops.tanh(x),
        lambda r: (r.normal(size=6),),
        right=lambda dout, x: dout + dout * (1 - np.tanh(x) ** 2),
        wrong=[
            Wrong("the way past the layer", {DROPPED}, lambda dout, x: dout * (1 - np.tanh(x) ** 2)),
            Wrong("skip subtracted", {SIGN}, lambda dout, x: dout * (1 - np.tanh(x) ** 2) - dout),
            Wrong(
                "rounded to half",
                {NONE},
                lambda dout, x: (dout * (2 - np.tanh(x) ** 2)).astype("float16").astype(float),
            ),
        ],
    ),
]
