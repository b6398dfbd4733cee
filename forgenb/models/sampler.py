"""Which id comes next: greedy, or drawn from a stream that its owner can save and go on with.

Imports NumPy, random numbers and the checks of settings; it knows logits, no model and no text.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from .. import random
from ..errors import ArgumentError, CheckpointError, ShapeError
from ..ops.settings import number, whole

__all__ = ["Chooser", "Greedy", "Sampler", "next_id", "top_probs"]

COLDEST = 1e-4


@runtime_checkable
class Chooser(Protocol):
    """What picks an id for one sequence."""

    def choose(self, logits: np.ndarray) -> int:
        """The id for ``logits[v]``."""
        ...


def next_id(
    logits: np.ndarray,
    source: np.random.Generator | None = None,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> int:
    r"""Choose an id by its logit.

    Parameters
    ----------
    logits : ndarray, ``(v,)``
    source : Generator, optional
        Without it the choice is greedy: the first of the greatest logits. A draw takes one raw output of it.
    temperature : float
        Divides the logits; at least 1e-4 is used.
    top_k : int, optional
        Choose among the k greatest only; where logits tie, the lower ids come first.
    top_p : float, optional
        Of these, in the same order, choose among the fewest whose probabilities sum up to `top_p` or more.

    Raises
    ------
    ArgumentError
        If the temperature is negative or infinite, `top_k` below 1, `top_p` not in (0, 1], or a logit NaN or all
        infinite.
    ShapeError
        If there are no logits, or those of several ids.

    References
    ----------
    Holtzman et al., "The curious case of neural text degeneration", 2020 (`top_p`).
    """
    check_choice(temperature, top_k, top_p)
    logits = _checked_logits(logits)
    if source is None:
        return int(np.argmax(logits))
    order = greatest(logits, top_k)
    with np.errstate(over="ignore"):  # minus infinity, which has no weight
        weights = np.exp((logits[order] - logits[order[0]]) / max(temperature, COLDEST))
    total = np.cumsum(weights)
    if top_p is not None and top_p < 1:
        total = total[: int(np.searchsorted(total, top_p * total[-1])) + 1]
    uniform = (int(source.bit_generator.random_raw()) >> 11) * 2.0**-53
    return int(order[np.searchsorted(total, uniform * total[-1], side="right")])


def top_probs(logits: np.ndarray, n: int) -> list[tuple[int, float]]:
    r"""The n most probable ids, or all, and their probabilities, :math:`e^{x_i} / \sum_j e^{x_j}` over the vocabulary.

    Parameters
    ----------
    logits : ndarray, ``(v,)``
    n : int
        At least 1.

    Returns
    -------
    list of (int, float)
        The most probable first; where logits tie, the lower ids come first.

    Raises
    ------
    ArgumentError
        If n is no whole number of at least 1, or a logit NaN or all infinite.
    ShapeError
        If there are no logits, or those of several ids.
    """
    n, logits = whole("top_probs", "n", n, 1), _checked_logits(logits)
    with np.errstate(over="ignore"):  # minus infinity, whose probability is 0
        logs = logits - logits.max()
    ids, shares = most_likely((logs - np.log(np.exp(logs).sum()))[None], min(n, logits.size))
    return list(zip(ids[0].tolist(), shares[0].tolist()))


def _checked_logits(logits: np.ndarray) -> np.ndarray:
    logits = np.asarray(logits, np.float64)
    if logits.ndim != 1 or not logits.size:
        raise ShapeError(f"sampling got logits of shape {logits.shape}: it needs those of one id, (vocab,)")
    _refuse_nan(logits)
    if not np.isfinite(logits.max()):
        raise ArgumentError(
            f"sampling got a greatest logit of {logits.max()}: at least one id must have a finite logit"
        )
    return logits


def _refuse_nan(logits: np.ndarray) -> None:
    if np.isnan(logits).any():
        raise ArgumentError("got logits with NaN: the model has diverged, or its parameters are not loaded")


def greatest(logits: np.ndarray, top_k: int | None) -> np.ndarray:
    """Ids of the k greatest logits, or all, the greatest first and ties by id; sorts no more than it must."""
    among = np.arange(logits.size)
    if top_k is not None and top_k < logits.size:
        among = np.flatnonzero(logits >= np.partition(logits, -top_k)[-top_k])
    return among[np.argsort(-logits[among], kind="stable")[:top_k]]


def clamped(count: int, vocab: int) -> int:
    """How many candidates are given where `count` are asked for: 1 to all.

    Raises
    ------
    ArgumentError
        If it is no whole number.
    """
    return min(max(whole("the number of candidates", "top", count), 1), vocab)


def most_likely(logs: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids and float64 probabilities of the `count` greatest of ``logs[n, v]``, logarithms of probabilities.

    Returns
    -------
    ids, probabilities : ndarray, ``(n, count)``
        The greatest first, ties by id.

    Raises
    ------
    ArgumentError
        If one is NaN.
    """
    _refuse_nan(logs)
    ids = np.array([greatest(row, count) for row in logs], np.int64).reshape(len(logs), count)
    return ids, np.exp(np.take_along_axis(logs, ids, -1).astype(np.float64))


