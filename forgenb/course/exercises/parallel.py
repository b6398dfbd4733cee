"""The exercises of chapter 16: gradients of shares, the bits of a tree, and a clipped step of all of them.

Imports the parts of judges; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..exercise import Mistaken, exercise
from ..judging import draw, expect

SHARES = ((4, 3, 3), (1, 6), (5,), (2, 7, 1, 4))
"""How many samples each worker has."""


def _gradients(counts: tuple[int, ...]) -> list[np.ndarray]:
    return [draw(3, 2, seed=k) for k in range(len(counts))]


def _combined(gradients: list[np.ndarray], counts: tuple[int, ...]) -> np.ndarray:
    return np.average(gradients, axis=0, weights=counts)


@exercise("16-1", "The gradient of a batch from those of its shares")
def combine(answer: Callable) -> None:
    """It takes a list of arrays, the gradients of mean losses, and a list of how many samples each share has."""
    for counts in SHARES:
        several = _gradients(counts)
        weighted = sum(n * g for n, g in zip(counts, several, strict=True))
        given = f"shares of {', '.join(map(str, counts))} samples"
        got = answer([g.copy() for g in several], list(counts))
        expect(
            got,
            _combined(several, counts),
            given,
            [
                ("all shares count the same, whatever their size.", np.mean(several, axis=0)),
                ("the gradients are added up without weights.", np.sum(several, axis=0)),
                ("each is multiplied by its samples; the whole batch is never divided by.", weighted),
                ("it is divided by the number of workers, where samples count.", weighted / len(counts)),
                ("a large share has the smallest weight.", np.average(several, axis=0, weights=1 / np.array(counts))),
                (
                    "each is divided by its own samples, but it is a mean over them already.",
                    sum(g / n for n, g in zip(counts, several, strict=True)),
                ),
                (
                    "a mean over the samples is taken again: divide by all of them once.",
                    np.sum(several, axis=0) / sum(counts),
                ),
            ],
        )


@exercise("16-2", "A sum in the order of the tree")
def tree_sum(answer: Callable) -> None:
    """It takes a list of float32 arrays and returns their sum, with the bits of the tree."""
    for workers in (8, 1, 2, 5, 7, 6, 12):
        parts = [(10.0 ** (k % 4) * draw(50, seed=k)).astype("float32") for k in range(workers)]
        mine = [part.copy() for part in parts]
        given = f"{workers} arrays"
        found = answer(mine)
        if any(not np.array_equal(part, before) for part, before in zip(mine, parts, strict=False)):
            raise Mistaken(f"With {given} the arrays are no longer what they were: add into new ones.")
        right = _tree(parts)
        expect(
            found,
            right,
            given,
            [
                ("they are added up from left to right.", _running(parts)),
                ("they are added up from the last to the first.", _running(parts[::-1])),
                ("neighbours are paired, where the upper half goes into the lower half.", _neighbours(parts)),
                ("the last goes to the first, where the upper half keeps its order.", _folded(parts)),
                ("an array without a partner is lost.", _tree(parts, keep=False)),
                ("an array without a partner is lost.", _tree(parts, first=False, keep=False)),
                ("of an odd number the middle one waits, and in the tree it is another.", _tree(parts, first=False)),
                ("the sum is made in float64, which rounds elsewhere.", np.sum(parts, axis=0, dtype="float64")),
                (
                    "the sum is made in float64, which rounds elsewhere.",
                    np.sum(parts, axis=0, dtype="float64").astype("float32"),
                ),
            ],
            tolerance=0.0,
            kind=np.float32,
        )


def _tree(parts: list[np.ndarray], *, first: bool = True, keep: bool = True) -> np.ndarray:
    """The halving of `tree_schedule`; of an odd number the first waits, or else the middle one, or it is lost."""
    while len(parts) > 1:
        half, odd = divmod(len(parts), 2)
        lower, upper = parts[: half + odd], parts[half + odd :]
        waits, lower = (lower[:odd], lower[odd:]) if first else (lower[half:], lower[:half])
        pairs = [a + b for a, b in zip(lower, upper, strict=True)]
        parts = (waits + pairs if first else pairs + waits) if keep else pairs
    return parts[0]


def _running(parts: list[np.ndarray]) -> np.ndarray:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _neighbours(parts: list[np.ndarray]) -> np.ndarray:
    while len(parts) > 1:
        parts = [_running(parts[k : k + 2]) for k in range(0, len(parts), 2)]
    return parts[0]


def _folded(parts: list[np.ndarray]) -> np.ndarray:
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [a + b for a, b in zip(parts[:half], parts[::-1], strict=False)] + parts[half : len(parts) - half]
    return parts[0]


@exercise("16-3", "A step with the clipped gradient of all shares")
def clipped_step(answer: Callable) -> None:
    """It takes w, the gradients and sizes of the shares, a learning rate, and the most that the gradient may have."""
    lr = 0.3
    for counts, share in (((4, 3, 3), 0.4), ((1, 6), 0.7), ((2, 7, 1, 4), 3.0)):
        several, w = _gradients(counts), draw(3, 2, seed=9)
        g = _combined(several, counts)
        most = share * float(np.linalg.norm(g))
        start = w.copy()
        found = answer(start, [part.copy() for part in several], list(counts), lr, most)
        given = f"shares of {', '.join(map(str, counts))} samples, and a gradient {1 / share:.1f} times as long as most"
        expect(
            found,
            w - lr * _clipped(g, most),
            given,
            [
                ("nothing is clipped.", w - lr * g),
                (
                    "each share is clipped by itself, where the whole gradient is.",
                    w - lr * _combined([_clipped(part, most) for part in several], counts),
                ),
                ("the gradient always has the length `most`; a shorter one must stay.", w - lr * g * share),
                ("a long gradient becomes longer: the factor is upside down.", w - lr * g * max(1, 1 / share)),
                ("each number is clipped by itself, where the length counts.", w - lr * np.clip(g, -most, most)),
                (
                    "the square of the length is compared; its root is missing.",
                    w - lr * _clipped(g, most, squared=True),
                ),
                ("the step is clipped, where the gradient is.", w - _clipped(lr * g, most)),
                ("all shares count the same.", w - lr * _clipped(np.mean(several, axis=0), most)),
                ("the gradients are added up without weights.", w - lr * _clipped(np.sum(several, axis=0), most)),
                ("it walks uphill.", w + lr * _clipped(g, most)),
                ("this is the gradient, and no step is made.", _clipped(g, most)),
            ],
        )
        if not np.array_equal(start, w):
            raise Mistaken(f"With {given} the result is right, but w is no longer what it was.")


def _clipped(g: np.ndarray, most: float, *, squared: bool = False) -> np.ndarray:
    length = float(np.linalg.norm(g)) ** (2 if squared else 1)
    return np.asarray(g * min(1.0, most / length))
