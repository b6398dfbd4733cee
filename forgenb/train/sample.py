"""Text from a model: one character after another, each drawn from what the model expects."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from forgenb import random
from forgenb.data import as_ids
from forgenb.errors import ArgumentError
from forgenb.tape import no_grad

__all__ = ["Sampler", "generate"]


@dataclass(frozen=True)
class Sampler:
    r"""How the next id is chosen from the logits :math:`z`.

    With ``greedy`` it is the first of the largest; else it is drawn from :math:`\text{softmax}(z / T)` over the
    `top_k` largest, of equal ones the first.

    Parameters
    ----------
    greedy
        Draw nothing.
    temperature
        T, above 0.
    top_k
        How many ids stay possible, or None for all.
    seed
        The draw for the n-th new id depends on the seed and n alone.

    Raises
    ------
    ArgumentError
        A value is outside its range.
    """

    greedy: bool = False
    temperature: float = 0.8
    top_k: int | None = None
    seed: int = 1337

    def __post_init__(self) -> None:
        if not 0 < self.temperature < float("inf"):
            raise ArgumentError(f"A temperature must be finite and above 0, got {self.temperature!r}.")
        if self.top_k is not None and self.top_k < 1:
            raise ArgumentError(f"top_k must be at least 1, got {self.top_k!r}.")
        random.generator(self.seed, "sample")

    def choose(self, logits: np.ndarray, number: int) -> int:
        """Return the id that follows; `logits` is ``(vocabulary,)`` and `number` counts the draws."""
        if self.greedy:
            return int(np.argmax(logits))
        scores = logits.astype(np.float64) / self.temperature
        order = np.argsort(-scores, kind="stable")[: self.top_k]
        weights = np.exp(scores[order] - scores[order[0]])
        reached = np.cumsum(weights)
        raw = random.generator(self.seed, "sample", number).bit_generator.random_raw()
        uniform = (int(raw) >> 11) * 2.0**-53
        return int(order[min(np.searchsorted(reached, uniform * reached[-1], side="right"), len(order) - 1)])


def generate(
    model, prompt: ArrayLike, tokens: int, context: int, sampler: Sampler | None = None
) -> Iterator[int]:
    """Yield the ids that continue a prompt, one at a time.

    Parameters
    ----------
    model
        Maps ids ``(1, t)`` to logits ``(1, t, vocabulary)``; it is put into evaluation mode.
    prompt
        ``(n,)`` ids, at least one; the last `context` of them and of what follows are what the model sees.
    tokens
        How many to yield.
    context
        The most ids that the model takes.
    sampler
        How each is chosen.

    Raises
    ------
    ArgumentError
        An empty prompt, or fewer than 0 tokens.
    """
    ids = as_ids(prompt).tolist()
    if not ids:
        raise ArgumentError("A prompt needs at least one character to go on from, got none.")
    if tokens < 0:
        raise ArgumentError(f"The number of tokens to generate must be at least 0, got {tokens!r}.")
    return _continue(model, ids, tokens, context, sampler or Sampler())


def _continue(model, ids: list[int], tokens: int, context: int, sampler: Sampler) -> Iterator[int]:
    model.eval()
    for number in range(tokens):
        found = sampler.choose(_last_logits(model, ids[-context:]), number)
        ids.append(found)
        yield found


def _last_logits(model, ids: Sequence[int]) -> np.ndarray:
    with no_grad():
        return model(np.array([ids], np.int64)).numpy()[0, -1]