def check_choice(temperature: float, top_k: int | None, top_p: float | None) -> None:
    """Refuse settings with which nothing can be drawn.

    Raises
    ------
    ArgumentError
        Naming them.
    """
    number("sampling", "temperature", temperature)
    if top_k is not None:
        whole("sampling", "top_k", top_k)
    if top_p is not None:
        number("sampling", "top_p", top_p)
    if not 0 <= temperature < np.inf or (top_k is not None and top_k < 1):
        raise ArgumentError(
            f"sampling needs a finite temperature >= 0 and top_k >= 1, got {temperature!r} and {top_k!r}"
        )
    if top_p is not None and not 0 < top_p <= 1:
        raise ArgumentError(f"sampling needs 0 < top_p <= 1, got {top_p!r}")


class Greedy:
    """Always the first of the greatest logits."""

    def choose(self, logits: np.ndarray) -> int:
        """The id for ``logits[v]``."""
        return next_id(logits)


class Sampler:
    """Draws ids from a stream of its own: the same seed gives the same ids for the same logits on every machine.

    Parameters
    ----------
    temperature, top_k, top_p
        See `next_id`.
    seed : int, optional
        By default the one set with ``fnb.seed``.
    stream : int
        Which of the seed's independent streams, one for each sequence of a batch; that of 0 is the one of `generate`.

    Attributes
    ----------
    drawn : int
        How many ids it has chosen.

    Raises
    ------
    ArgumentError
        If a setting, the seed or the stream is out of range.
    """

    def __init__(
        self,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        stream: int = 0,
    ):
        check_choice(temperature, top_k, top_p)
        self.temperature, self.top_k, self.top_p = temperature, top_k, top_p
        self._open(random.default_seed() if seed is None else seed, stream, 0)

    def _open(self, seed: int, stream: int, drawn: int) -> None:
        stream, drawn = (whole("Sampler", name, n, 0) for name, n in (("stream", stream), ("drawn", drawn)))
        if max(stream, drawn) >= 2**32:
            raise ArgumentError(f"Sampler needs stream and drawn below 2**32, got {stream} and {drawn}")
        source = random.generator(seed, f"sample.{stream}" if stream else "sample")
        source.bit_generator.random_raw(drawn, output=False)
        self._source, self.seed, self.stream, self.drawn = source, int(seed), stream, drawn

    def choose(self, logits: np.ndarray) -> int:
        """Draw the id for ``logits[v]``."""
        chosen = next_id(logits, self._source, self.temperature, self.top_k, self.top_p)
        self.drawn += 1
        return chosen

    def state_dict(self) -> dict[str, int]:
        """Where its stream is, as numbers that JSON can hold."""
        return {"seed": self.seed, "stream": self.stream, "drawn": self.drawn}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where another one's `state_dict` was taken.

        Raises
        ------
        CheckpointError
            If `state` is not one.
        """
        try:
            self._open(state["seed"], state["stream"], state["drawn"])
        except (KeyError, TypeError, ArgumentError) as error:
            raise CheckpointError(f"the state of a sampler has seed, stream and drawn, got {state!r:.80}") from error
