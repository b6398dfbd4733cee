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


def never_back_centrally(f, x, h):
    found, moved = np.zeros_like(x), x.copy()
    for i in np.ndindex(x.shape):
        moved[i] += h
        up = f(moved)
        moved[i] -= 2 * h
        found[i] = (up - f(moved)) / (2 * h)
    return found


def two_copies(f, x, h):
    found, up, down = np.zeros_like(x), x.copy(), x.copy()
    for i in np.ndindex(x.shape):
        up[i] += h
        down[i] -= h
        found[i] = (f(up) - f(down)) / (2 * h)
    return found


def row_by_row(f, x, h):
    found = np.zeros_like(x)
    for i in range(len(x)):
        step = np.zeros_like(x)
        step[i] = h
        found[i] = (f(x + step) - f(x - step)) / (2 * h)
    return found


def to_and_back(f, x, h):
    found, moved = np.zeros_like(x), x.copy()
    for i in np.ndindex(x.shape):
        moved[i] += h
        up = f(moved)
        moved[i] -= h
        found[i] = (up - f(moved)) / (2 * h)
    return found


def along_in_place(f, x, v, h):
    x += h * v
    up = f(x)
    x -= 2 * h * v
    return (up - f(x)) / (2 * h)


def entry_by_entry(f, x, v, h):
    return float((gradient(f, x, h) * v).sum())


WRONG = [
    ("01-1", "divides by h once", lambda f, x, h: curvature(f, x, h) * h, "another power of h"),
    ("01-1", "gives the slope", lambda f, x, h: (f(x + h) - f(x - h)) / (2 * h), "this is the first derivative"),
    ("01-1", "squares 2h", lambda f, x, h: curvature(f, x, h) / 4, "is it 2h that is squared"),
    ("01-1", "takes f(x) once", lambda f, x, h: (f(x + h) - f(x) + f(x - h)) / h**2, "f(x) itself should cancel"),
    ("01-1", "looks to the right", lambda f, x, h: curvature(f, x + h, h), "on one side of x"),
    ("01-1", "swaps the signs", lambda f, x, h: -curvature(f, x, h), "the sign is wrong"),
    ("01-1", "steps by 2h", lambda f, x, h: curvature(f, x, 2 * h), "the step is not h"),
    ("01-1", "has its own step", lambda f, x, h: curvature(f, x, 1e-4), "the step is not h"),
    ("01-1", "returns a tuple", lambda f, x, h: (curvature(f, x, h),), "a tuple of one; return what is in it"),
    ("01-2", "never moves back a central step", never_back_centrally, "x is not moved back before the next"),
    ("01-2", "moves two copies", two_copies, "x is not moved back before the next"),
    ("01-2", "moves rows", row_by_row, "whole rows are moved"),
    ("01-2", "returns to the middle", to_and_back, "never to the other side"),
    ("01-2", "steps by 2h", lambda f, x, h: gradient(f, x, 2 * h), "the step is not h"),
    ("01-3", "steps by 2h", lambda f, x, v, h: slope_along(f, x, v, 2 * h), "the step is not h"),
    ("01-3", "forgets h", lambda f, x, v, h: (f(x + v) - f(x - v)) / 2, "by the whole of v"),
    ("01-3", "has its own step", lambda f, x, v, h: slope_along(f, x, v, 1e-6), "the step is not h"),
    ("01-3", "moves x", along_in_place, "x is no longer what it was"),
    (
        "01-3",
        "divides by the length",
        lambda f, x, v, h: slope_along(f, x, v, h) / np.linalg.norm(v),
        "divided by the length of v",
    ),
    ("01-2", "steps to the right", one_sided, "it steps to one side only"),
    ("01-2", "moves all elements", at_once, "all elements are moved at once"),
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
    ("01-3", "takes every element", entry_by_entry, "two are enough"),
    ("01-3", "steps to the right", lambda f, x, v, h: (f(x + h * v) - f(x)) / h, "it steps to one side only"),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
