"""The exercises of chapter 17: windows of a text, how many numbers a GPT learns, and the choice of the next id.

Imports the parts of judges and softmax in NumPy; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ops.softmax import softmax_reference
from ..exercise import Mistaken, exercise
from ..judging import draw, expect

SIZES = ((65, 64, 4, 128), (11, 8, 1, 8), (103, 24, 2, 48), (50257, 1024, 12, 768))
"""Vocabulary, context, layers and width."""


@exercise("17-1", "Inputs and targets of windows of a text")
def windows_at(answer: Callable) -> None:
    """It takes (ids, starts, context) and returns two arrays of shape (len(starts), context)."""
    for length, starts, context in ((30, [0, 7, 3], 5), (12, [4], 7), (40, [2, 2, 9, 35], 4)):
        ids = (draw(length) * 100 + 500).astype("int64")
        given = f"{length} ids, starts={starts} and context={context}"
        found = answer(ids.copy(), np.array(starts), context)
        if not isinstance(found, tuple | list | np.ndarray) or len(found) != 2:
            raise Mistaken(f"With {given} it must return two arrays, inputs and targets.")
        at = np.array(starts)[:, None] + np.arange(context)
        expect(
            found[0],
            ids[at],
            f"{given}, in the inputs",
            [
                ("the windows are shifted, as only those of the targets are.", ids[np.minimum(at + 1, length - 1)]),
                ("each window has an id too many.", ids[np.minimum(_wider(at, 1), length - 1)]),
                ("each window has an id too few.", ids[at[:, :-1]]),
                ("a window stands in a column, where it should be a row.", ids[at].T),
                ("these are the places of the ids, and not the ids.", at),
                ("all windows begin at the start of the text.", np.tile(ids[:context], (len(starts), 1))),
            ],
        )
        expect(
            found[1],
            ids[at + 1],
            f"{given}, in the targets",
            [
                ("they are the inputs again: the model would learn to repeat what it sees.", ids[at]),
                ("they are one place before the inputs, which the model has seen.", ids[at - 1]),
                ("they are two places further on.", ids[np.minimum(at + 2, length - 1)]),
                ("there is one a window, where each place has its own.", ids[at[:, -1] + 1]),
                ("the last id of each window has no target.", ids[at[:, 1:]]),
                ("each row goes round: its last target is its own first id.", np.roll(ids[at], -1, axis=1)),
                ("they go round from row to row: the last target belongs to another window.", np.roll(ids[at], -1)),
                ("they are the next window, where they are the same one moved by one.", _after(ids, at, context)),
            ],
        )


def _wider(at: np.ndarray, more: int) -> np.ndarray:
    return at[:, :1] + np.arange(at.shape[1] + more)


def _after(ids: np.ndarray, at: np.ndarray, context: int) -> np.ndarray:
    return np.asarray(ids[np.minimum(at + context, len(ids) - 1)])


@exercise("17-2", "How many numbers a GPT learns")
def count_parameters(answer: Callable) -> None:
    """It takes (vocab, context, layers, width) and returns an integer."""
    for vocab, context, layers, c in SIZES:
        right = (vocab + context) * c + layers * (12 * c * c + 13 * c) + 2 * c
        expect(
            answer(vocab, context, layers, c),
            right,
            f"vocab={vocab}, context={context}, layers={layers} and width={c}",
            [
                ("the head is counted too, but it is the table of the characters again.", right + vocab * c),
                ("the table of places is missing.", right - context * c),
                ("the table of characters is missing.", right - vocab * c),
                ("the norm after the last block is missing.", right - 2 * c),
                ("a norm has a shift besides its gain.", right - (2 * layers + 1) * c),
                ("a block has two norms.", right - 2 * layers * c),
                ("the norms of the blocks are missing.", right - 4 * layers * c),
                ("all norms are missing.", right - (4 * layers + 2) * c),
                ("the biases of the linear layers are missing.", right - 9 * layers * c),
                ("biases and norms are missing.", right - 13 * layers * c - 2 * c),
                ("the layer behind the heads is missing.", right - layers * (c * c + c)),
                ("queries, keys and values need a matrix each.", right - 2 * layers * (c * c + c)),
                ("queries, keys and values need a matrix each.", right - 2 * layers * c * c),
                ("the MLP has two layers.", right - layers * (4 * c * c + c)),
                ("the MLP has two layers.", right - layers * (4 * c * c + 4 * c)),
                ("the MLP is four times as wide inside.", right - layers * (6 * c * c + 3 * c)),
                ("there is one block only.", right - (layers - 1) * (12 * c * c + 13 * c)),
            ],
            tolerance=0.0,
            kind=int,
        )


@exercise("17-3", "The choice of the next id")
def pick(answer: Callable) -> None:
    """It takes (logits, temperature, k, u) and returns an id."""
    draws = np.append(np.linspace(0.001, 0.999, 25), 0.0)
    for size, temperature, k in ((8, 0.5, 4), (12, 2.0, 12), (9, 1.0, 3), (6, 1.3, 1), (7, 0.01, 5)):
        logits = draw(size) if temperature > 0.1 else 1000.0 * draw(size)
        with np.errstate(over="ignore", invalid="ignore"):
            found = [answer(logits.copy(), temperature, k, float(u)) for u in draws]
            wrong = _slips(logits, temperature, k, draws)
        expect(
            found if all(one is not None for one in found) else None,
            _choices(_kept(logits / temperature, k), draws),
            f"{size} logits{'' if temperature > 0.1 else ' of a thousand'}, temperature={temperature} and k={k}",
            wrong,
            tolerance=0.0,
            kind=int,
        )


def _slips(logits: np.ndarray, temperature: float, k: int, draws: np.ndarray) -> list[tuple[str, np.ndarray]]:
    cold = logits / temperature
    p = softmax_reference(cold)
    smallest = -_kept(-logits, k) / temperature
    by_size = np.argsort(-logits)
    rows = _kept(cold, k)
    short = np.sort(rows[np.isfinite(rows)])[::-1]
    in_order = rows[np.isfinite(rows)]
    best = np.full(draws.size, int(np.argmax(logits)))
    return [
        ("exponentials overflow: chapter 7 has the remedy.", _first(np.cumsum(_bare(rows)), draws)),
        ("it always takes the greatest logit.", best),
        ("the temperature multiplies, where it divides.", _choices(_kept(logits * temperature, k), draws)),
        ("the temperature has no effect.", _choices(_kept(logits, k), draws)),
        ("all ids can be chosen; k has no effect.", _choices(cold, draws)),
        ("the smallest logits are kept.", _choices(np.where(np.isfinite(smallest), smallest, -np.inf), draws)),
        (
            "the probabilities that are kept must add up to 1 again.",
            _first(np.cumsum(np.where(np.isfinite(rows), p, 0.0)), draws),
        ),
        ("k - 1 logits are kept.", _choices(_kept(cold, max(k - 1, 1)), draws)),
        ("k + 1 logits are kept.", _choices(_kept(cold, k + 1), draws)),
        ("ids are gone through from the likeliest on, where their own order counts.", by_size[_choices(short, draws)]),
        ("this is a place in the sorted list, and no id.", _choices(short, draws)),
        ("this is a place among those that were kept, and no id.", _choices(in_order, draws)),
        (
            "with u = 0 it takes an id that was not kept: the running sum must be above u.",
            np.argmax(np.cumsum(softmax_reference(rows)) >= draws[:, None], axis=1),
        ),
        ("it takes the id before: the running sum must be above u there.", _choices(rows, draws) - 1),
        ("it takes the id after the one at which the running sum is above u.", _choices(rows, draws) + 1),
    ]


def _kept(logits: np.ndarray, k: int) -> np.ndarray:
    return np.where(logits >= np.sort(logits)[::-1][min(k, len(logits)) - 1], logits, -np.inf)


def _bare(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits)
    return np.asarray(powers / powers.sum())


def _choices(logits: np.ndarray, draws: np.ndarray) -> np.ndarray:
    return _first(np.cumsum(softmax_reference(logits)), draws)


def _first(running: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """The first place whose running sum is above each draw, or else 0, as argmax has it."""
    return np.asarray(np.argmax(running > draws[:, None], axis=1))
