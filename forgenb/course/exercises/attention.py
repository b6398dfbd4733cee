"""The exercises of chapter 12: causal weights, the rule of attention without softmax, and one row from a cache.

Imports the parts of judges and three ops; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...creation import tensor
from ...ops.diagonals import tril
from ...ops.matmul import matmul
from ...ops.softmax import softmax_reference
from ...tensor import Tensor
from ..exercise import Mistaken, exercise
from ..judging import agrees, draw, expect, expect_rule


@exercise("12-1", "The weights of causal attention")
def causal_weights(answer: Callable) -> None:
    """It takes a square array of scores and returns the weights; the scores may have any size."""
    for given, scores in (
        ("scores of shape (4, 4)", draw(4, 4)),
        ("scores of shape (1, 1)", draw(1, 1)),
        ("scores of shape (5, 5), near 1000", draw(5, 5) + 1000.0),
        ("scores of shape (5, 5), near -1000", draw(5, 5) - 1000.0),
        ("rows of very different size", draw(3, 3) + np.array([[900.0], [0.0], [-900.0]])),
        ("large scores above the diagonal", draw(4, 4) + 900.0 * (1.0 - np.tri(4))),
    ):
        with np.errstate(all="ignore"):
            found = answer(scores.copy())
            expect(found, softmax_reference(scores, causal=True), given, _weight_slips(scores))


def _weight_slips(scores: np.ndarray) -> list[tuple[str, np.ndarray]]:
    n = len(scores)
    seen, e = np.tri(n), np.exp(scores)
    return [
        ("there is no mask: rows see what comes after them.", softmax_reference(scores)),
        (
            "the mask comes after the softmax, which has shared out weight to what is hidden: rows do not sum to 1.",
            softmax_reference(scores) * seen,
        ),
        ("what is hidden has the score 0, and a score of 0 has a weight.", softmax_reference(scores * seen)),
        ("a row does not see itself.", _over(scores, np.tri(n, k=-1))),
        ("rows see one row too many.", _over(scores, np.tri(n, k=1))),
        ("rows see what comes after them, and not what came before.", _over(scores, seen.T)),
        ("columns sum to 1, where rows must.", _over(scores.T, seen.T).T),
        ("the largest score of all rows is subtracted, where each row has its own.", _shared(scores, scores.max())),
        (
            "the score that is subtracted may be one that is hidden, and all that a row sees is then 0.",
            _shared(scores, scores.max(-1, keepdims=True)),
        ),
        ("the exponentials leave the range of the numbers.", e * seen / (e * seen).sum(-1, keepdims=True)),
        ("the exponentials leave the range of the numbers.", _unshifted(np.where(seen > 0, scores, -np.inf))),
        ("these are the scores with their mask; the softmax is missing.", np.where(seen > 0, scores, -np.inf)),
    ]


def _over(scores: np.ndarray, seen: np.ndarray) -> np.ndarray:
    return np.asarray(softmax_reference(np.where(seen > 0, scores, -np.inf)))


def _shared(scores: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """The weights where `largest` is subtracted from all scores, hidden ones too."""
    e = np.exp(scores - largest) * np.tri(len(scores))
    return np.asarray(e / e.sum(-1, keepdims=True))


def _unshifted(scores: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(scores) / np.exp(scores).sum(-1, keepdims=True))


@exercise("12-2", "The backward rule of causal attention without softmax")
def linear_attention_rule(answer: Callable) -> None:
    """The function is ``tril(q @ k.T) @ v``; the rule takes (dout, q, k, v) and returns three gradients."""
    for t, d, width in ((4, 2, 3), (3, 3, 3), (2, 4, 1)):
        inputs, given = (
            (draw(t, d), draw(t, d, seed=1), draw(t, width, seed=2)),
            f"{t} rows, of {d} and {width} numbers",
        )
        found = answer(tensor(draw(t, width, seed=3)), *map(tensor, inputs))
        if isinstance(found, tuple | list) and len(found) == 3:
            _explain(found, _rule_slips(draw(t, width, seed=3), *inputs), given)
        expect_rule(_linear_attention, answer, *inputs, given=given)


def _linear_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return matmul(tril(matmul(q, k, trans_b=True)), v)


def _explain(found: tuple | list, slips: list[tuple[int, str, np.ndarray]], given: str) -> None:
    for place, text, wrong in slips:
        if agrees(found[place], wrong):
            raise Mistaken(f"With {given}: {text}")


def _rule_slips(dout: np.ndarray, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> list[tuple[int, str, np.ndarray]]:
    """Place among the gradients, explanation, and what stands there; none is right where a row has a later one."""
    unmasked, ds, scores = dout @ v.T, np.tril(dout @ v.T), q @ k.T
    found = [
        (0, "the gradient of q comes through the mask as well, and backward must have it.", unmasked @ k),
        (1, "the gradient of k comes through the mask as well, and backward must have it.", unmasked.T @ q),
        (2, "v was multiplied by scores that had been masked.", scores.T @ dout),
        (0, "q has the gradient of k, and k that of q.", ds.T @ q),
        (0, "the gradient of q has the scores' gradient transposed.", ds.T @ k),
        (1, "the gradient of k lacks a transpose: a key collects from the rows that saw it.", ds @ q),
        (
            2,
            "the gradient of v lacks a transpose: a value collects from the rows that took it.",
            np.tril(scores) @ dout,
        ),
        (1, "the mask of k's gradient hides the wrong side.", np.tril(unmasked.T) @ q),
        (2, "the mask of v's gradient hides the wrong side.", np.tril(scores.T) @ dout),
    ]
    return [row for row in found if row[2].shape == (q, k, v)[row[0]].shape]


@exercise("12-3", "Attention of a new row to the rows before it")
def next_row(answer: Callable) -> None:
    """It takes 3c numbers and two arrays of shape (heads, n, d), and returns c numbers."""
    for heads, n, d in ((2, 4, 3), (3, 1, 2), (1, 5, 4), (2, 0, 3)):
        qkv, keys, values = draw(3 * heads * d), draw(heads, n, d, seed=1), draw(heads, n, d, seed=2)
        given = f"{heads} heads of {d} numbers and {n} rows before"
        found = answer(qkv.copy(), keys.copy(), values.copy())
        right = _attended(qkv.reshape(3, heads, d), keys, values)
        expect(found, right.reshape(-1), given, _row_slips(qkv, keys, values))


def _attended(thirds: np.ndarray, keys: np.ndarray, values: np.ndarray, scale: float | None = None) -> np.ndarray:
    """The result, a row a head; scores are divided by the root of `scale`, or of a head's columns."""
    q, k, v = thirds
    return _mean(q, _last(keys, k), _last(values, v), scale or keys.shape[2])


