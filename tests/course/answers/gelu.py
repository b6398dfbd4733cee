"""Answers to the exercises of chapter 08."""

import numpy as np

from forgenb import ops


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def elu_rule(dout, x, alpha):
    return dout * ops.where(x > 0, 1.0, alpha * ops.exp(ops.minimum(x, 0.0)))


def mish_rule(dout, x):
    t = ops.tanh(ops.softplus(x))
    return dout * (t + x * (1.0 - t * t) * ops.sigmoid(x))


RIGHT = {"08-1": softplus, "08-2": elu_rule, "08-3": mish_rule}


def lost_digits(x):
    return np.maximum(x, 0) + np.log(1 + np.exp(-np.abs(x)))


def overflowing(dout, x, alpha):
    above = (x > 0).astype("float64")
    return dout * (above + (1.0 - above) * alpha * ops.exp(x))


def not_squared(dout, x):
    t = ops.tanh(ops.softplus(x))
    return dout * (t + x * (1.0 - t) * ops.sigmoid(x))


def fixed_x(dout, x):
    return dout * ops.tanh(ops.softplus(x))


def fixed_tanh(dout, x):
    return mish_rule(dout, x) - fixed_x(dout, x)


def short_chain(dout, x):
    t = ops.tanh(ops.softplus(x))
    return dout * (t + x * (1.0 - t * t))


def elsewhere(dout, x):
    t = ops.tanh(x)
    return dout * (ops.tanh(ops.softplus(x)) + x * (1.0 - t * t) * ops.sigmoid(x))


def no_dout(dout, x):
    return mish_rule(x * 0.0 + 1.0, x)


WRONG = [
    ("08-1", "changes to x at 20", lambda x: np.where(x > 20, x, softplus(x)), "above some size it is x"),
    ("08-1", "writes the formula", lambda x: np.log(1 + np.exp(x)), "leaves the range"),
    ("08-1", "takes log1p alone", lambda x: np.log1p(np.exp(x)), "leaves the range"),
    ("08-1", "takes log for log1p", lost_digits, "the digits are lost"),
    ("08-1", "returns relu", lambda x: np.maximum(x, 0), "this is relu"),
    ("08-1", "shifts all", lambda x: x + np.log1p(np.exp(-np.abs(x))), "x is added on both sides"),
    ("08-1", "adds the size", lambda x: np.abs(x) + np.log1p(np.exp(-np.abs(x))), "the absolute value"),
    ("08-2", "swaps the sides", lambda d, x, a: d * ops.where(x > 0, a * ops.exp(x), 1.0), "each other's slope"),
    (
        "08-2",
        "forgets alpha",
        lambda d, x, a: d * ops.where(x > 0, 1.0, ops.exp(ops.minimum(x, 0.0))),
        "alpha is left out",
    ),
    ("08-2", "lets all through", lambda d, x, a: d, "own derivative is left out"),
    ("08-2", "cuts the left side", lambda d, x, a: d * ops.where(x > 0, 1.0, 0.0), "has the slope of relu"),
    ("08-2", "does not branch", lambda d, x, a: d * a * ops.exp(x), "branch"),
    ("08-2", "forgets dout", lambda d, x, a: elu_rule(x * 0.0 + 1.0, x, a), "leaves out the incoming gradient"),
    (
        "08-2",
        "returns values",
        lambda d, x, a: d * ops.where(x > 0, 1.0, a * (ops.exp(ops.minimum(x, 0.0)) - 1.0)),
        "has the value of the function",
    ),
    ("08-2", "multiplies by a mask", overflowing, "the result is nan at (0,)"),
    ("08-3", "holds x fixed", fixed_x, "x is held fixed"),
    ("08-3", "holds tanh fixed", fixed_tanh, "the tanh is held fixed"),
    ("08-3", "forgets the slope of softplus", short_chain, "the chain ends too early"),
    ("08-3", "takes tanh at x", elsewhere, "is taken at x"),
    ("08-3", "does not square", not_squared, "its output is not squared"),
    ("08-3", "forgets dout", no_dout, "leaves out the incoming gradient"),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
