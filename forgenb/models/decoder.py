"""A GPT with a cache of keys and values: prompts at once, then one id a sequence and call.

Imports the model, ops, routines and `no_grad`; which id comes next is chosen in `sampler`, and when to stop in
`generate`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..ops.assignment import kv_append
from ..ops.attention import attention
from ..ops.cached_attention import cached_attention, kv_put
from ..ops.embedding import embedding
from ..ops.heads import split_heads
from ..ops.movement import reshape, zeros
from ..ops.rows import take
from ..routine import Routine, compile, scope
from ..tape import no_grad
from ..tensor import Tensor
from .gpt import GPT

__all__ = ["Decoder"]


class Decoder:
    r"""A model and the keys and values of what it has read, for `batch` sequences of different lengths.

    `prefill` reads whole prompts. They are filled up on the right: a causal model's earlier positions do not see what
    follows, so nothing needs a mask, and what was filled up is overwritten place by place. `step` reads one id of each
    sequence at its own place. It is one routine for the decoder's whole life, with ids and places as inputs: its work
    grows with the longest sequence, not with the capacity. Logits are those of the model in eval mode up to rounding;
    its mode, dropout and gradients are not touched, and its parameters are read anew each time.

    Parameters
    ----------
    model : GPT
    batch : int
        How many sequences.
    capacity : int, optional
        Most ids of a sequence; by default the context. A cache is ``[batch * heads, capacity, width / heads]``.

    Attributes
    ----------
    lengths : ndarray, ``(batch,)`` int64
        How many ids of each sequence were read.
    keys, values : list of Tensor
        One a layer.
    hidden, logits : Tensor, ``(batch, width)`` and ``(batch, vocab)``
        What the last call of `prefill` or `step` computed: the normalised stream, and what the head makes of it. The
        next call may write over both.

    Raises
    ------
    ArgumentError
        If `batch` or `capacity` is below 1, or `capacity` above the context.

    References
    ----------
    Pope et al., "Efficiently scaling transformer inference", 2022, section 2.
    """

    def __init__(self, model: GPT, batch: int = 1, capacity: int | None = None):
        config = model.config
        capacity = config.context if capacity is None else capacity
        for name, size, most in (("batch", batch, None), ("capacity", capacity, config.context)):
            whole = isinstance(size, (int, np.integer)) and not isinstance(size, bool)
            if not whole or size < 1 or (most is not None and size > most):
                ends = f"1 to {most}, the model's context" if most else "1"
                raise ArgumentError(f"Decoder: {name} must be an integer from {ends}, got {size!r}")
        self.model, self.batch, self.capacity = model, int(batch), int(capacity)
        self.lengths = np.zeros(self.batch, np.int64)
        self._live = np.zeros(self.batch, np.bool_)
        weight, shape = model.wte.weight, (self.batch * config.heads, self.capacity, config.width // config.heads)
        self.keys, self.values = (
            [zeros(shape, weight.dtype, weight.backend) for _ in range(config.layers)] for _ in range(2)
        )
        self._run = compile(self._one, "decode")
        self.hidden: Tensor
        self.logits: Tensor

    @property
    def routine(self) -> Routine | None:
        """What a step runs; None before the first."""
        return self._run.routine

    def prefill(self, prompts: Sequence[Sequence[int]]) -> np.ndarray:
        """Forget everything and read one prompt a sequence.

        Returns
        -------
        ndarray, ``(batch, vocab)``
            Logits of what follows each prompt.

        Raises
        ------
        ArgumentError
            If there is not one prompt a sequence, or one is empty or longer than the capacity.
        IndexRangeError
            If an id is outside the vocabulary.
        """
        ids, lengths = self._padded(prompts)
        with no_grad():
            hidden = embedding(ids, self.model.wte.weight, self.model.wpe.weight)
            for block, keys, values in self._layers():
                hidden = self._whole(block, hidden, keys, values)
            rows = reshape(hidden, (-1, hidden.shape[-1]))
            last = take(rows, np.arange(self.batch) * ids.shape[1] + lengths - 1)
            self.hidden = self.model.ln_f(last)
            self.logits = self.model.head(self.hidden)
        self.lengths, self._live = lengths, np.ones(self.batch, np.bool_)
        return np.array(self.logits.numpy())

    def step(self, ids: Sequence[int]) -> np.ndarray:
        """Read one more id of each sequence.

        Parameters
        ----------
        ids : sequence of int, ``(batch,)``
            Those of released sequences are not looked at.

        Returns
        -------
        ndarray, ``(batch, vocab)``
            Logits of what follows; the rows of released sequences mean nothing.

        Raises
        ------
        ArgumentError
            If there is not one id a sequence, no sequence is open, or one is full.
        IndexRangeError
            If an id is outside the vocabulary.
        """
        given = np.asarray(ids, np.int64)
        if given.shape != (self.batch,):
            raise ArgumentError(f"step got ids of shape {given.shape}: this decoder needs one for each of {self.batch}")
        if not self._live.any():
            raise ArgumentError("step has no sequence to go on with: call prefill with the prompts first")
        if (self.lengths >= self.capacity).any():
            row = int(np.argmax(self.lengths))
            raise ArgumentError(
                f"sequence {row} has {self.lengths[row]} ids, as many as the cache holds: release it, or make a "
                f"Decoder of a larger capacity (the model's context is {self.model.config.context})"
            )
        with no_grad():
            self.hidden, self.logits = self._run(np.where(self._live, given, 0), self.lengths)
        self.lengths = self.lengths + self._live
        return np.array(self.logits.numpy())

    def release(self, row: int) -> None:
        """Give a sequence up: its length is 0 from now on, and steps cost next to nothing for it."""
        self.lengths[row], self._live[row] = 0, False

    def _padded(self, prompts: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
        lengths = np.array([len(prompt) for prompt in prompts], np.int64)
        if len(lengths) != self.batch:
            raise ArgumentError(f"prefill got {len(lengths)} prompts: this decoder needs one for each of {self.batch}")
        if lengths.min() < 1 or lengths.max() > self.capacity:
            row = int(np.argmin(lengths) if lengths.min() < 1 else np.argmax(lengths))
            raise ArgumentError(
                f"prefill got prompt {row} of {lengths[row]} ids: each must have 1 to {self.capacity}, the capacity"
            )
        ids = np.zeros((self.batch, int(lengths.max())), np.int64)
        for row, prompt in enumerate(prompts):
            ids[row, : lengths[row]] = prompt
        return ids, lengths

    def _layers(self) -> Iterator[tuple[Any, Tensor, Tensor]]:
        """Each block of the model with its caches."""
        return zip(self.model.h, self.keys, self.values, strict=True)

    def _whole(self, block: Any, x: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """One layer on prompts ``x[b, t, c]``; their keys and values go to the cache."""
        qkv, heads = block.attn.c_attn(block.ln_1(x)), self.model.config.heads
        _, k, v = split_heads(reshape(qkv, (-1, qkv.shape[-1])), heads, self.batch)
        kv_append(keys, k, 0)
        kv_append(values, v, 0)
        x = x + block.attn.c_proj(attention(qkv, heads))
        return x + block.mlp(block.ln_2(x))

    def _one(self, ids: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """The step that is recorded: ``[b, c]`` and logits ``[b, v]`` for one id a sequence."""
        x = embedding(ids, self.model.wte.weight) + take(self.model.wpe.weight, places)
        for number, (block, keys, values) in enumerate(self._layers()):
            with scope(f"h.{number}"):
                qkv = block.attn.c_attn(block.ln_1(x))
                kv_put(keys, qkv, places, 1)
                kv_put(values, qkv, places, 2)
                x = x + block.attn.c_proj(cached_attention(qkv, keys, values, places))
                x = x + block.mlp(block.ln_2(x))
        hidden = self.model.ln_f(x)
        return hidden, self.model.head(hidden)
