"""Answers to the exercises of chapter 01."""

import numpy as np


def curvature(f, x, h):
    return (f(x + h) - 2 * f(x) + f(x - h)) / h**2


def gradient(f, x, h):
    found = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = h
        found[i] = (f(x + step) - f(x - step)) / (2 * h)
    return found


def slope_along(f, x, v, h):
    return (f(x + h * v) - f(x - h * v)) / (2 * h)


RIGHT = {"01-1": curvature, "01-2": gradient, "01-3": slope_along}


def one_sided(f, x, h):
    return np.array([(f(x + h * unit.reshape(x.shape)) - f(x)) / h for unit in np.eye(x.size)]).reshape(x.shape)


def at_once(f, x, h):
    return np.array([(f(x + h) - f(x - h)) / (2 * h) for _ in range(x.size)]).reshape(x.shape)


def never_back(f, x, h):
    found = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        before = f(x)
        x[i] += h
        found[i] = (f(x) - before) / h
    return found


def spoiling(f, x, h):
    found = gradient(f, x, h)
    x += h
    return found


def entry_by_entry(f, x, v, h):
    return float((gradient(f, x, h) * v).sum())


WRONG = [
    ("01-1", "divides by h once", lambda f, x, h: curvature(f, x, h) * h, "another power of h"),
    ("01-1", "gives the slope", lambda f, x, h: (f(x + h) - f(x - h)) / (2 * h), "this is the first derivative"),
    ("01-1", "squares 2h", lambda f, x, h: curvature(f, x, h) / 4, "is it 2h that is squared"),
    ("01-1", "takes f(x) once", lambda f, x, h: (f(x + h) - f(x) + f(x - h)) / h**2, "f(x) itself should cancel"),
    ("01-1", "looks to the right", lambda f, x, h: curvature(f, x + h, h), "on one side of x"),
    ("01-1", "swaps the signs", lambda f, x, h: -curvature(f, x, h), "the sign is wrong"),
    ("01-2", "steps to the right", one_sided, "it steps to one side only"),
    ("01-2", "moves all entries", at_once, "all entries are moved at once"),
    ("01-2", "never moves back", never_back, "not moved back before the next"),
    ("01-2", "changes x", spoiling, "x is no longer what it was"),
    ("01-2", "divides by h", lambda f, x, h: 2 * gradient(f, x, h), "twice what it must be"),
    ("01-2", "loses the shape", lambda f, x, h: gradient(f, x, h).ravel(), "give it the shape of x"),
    ("01-3", "forgets the direction", lambda f, x, v, h: slope_along(f, x, 1.0, h), "the direction is left out"),
    (
        "01-3",
        "normalises the direction",
        lambda f, x, v, h: slope_along(f, x, v / np.sqrt((v**2).sum()), h),
        "made a unit vector",
    ),
    ("01-3", "takes every entry", entry_by_entry, "two are enough"),
    ("01-3", "does not add up", lambda f, x, v, h: gradient(f, x, h) * v, "each entry has a slope here"),
    ("01-3", "steps to the right", lambda f, x, v, h: (f(x + h * v) - f(x)) / h, "it steps to one side only"),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
