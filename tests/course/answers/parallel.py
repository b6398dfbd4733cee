"""Answers to the exercises of chapter 16."""

import numpy as np


def combine(gradients, counts):
    return sum(n / sum(counts) * g for n, g in zip(counts, gradients, strict=True))


def tree_sum(parts):
    parts, n = list(parts), len(parts)
    while n > 1:
        half = n // 2
        for k in range(n - half, n):
            parts[k - half] = parts[k - half] + parts[k]
        n -= half
    return parts[0]


def clip(g, most):
    return g * min(1, most / np.sqrt(np.sum(g * g)))


def clipped_step(w, gradients, counts, lr, most):
    return w - lr * clip(combine(gradients, counts), most)


RIGHT = {"16-1": combine, "16-2": tree_sum, "16-3": clipped_step}


def left_to_right(parts):
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def neighbours(parts):
    while len(parts) > 1:
        parts = [left_to_right(parts[k : k + 2]) for k in range(0, len(parts), 2)]
    return parts[0]


def in_place(parts):
    for k in range(1, len(parts)):
        parts[0] += parts[k]
    return parts[0]


def odd_lost(parts):
    parts = list(parts)
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [parts[k] + parts[len(parts) - half + k] for k in range(half)]
    return parts[0]


def middle_waits(parts):
    parts = list(parts)
    while len(parts) > 1:
        half = (len(parts) + 1) // 2
        parts = [sum(parts[k::half][1:], parts[k]) for k in range(half)]
    return parts[0]


WRONG = [
    ("16-2", "returns float64", lambda parts: tree_sum(parts).astype("float64"), "float32 is asked for"),
    ("16-1", "takes the mean", lambda gradients, counts: np.mean(gradients, axis=0), "all shares count the same"),
    ("16-1", "adds up", lambda gradients, counts: sum(gradients), "without weights"),
    (
        "16-1",
        "forgets to divide",
        lambda gradients, counts: sum(n * g for n, g in zip(counts, gradients, strict=True)),
        "never divided by",
    ),
    (
        "16-1",
        "divides by the workers",
        lambda gradients, counts: combine(gradients, counts) * sum(counts) / len(counts),
        "by the number of workers",
    ),
    (
        "16-1",
        "divides by samples",
        lambda gradients, counts: sum(gradients) / sum(counts),
        "divide by all of them once",
    ),
    ("16-2", "goes from left to right", left_to_right, "from left to right"),
    ("16-2", "pairs neighbours", neighbours, "neighbours are paired"),
    ("16-2", "overwrites", in_place, "no longer what they were"),
    ("16-2", "loses the odd one", odd_lost, "without a partner is lost"),
    ("16-2", "lets the middle one wait", middle_waits, "the middle one waits"),
    ("16-2", "adds in float64", lambda parts: np.sum(parts, axis=0, dtype="float64"), "made in float64"),
    (
        "16-3",
        "clips each share",
        lambda w, gradients, counts, lr, most: w - lr * combine([clip(g, most) for g in gradients], counts),
        "each share is clipped by itself",
    ),
    (
        "16-3",
        "clips nothing",
        lambda w, gradients, counts, lr, most: w - lr * combine(gradients, counts),
        "nothing is clipped",
    ),
    (
        "16-3",
        "stretches short ones",
        lambda w, gradients, counts, lr, most: w - lr * most * _unit(combine(gradients, counts)),
        "a shorter one must stay",
    ),
    (
        "16-3",
        "clips numbers",
        lambda w, gradients, counts, lr, most: w - lr * np.clip(combine(gradients, counts), -most, most),
        "each number is clipped by itself",
    ),
    (
        "16-3",
        "forgets the root",
        lambda w, gradients, counts, lr, most: w - lr * _by_square(combine(gradients, counts), most),
        "its root is missing",
    ),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""


def _unit(g):
    return g / np.linalg.norm(g)


def _by_square(g, most):
    return g * min(1, most / np.sum(g * g))
