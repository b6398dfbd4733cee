"""Answers to the exercises of chapter 14."""

import numpy as np


def one_sided(f, x, h):
    return (f(x + h) - f(x)) / h


def central(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h)


def better_slope(f, x, h):
    return 2 * one_sided(f, x, h / 2) - one_sided(f, x, h)


def slopes(f, x, w, h):
    found = np.empty_like(x)
    for i in np.ndindex(x.shape):
        move = np.zeros_like(x)
        move[i] = h
        found[i] = central(lambda t, move=move: np.sum(w * f(x + t * move / h)), 0.0, h)
    return found


def disagreement(f, rule, x, w, h):
    return np.abs(rule(w, x) - slopes(f, x, w, h)).max()


def root(x):
    return (x * x).mean(-1, keepdims=True) ** 0.5


def rms_rule(dout, x):
    return dout / root(x) - x * (dout * x).mean(-1, keepdims=True) / root(x) ** 3


RIGHT = {"14-1": better_slope, "14-2": disagreement, "14-3": rms_rule}


def weighed_for_central(f, x, h):
    return (4 * one_sided(f, x, h / 2) - one_sided(f, x, h)) / 3


def moved_for_good(f, rule, x, w, h):
    found = disagreement(f, rule, x, w, h)
    x += h
    return found


def one_way(f, rule, x, w, h):
    found = np.empty_like(x)
    for i in np.ndindex(x.shape):
        moved = x.copy()
        moved[i] += h
        found[i] = np.sum(w * (f(moved) - f(x))) / h
    return np.abs(rule(w, x) - found).max()


WRONG = [
    ("14-2", "steps by 2h", lambda f, rule, x, w, h: disagreement(f, rule, x, w, 2 * h), "the step is not h"),
    (
        "14-1",
        "weighs as for central ones",
        lambda f, x, h: (4 * one_sided(f, x, h / 2) - one_sided(f, x, h)) / 3,
        "wei",
    ),
    ("14-1", "swaps the steps", lambda f, x, h: 2 * one_sided(f, x, h) - one_sided(f, x, h / 2), "each other's place"),
    ("14-1", "takes the mean", lambda f, x, h: (one_sided(f, x, h) + one_sided(f, x, h / 2)) / 2, "still an error"),
    ("14-1", "subtracts", lambda f, x, h: one_sided(f, x, h / 2) - one_sided(f, x, h), "must add up to 1"),
    ("14-1", "takes smaller steps", lambda f, x, h: one_sided(f, x, h / 2), "the smaller step alone"),
    ("14-1", "goes left", lambda f, x, h: better_slope(f, x, -h), "steps to the left"),
    ("14-1", "uses central ones", lambda f, x, h: (4 * central(f, x, h / 2) - central(f, x, h)) / 3, "the central one"),
    ("14-2", "adds the outputs up", lambda f, rule, x, w, h: np.abs(rule(w, x) - slopes(f, x, 1, h)).max(), "without"),
    ("14-2", "has ones", lambda f, rule, x, w, h: disagreement(f, rule, x, w * 0 + 1, h), "both sides have ones"),
    ("14-2", "keeps signs", lambda f, rule, x, w, h: (rule(w, x) - slopes(f, x, w, h)).max(), "errors below 0"),
    ("14-2", "takes the mean", lambda f, rule, x, w, h: np.abs(rule(w, x) - slopes(f, x, w, h)).mean(), "the mean of"),
    ("14-2", "returns all", lambda f, rule, x, w, h: np.abs(rule(w, x) - slopes(f, x, w, h)), "return the largest"),
    ("14-2", "steps one way", one_way, "to one side only"),
    ("14-2", "moves x", moved_for_good, "x is no longer what it was"),
    (
        "14-3",
        "has both mistakes",
        lambda dout, x: dout / root(x) + x * (dout * x).sum(-1, keepdims=True) / root(x) ** 3,
        "is -3 times what it must be",
    ),
    (
        "14-3",
        "mends the sign only",
        lambda dout, x: dout / root(x) - x * (dout * x).sum(-1, keepdims=True) / root(x) ** 3,
        "a mean inside the rule is a sum",
    ),
    (
        "14-3",
        "mends the sum only",
        lambda dout, x: dout / root(x) + x * (dout * x).mean(-1, keepdims=True) / root(x) ** 3,
        "the sign of one term is wrong",
    ),
    ("14-3", "drops the term", lambda dout, x: dout / root(x), "a term is dropped"),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