def _last(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    return np.concatenate([old, new[:, None]], 1)


def _mean(q: np.ndarray, keys: np.ndarray, values: np.ndarray, scale: float) -> np.ndarray:
    weights = softmax_reference(np.einsum("hd,hnd->hn", q, keys) / np.sqrt(scale))
    return np.asarray(np.einsum("hn,hnd->hd", weights, values))


def _row_slips(qkv: np.ndarray, keys: np.ndarray, values: np.ndarray) -> list[tuple[str, np.ndarray]]:
    heads, n, d = keys.shape
    q, k, v = thirds = qkv.reshape(3, heads, d)
    mixed, first = qkv.reshape(heads, 3, d).swapaxes(0, 1), np.concatenate([v[:, None], values], 1)
    right = _attended(thirds, keys, values)
    found = [
        ("the scores are not divided.", _attended(thirds, keys, values, 1)),
        ("the scores are divided by d, where its root is asked for.", _attended(thirds, keys, values, d * d)),
        ("the division is by the root of c, where a score sums over fewer.", _attended(thirds, keys, values, q.size)),
        ("the 3c numbers are cut into heads first, and these in three.", _attended(mixed, keys, values)),
        ("key and value of the new row have each other's place.", _attended(np.stack([q, v, k]), keys, values)),
        ("the new row is last among the keys, and first among the values.", _mean(q, _last(keys, k), first, d)),
        ("numbers of the heads take turns, where heads stand side by side.", right.T),
    ]
    if n:
        found.append(("the new row does not see itself.", _mean(q, keys, values, d)))
    flat = [(text, result.reshape(-1)) for text, result in found]
    return [*flat, ("the result has a row for each head, where heads stand side by side.", right)]
