"""The exercises of chapter 18: heads that look back, surprisal, and what each head adds to the stream.

Imports the parts of judges and softmax in NumPy; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ops.softmax import softmax_reference
from ..exercise import exercise
from ..judging import draw, expect


@exercise("18-1", "How much each head gives to a place before")
def looks_back(answer: Callable) -> None:
    """It takes weights of shape (layers, heads, n, n) and a distance, and returns shape (layers, heads)."""
    for layers, heads, n, far in ((2, 3, 6, 1), (1, 2, 5, 2), (3, 1, 7, 4), (2, 2, 4, 0)):
        scores = np.where(np.tri(n, dtype=bool), 3.0 * draw(layers, heads, n, n), -np.inf)
        a = softmax_reference(scores)
        right = np.diagonal(a, -far, 2, 3).mean(-1)
        expect(
            answer(a.copy(), far),
            right,
            f"{layers} layers, {heads} heads, {n} places and far={far}",
            [
                ("it looks ahead, where all weights are 0: rows look and columns are looked at.", np.zeros_like(right)),
                (
                    "the mean is over all places, where the first have nobody so far before.",
                    right * (n - far) / n,
                ),
                ("this is a sum, where a mean is asked for.", right * (n - far)),
                ("this is the weight of the place itself.", np.diagonal(a, 0, 2, 3).mean(-1)),
                ("it looks one place too far back.", _mean(a, far + 1)),
                ("it looks one place too near.", _mean(a, far - 1)),
                ("only the last place is looked at.", a[:, :, -1, n - 1 - far]),
                ("this is what all places give to the first one.", a[:, :, far:, 0].mean(-1)),
                ("a mean is taken over the heads too, where each has its own.", right.mean(1)),
                ("the greatest weight is taken, where a mean is asked for.", np.diagonal(a, -far, 2, 3).max(-1)),
                ("layers and heads have changed places.", right.T),
            ],
        )


def _mean(a: np.ndarray, far: int) -> np.ndarray:
    found = np.diagonal(a, -far, 2, 3)
    return np.asarray(found.mean(-1) if found.size else np.zeros(a.shape[:2]))


@exercise("18-2", "The surprisal of each id in bits")
def bits(answer: Callable) -> None:
    """It takes logits of shape (t, v) and t ids, and returns t numbers, the first of which is 0."""
    for t, v, scale in ((6, 5, 1.0), (9, 3, 4.0), (5, 7, 600.0)):
        logits, ids = scale * draw(t, v), (np.arange(t) * 7 + 2) % v
        p = logits - logits.max(-1, keepdims=True)
        logs = (p - np.log(np.exp(p).sum(-1, keepdims=True))) / np.log(2)
        after = logs[np.arange(t - 1), ids[1:]]
        right = np.concatenate([[0.0], -after])
        given = f"logits {'of hundreds ' if scale > 100 else ''}of shape {(t, v)} and {t} ids"
        with np.errstate(all="ignore"):
            bare = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
            overflown = np.concatenate([[0.0], -np.log2(bare[np.arange(t - 1), ids[1:]])])
            small = np.concatenate([[0.0], -np.log2(softmax_reference(logits)[np.arange(t - 1), ids[1:]])])
        own = -logs[np.arange(t), ids]
        expect(
            answer(logits.copy(), ids.copy()),
            right,
            given,
            [
                ("these are nats: the logarithm is the natural one.", right * np.log(2)),
                ("the sign is wrong: a probability below 1 has surprise above 0.", -right),
                ("a row judges the id that it has read, where it judges the next.", own),
                ("a row judges the id that it has read, where it judges the next.", np.append(0.0, own[1:])),
                ("the first id is missing; it has 0 bits.", right[1:]),
                ("the last id has the 0, where the first one should.", np.append(right[1:], 0.0)),
                ("these are probabilities, and no logarithm was taken.", np.append(0.0, 2.0**after)),
                ("these are probabilities, and no logarithm was taken.", np.append(1.0, 2.0**after)),
                ("logits are no logarithms of probabilities before they are normalised.", _raw(logits, ids)),
                ("logits are no logarithms of probabilities before they are normalised.", _raw(logits, ids, np.log(2))),
                ("this is the surprise of the whole text so far.", np.cumsum(right)),
                ("exponentials overflow.", overflown),
                ("small probabilities become 0 before the logarithm: do not leave it.", small),
                ("this is how unsure the model is, whatever came.", _entropy(logs)),
            ],
        )


def _raw(logits: np.ndarray, ids: np.ndarray, unit: float = 1.0) -> np.ndarray:
    return np.append(0.0, -logits[np.arange(len(ids) - 1), ids[1:]] / unit)


def _entropy(logs: np.ndarray) -> np.ndarray:
    return np.append(0.0, -(2.0**logs * logs).sum(-1)[:-1])


@exercise("18-3", "What each head adds to the stream")
def by_head(answer: Callable) -> None:
    """It takes what the heads made, (heads, t, d), and a matrix (heads * d, c), and returns (heads, t, c)."""
    for heads, t, d, c in ((2, 4, 3, 6), (3, 5, 2, 6), (4, 1, 3, 12), (2, 3, 4, 5)):
        mixed, weight = draw(heads, t, d), draw(heads * d, c, seed=1)
        rows = weight.reshape(heads, d, c)
        right = mixed @ rows
        mistakes = [
            ("the heads are added up; each should be by itself.", right.sum(0)),
            ("each head has the whole result, where it adds only its own part.", np.tile(right.sum(0), (heads, 1, 1))),
            ("each head has a share of the whole, as large as any other's.", np.tile(right.mean(0), (heads, 1, 1))),
            ("all heads have the rows of the first.", mixed @ rows[0]),
            ("a head's rows stand together: they do not alternate with the others'.", mixed @ _alternating(weight, d)),
            ("the heads have one another's rows, in the order from the last to the first.", mixed @ rows[::-1]),
            ("places stand first, where heads should.", right.transpose(1, 0, 2)),
        ]
        if heads * d == c:
            columns = weight.T.reshape(heads, d, c)
            mistakes.append(("the matrix is transposed: a head has rows of it.", mixed @ columns))
        expect(answer(mixed.copy(), weight.copy()), right, f"{heads} heads, t={t}, d={d} and c={c}", mistakes)


def _alternating(weight: np.ndarray, d: int) -> np.ndarray:
    return weight.reshape(d, -1, weight.shape[1]).transpose(1, 0, 2)
