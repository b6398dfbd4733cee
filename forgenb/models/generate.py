"""Sampling from a language model, one id after the other, with the last `context` ids as its window.

Imports the model, random numbers and the tape's `no_grad`; text and files belong to the caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import random
from ..errors import ArgumentError
from ..tape import no_grad
from .gpt import GPT

COLDEST = 1e-4


def next_id(
    logits: np.ndarray,
    source: np.random.Generator | None = None,
    temperature: float = 1.0,
    top_k: int | None = None,
) -> int:
    r"""Choose an id by its logit.

    Parameters
    ----------
    logits : ndarray, ``(v,)``
    source : Generator, optional
        Without it the choice is greedy: the first of the greatest logits.
    temperature : float
        Divides the logits; at least 1e-4 is used.
    top_k : int, optional
        Choose among the k greatest only; where logits tie, the lower ids come first.

    Raises
    ------
    ArgumentError
        If the temperature is negative, `top_k` below 1, or no logit is a number.
    """
    logits = np.asarray(logits, np.float64)
    _check(temperature, top_k)
    if np.isnan(logits).any():
        raise ArgumentError("sampling got logits with NaN: the model has diverged, or its parameters are not loaded")
    if source is None:
        return int(np.argmax(logits))
    order = np.argsort(-logits, kind="stable")[:top_k]
    weights = np.exp((logits[order] - logits[order[0]]) / max(temperature, COLDEST))
    total = np.cumsum(weights)
    uniform = (int(source.bit_generator.random_raw()) >> 11) * 2.0**-53
    return int(order[np.searchsorted(total, uniform * total[-1], side="right")])


def _check(temperature: float, top_k: int | None) -> None:
    if not temperature >= 0 or (top_k is not None and top_k < 1):
        raise ArgumentError(f"sampling needs temperature >= 0 and top_k >= 1, got {temperature!r} and {top_k!r}")


def stream(
    model: GPT,
    ids: Sequence[int],
    count: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    greedy: bool = False,
    seed: int | None = None,
) -> Iterator[int]:
    """Yield `count` ids that continue `ids`, each as soon as it is chosen. See `generate`."""
    if len(ids) == 0 or count < 0:
        raise ArgumentError(f"generating needs a prompt of at least one id and count >= 0, got {len(ids)} and {count}")
    _check(temperature, top_k)
    source = None if greedy else random.generator(random.default_seed() if seed is None else seed, "sample")
    return _stream(model, [int(i) for i in ids], count, source, temperature, top_k)


def _stream(
    model: GPT, ids: list[int], count: int, source: Any, temperature: float, top_k: int | None
) -> Iterator[int]:
    for _ in range(count):
        chosen = next_id(_last_logits(model, ids), source, temperature, top_k)
        ids.append(chosen)
        yield chosen


def _last_logits(model: GPT, ids: list[int]) -> np.ndarray:
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with no_grad():
            hidden = model.hidden(np.array([ids[-model.config.context :]], np.int64))
            _, time, width = hidden.shape
            last = hidden.view((1, 1, width), hidden.strides, (time - 1) * hidden.strides[1])
            return model.head(last).numpy().reshape(-1)
    finally:
        for module, mode in modes:
            module.training = mode


def generate(
    model: GPT,
    ids: Sequence[int],
    count: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    greedy: bool = False,
    seed: int | None = None,
) -> list[int]:
    """Continue a sequence.

    Parameters
    ----------
    model : GPT
        Run in eval mode; its modes are put back.
    ids : sequence of int
        The prompt, at least one id. The model sees the last `context` ids.
    count : int
        How many ids to add.
    temperature, top_k
        See `next_id`.
    greedy : bool
        Take the first of the greatest logits every time.
    seed : int, optional
        Of the choices; by default the one set with ``fnb.seed``. The same seed gives the same ids.

    Returns
    -------
    list of int
        The prompt and its continuation.

    Raises
    ------
    ArgumentError
        If the prompt is empty, or an argument is out of range.
    """
    added = stream(model, ids, count, temperature=temperature, top_k=top_k, greedy=greedy, seed=seed)
    return [*(int(i) for i in ids), *added]
