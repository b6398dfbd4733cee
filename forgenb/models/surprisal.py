"""How surprising a text is to a model: the bits of each id, given those before it.

Imports the model, ops and what sampling knows of candidates; no file and no terminal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..data import Tokenizer
from ..errors import ArgumentError
from ..nn.modes import evaluating
from ..ops.apply import widened
from ..ops.log_softmax import log_softmax
from ..ops.movement import reshape
from ..ops.rows import take
from ..ops.settings import whole
from ..tensor import Tensor
from .council import Council, check_model
from .gpt import GPT
from .prompts import known_ids
from .sampler import clamped, greatest, most_likely

__all__ = ["Surprisal", "surprisal"]

TOKENS = 1 << 12
"""Ids in one pass over windows side by side, where a window has not more."""
NUMBERS = 1 << 22
"""Logits that are in memory at a time, where a row has not more."""


@dataclass(frozen=True, eq=False)
class Surprisal:
    r"""Bits of each id of a text, :math:`-\log_2 p(id_i \mid id_0 .. id_{i-1})`, and what was expected in its place.

    Attributes
    ----------
    ids : ndarray, ``(n,)`` int64
        The text.
    bits : ndarray, ``(n,)`` float64
        The first is 0: nothing stands before it.
    candidates : ndarray, ``(n, k)`` int64
        The k most probable ids at each place, the greatest first, ties by id; -1 at the first place.
    probabilities : ndarray, ``(n, k)`` float64
        Theirs; 0 at the first place.
    """

    ids: NDArray[np.int64]
    bits: NDArray[np.float64]
    candidates: NDArray[np.int64]
    probabilities: NDArray[np.float64]

    @property
    def total(self) -> float:
        """Bits of the whole text after its first id."""
        return math.fsum(self.bits)

    @property
    def mean(self) -> float:
        """Bits an id, of the n - 1 that have something before them; 0 where there is none."""
        return self.total / max(len(self.ids) - 1, 1)

    @property
    def perplexity(self) -> float:
        """``2 ** mean``: among how many equally likely ids the model hesitates."""
        try:
            return 2.0**self.mean
        except OverflowError:
            return math.inf

    def per_character(self, tokenizer: Tokenizer) -> float:
        """Bits a character of the text after its first id."""
        text = np.frombuffer(tokenizer.decode_bytes(self.ids[1:]), np.uint8)
        return self.total / max(int(np.count_nonzero(text & 0xC0 != 0x80)), 1)

    def per_byte(self, tokenizer: Tokenizer) -> float:
        """Bits a byte, in UTF-8, of the text after its first id."""
        return self.total / max(len(tokenizer.decode_bytes(self.ids[1:])), 1)

    def places(self, count: int) -> NDArray[np.int64]:
        """The positions of the `count` most surprising ids, the greatest first and ties by position; never the first.

        Raises
        ------
        ArgumentError
            If `count` is no integer of at least 1.
        """
        return 1 + greatest(self.bits[1:], whole("places", "count", count, 1))


def surprisal(model: GPT | Council, ids: ArrayLike, top: int = 5, stride: int | None = None) -> Surprisal:
    r"""Read a text and say at each place how many bits its id has, given those before it.

    A text of up to one id more than the context takes one forward pass. A longer one is read in windows of a whole
    context, each `stride` ids further, the last one at the end of the text; an id is judged in the first window that
    has it. So each has all ids before it, or at least ``context - stride + 1`` of them.

    Parameters
    ----------
    model : GPT or Council
        Run as in eval mode; its modes are left as they are.
    ids : array_like of int, ``(n,)``
        The text, at least one id. To have the first one judged too, put the id that ends a text before it.
    top : int
        How many candidates to keep at each place; less than 1 counts as 1, and more than there are as all.
    stride : int, optional
        1 to the context; by default half of it. A smaller one gives more to go by, and takes ``context / stride``
        times the work of reading the text once.

    Returns
    -------
    Surprisal
        From logarithms of softmax, so that no number of bits is too large for it.

    Raises
    ------
    ArgumentError
        If there is no id, `top` or `stride` is no such number, or the model's logits are NaN.
    ShapeError, DTypeError
        If the ids are not one sequence of integers.
    IndexRangeError
        If an id is outside the vocabulary; the message names the first and its position.

    References
    ----------
    Shannon, "Prediction and entropy of printed English", 1951; Jelinek et al., "Perplexity: a measure of the difficulty
    of speech recognition tasks", 1977.
    """
    check_model("surprisal", model)
    context, vocab = model.config.context, model.config.vocab
    text, kept = _checked(ids, vocab), clamped(top, vocab)
    stride = max(1, context // 2) if stride is None else whole("surprisal", "stride", stride)
    if not 1 <= stride <= context:
        raise ArgumentError(f"surprisal needs a stride from 1 to {context}, the model's context, got {stride!r}")
    bits = np.zeros(len(text))
    candidates, probabilities = np.full((len(text), kept), -1), np.zeros((len(text), kept))
    with evaluating(model):
        for places, logs in _read(model, text, stride):
            own = np.take_along_axis(logs, text[places, None], 1)[:, 0]
            bits[places] = own.astype(np.float64) / -math.log(2)
            candidates[places], probabilities[places] = most_likely(logs, kept)
    return Surprisal(text, bits + 0.0, candidates, probabilities)


def _checked(ids: ArrayLike, vocab: int) -> NDArray[np.int64]:
    text = known_ids(ids, vocab).copy()
    if not len(text):
        raise ArgumentError("surprisal needs a text of at least one id, got none")
    return text


def _read(
    model: GPT | Council, text: NDArray[np.int64], stride: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.floating]]]:
    """Places in rising order, each once, and the log-probabilities ``[places, v]`` there."""
    size, many = min(model.config.context, len(text) - 1), NUMBERS // model.config.vocab or 1
    if not size:
        return
    starts = np.minimum(np.arange(0, len(text) - 1 - size + stride, stride), len(text) - 1 - size)
    ends, done, side = starts + size, 0, TOKENS // size or 1
    for first in range(0, len(starts), side):
        own = slice(first, first + side)
        hidden = model.hidden(text[starts[own, None] + np.arange(size)])
        rows = reshape(hidden, (-1, hidden.shape[-1]))
        places = np.arange(done, ends[own][-1])
        window = np.searchsorted(ends[own], places, side="right")
        at, done = window * size + places - starts[own][window], int(ends[own][-1])
        for part in range(0, len(at), many):
            yield places[part : part + many] + 1, _logs(model, take(rows, at[part : part + many]))


def _logs(model: GPT | Council, hidden: Tensor) -> NDArray[np.floating]:
    return log_softmax(widened(model.head(hidden))).numpy()
