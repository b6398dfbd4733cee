"""Wrong rules of functions that work element by element."""

import math

import numpy as np

from forgenb import ops

from .case import (
    ARGUMENT,
    CHAIN,
    DROPPED,
    FACTOR,
    MASK,
    NONE,
    OVERWRITTEN,
    SHIFT,
    SIGN,
    ZERO,
    Problem,
    Wrong,
)


def numbers(r):
    return (r.normal(size=(3, 4)),)


def positive(r):
    return (r.uniform(0.5, 2, (3, 4)),)


def away_from_0(r):
    return (r.uniform(0.2, 2, (3, 4)) * r.choice([-1, 1], (3, 4)),)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu_slope(x, inner):
    t = np.tanh(0.7978845608028654 * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * inner


PROBLEMS = [
    Problem(
        "tanh",
        ops.tanh,
        numbers,
        right=lambda dout, x: dout * (1 - np.tanh(x) ** 2),
        wrong=[Wrong("the square forgotten", {FACTOR, CHAIN}, lambda dout, x: dout * (1 - np.tanh(x)))],
    ),
    Problem(
        "sigmoid",
        ops.sigmoid,
        numbers,
        right=lambda dout, x: dout * sigmoid(x) * (1 - sigmoid(x)),
        wrong=[
            Wrong("y (1 + y)", {SIGN}, lambda dout, x: dout * sigmoid(x) * (1 + sigmoid(x))),
            Wrong("takes its input for the output", {ARGUMENT}, lambda dout, x: dout * x * (1 - x)),
        ],
    ),
    Problem(
        "exp",
        ops.exp,
        numbers,
        right=lambda dout, x: dout * np.exp(x),
        wrong=[
            Wrong("exp of the output", {ARGUMENT}, lambda dout, x: dout * np.exp(np.exp(x))),
            Wrong("rounded to integers", {NONE}, lambda dout, x: (dout * np.exp(x)).astype(int).astype(float)),
        ],
    ),
    Problem(
        "log",
        ops.log,
        positive,
        right=lambda dout, x: dout / x,
        wrong=[Wrong("divides by the output", {ARGUMENT}, lambda dout, x: dout / np.log(x))],
    ),
    Problem(
        "log1p",
        ops.log1p,
        positive,
        right=lambda dout, x: dout / (1 + x),
        wrong=[Wrong("integer division", {ZERO}, lambda dout, x: dout * (1 // (1 + x)))],
    ),
    Problem(
        "log2",
        ops.log2,
        positive,
        right=lambda dout, x: dout / (x * math.log(2)),
        wrong=[Wrong("the rule of log", {FACTOR}, lambda dout, x: dout / x)],
    ),
    Problem(
        "sqrt",
        ops.sqrt,
        positive,
        right=lambda dout, x: dout / (2 * np.sqrt(x)),
        wrong=[
            Wrong("the input where the output belongs", {ARGUMENT, FACTOR, CHAIN}, lambda dout, x: dout / (2 * x)),
            Wrong("the half forgotten", {FACTOR}, lambda dout, x: dout / np.sqrt(x)),
        ],
    ),
    Problem(
        "square",
        lambda x: x * x,
        numbers,
        right=lambda dout, x: 2 * dout * x,
        wrong=[Wrong("one of two contributions", {FACTOR, DROPPED, OVERWRITTEN}, lambda dout, x: dout * x)],
    ),
    Problem(
        "reciprocal",
        lambda x: 1.0 / x,
        away_from_0,
        right=lambda dout, x: -dout / x**2,
        wrong=[
            Wrong("no minus", {SIGN}, lambda dout, x: dout / x**2),
            Wrong("the rule of log", {FACTOR, CHAIN, SHIFT}, lambda dout, x: -dout / x),
        ],
    ),
    Problem(
        "cos",
        ops.cos,
        numbers,
        right=lambda dout, x: -dout * np.sin(x),
        wrong=[Wrong("no minus", {SIGN}, lambda dout, x: dout * np.sin(x))],
    ),
    Problem(
        "sin(3x)",
        lambda x: ops.sin(x * 3.0),
        numbers,
        right=lambda dout, x: 3 * dout * np.cos(3 * x),
        wrong=[Wrong("inner derivative forgotten", {FACTOR, CHAIN}, lambda dout, x: dout * np.cos(3 * x))],
    ),
    Problem(
        "bell curve",
        lambda x: ops.exp(x * x * -0.5),
        numbers,
        right=lambda dout, x: -x * dout * np.exp(-0.5 * x * x),
        wrong=[Wrong("inner derivative forgotten", {CHAIN, FACTOR}, lambda dout, x: dout * np.exp(-0.5 * x * x))],
    ),
    Problem(
        "cube",
        lambda x: x**3,
        away_from_0,
        right=lambda dout, x: 3 * x**2 * dout,
        wrong=[
            Wrong("exponent not lowered", {SHIFT, FACTOR, CHAIN}, lambda dout, x: 3 * x**3 * dout),
            Wrong("exponent not in front", {FACTOR}, lambda dout, x: x**2 * dout),
        ],
    ),
    Problem(
        "erf",
        ops.erf,
        numbers,
        right=lambda dout, x: dout * 2 / math.sqrt(math.pi) * np.exp(-x * x),
        wrong=[Wrong("2 / sqrt(pi) forgotten", {FACTOR}, lambda dout, x: dout * np.exp(-x * x))],
    ),
    Problem(
        "abs",
        ops.abs,
        away_from_0,
        right=lambda dout, x: dout * np.sign(x),
        # also MASK: the slope is 1 in one branch and -1 in the other, and the rule has 1 in both
        wrong=[Wrong("dout handed on", {SIGN, FACTOR, CHAIN, MASK}, lambda dout, x: dout)],
    ),
    Problem(
        "relu",
        ops.relu,
        away_from_0,
        right=lambda dout, x: dout * (x > 0),
        wrong=[
            Wrong("mask of dout", {ARGUMENT}, lambda dout, x: dout * (dout > 0)),
            Wrong("mask the other way round", {MASK}, lambda dout, x: dout * (x < 0)),
            Wrong("no mask", {MASK, CHAIN, FACTOR}, lambda dout, x: dout),
        ],
    ),
    Problem(
        "leaky relu",
        lambda x: ops.leaky_relu(x, 0.1),
        away_from_0,
        right=lambda dout, x: dout * np.where(x > 0, 1, 0.1),
        wrong=[
            Wrong("branches changed places", {MASK}, lambda dout, x: dout * np.where(x > 0, 0.1, 1)),
            Wrong("nothing through the slope", {ZERO, DROPPED}, lambda dout, x: dout * (x > 0)),
        ],
    ),
    Problem(
        "clip",
        lambda x: ops.clip(x, -1.0, 1.0),
        lambda r: (r.permutation([-2, -1.5, -0.7, -0.3, 0.1, 0.4, 0.8, 1.3, 1.9]),),
        right=lambda dout, x: dout * ((x > -1) & (x < 1)),
        wrong=[Wrong("mask the other way round", {MASK}, lambda dout, x: dout * ((x < -1) | (x > 1)))],
    ),
    Problem(
        "softplus",
        ops.softplus,
        numbers,
        right=lambda dout, x: dout * sigmoid(x),
        wrong=[Wrong("sigmoid of -x", {SIGN, ARGUMENT}, lambda dout, x: dout * sigmoid(-x))],
    ),
    Problem(
        "silu",
        ops.silu,
        numbers,
        right=lambda dout, x: dout * (sigmoid(x) + x * sigmoid(x) * (1 - sigmoid(x))),
        wrong=[Wrong("x taken for a constant", {DROPPED}, lambda dout, x: dout * sigmoid(x))],
    ),
    Problem(
        "gelu",
        ops.gelu,
        numbers,
        right=lambda dout, x: dout * gelu_slope(x, 0.7978845608028654 * (1 + 3 * 0.044715 * x**2)),
        wrong=[Wrong("inner derivative forgotten", {CHAIN, FACTOR}, lambda dout, x: dout * gelu_slope(x, 1))],
    ),
]
