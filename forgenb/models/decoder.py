"""A GPT with a cache of keys and values: prompts at once, then one id a sequence and call.

Imports the model, ops, routines and `no_grad`; which id comes next is chosen in `sampler`, and when to stop in
`generate`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..data.ids import as_ids
from ..errors import ArgumentError
from ..ops.assignment import kv_append
from ..ops.attention import attention, heads_of
from ..ops.cached_attention import cached_attention, kv_put
from ..ops.embedding import embedding
from ..ops.heads import split_heads
from ..ops.matmul import matmul
from ..ops.movement import reshape, zeros
from ..ops.rows import take
from ..ops.settings import whole
from ..routine import Routine, compile, scope
from ..tape import no_grad
from ..tensor import Tensor
from .gpt import GPT
from .notes import Noted, Notes, pass_of
from .prompts import prompt_ids
from .trace import Pass, Tracer

__all__ = ["Decoder"]

NOTED = ("ln1_out", "qkv", "mixed", "projection", "residual", "ln2_out", "mlp_hidden", "block_out")
"""What a layer notes, in the order in which it computes it."""


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
    tracer : Tracer, optional
        Says what `seen` has of each pass; the logits have the same bits with and without it.

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
        If `model` is no `GPT` or `tracer` none, `batch` or `capacity` below 1, or `capacity` above the context.

    References
    ----------
    Pope et al., "Efficiently scaling transformer inference", 2022, section 2.
    """

    def __init__(self, model: GPT, batch: int = 1, capacity: int | None = None, tracer: Tracer | None = None):
        if not isinstance(model, GPT) or not isinstance(tracer, Tracer | None):
            raise ArgumentError(
                f"Decoder needs a GPT, and a Tracer or None, got {type(model).__name__} and {type(tracer).__name__}"
            )
        config = model.config
        self.model, self.batch = model, whole("Decoder", "batch", batch, 1)
        self.capacity = whole("Decoder", "capacity", config.context if capacity is None else capacity, 1)
        if self.capacity > config.context:
            raise ArgumentError(f"Decoder got capacity={capacity!r}: the model's context is {config.context}")
        self.lengths = np.zeros(self.batch, np.int64)
        self._live = np.zeros(self.batch, np.bool_)
        weight, shape = model.wte.weight, (self.batch * config.heads, self.capacity, config.width // config.heads)
        self.keys, self.values = (
            [zeros(shape, weight.dtype, weight.backend) for _ in range(config.layers)] for _ in range(2)
        )
        self.tracer, self._step_notes = tracer, Notes(None)
        self._noted: tuple[Noted, bool] | None = None
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
        ShapeError, DTypeError
            If ids are not integers in a row.
        """
        ids, lengths = self._padded(prompts)
        self.lengths, self._live = np.zeros(self.batch, np.int64), np.zeros(self.batch, np.bool_)
        with no_grad():
            notes = Notes(self.tracer)
            x = embedding(ids, self.model.wte.weight, self.model.wpe.weight)
            notes.add("embedding", x)
            for number in range(self.model.config.layers):
                x = self._layer(number, x, self._attend_whole, notes)
            rows = reshape(x, (-1, x.shape[-1]))
            last = take(rows, np.arange(self.batch) * ids.shape[1] + lengths - 1)
            self.hidden = self.model.ln_f(last)
            notes.add("hidden", self.hidden)
            self.logits = self.model.head(self.hidden)
            packed = notes.packed(self.logits)
        logits = self._read(notes, packed, True)
        self.lengths, self._live = lengths, np.ones(self.batch, np.bool_)
        return logits

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
        ShapeError, DTypeError
            If ids are not integers in a row.
        """
        given = as_ids(ids)
        if given.shape != (self.batch,):
            raise ArgumentError(f"step got ids of shape {given.shape}: this decoder needs one for each of {self.batch}")
        if not self._live.any():
            raise ArgumentError("step has no sequence to go on with: call prefill with the prompts first")
        if self.lengths.max() >= self.capacity:
            row = int(np.argmax(self.lengths))
            raise ArgumentError(
                f"sequence {row} has {self.lengths[row]} ids, as many as the cache holds: release it, or make a "
                f"Decoder of a larger capacity (the model's context is {self.model.config.context})"
            )
        with no_grad():
            self.hidden, self.logits, *packed = self._run(np.where(self._live, given, 0), self.lengths)
        self.lengths = self.lengths + self._live
        return self._read(self._step_notes, packed[0] if packed else self.logits, False)

    def _read(self, notes: Notes, packed: Tensor, whole: bool) -> np.ndarray:
        """The logits, and for `seen` what was noted, in one copy from the backend."""
        logits, found = notes.unpacked(packed.numpy(), (self.batch, self.model.config.vocab))
        self._noted = found, whole
        return logits

    def seen(self, row: int) -> Pass:
        """What the last pass computed for a sequence, where the decoder has a tracer that asks for it.

        Raises
        ------
        ArgumentError
            If nothing was read yet, or there is no such sequence.
        """
        row = self._row("seen", row)
        if self._noted is None:
            raise ArgumentError("this decoder has read nothing, so there is nothing to see: call prefill first")
        found, whole = self._noted
        return pass_of(found, row, int(self.lengths[row]), whole, self.model.config.heads)

    def release(self, row: int) -> None:
        """Give a sequence up: its length is 0 from now on, and steps cost next to nothing for it.

        Raises
        ------
        ArgumentError
            If there is no such sequence.
        """
        row = self._row("release", row)
        self.lengths[row], self._live[row] = 0, False

    def _row(self, name: str, row: int) -> int:
        if not 0 <= whole(name, "row", row) < self.batch:
            raise ArgumentError(f"{name} got row {row}: this decoder has the sequences 0 to {self.batch - 1}")
        return row

    def _padded(self, prompts: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
        rows = [prompt_ids(prompt, self.model.config.vocab) for prompt in prompts]
        lengths = np.array([len(row) for row in rows], np.int64)
        if len(lengths) != self.batch:
            raise ArgumentError(f"prefill got {len(lengths)} prompts: this decoder needs one for each of {self.batch}")
        if lengths.min() < 1 or lengths.max() > self.capacity:
            row = int(np.argmin(lengths) if lengths.min() < 1 else np.argmax(lengths))
            raise ArgumentError(
                f"prefill got prompt {row} of {lengths[row]} ids: each must have 1 to {self.capacity}, the capacity"
            )
        ids = np.zeros((self.batch, int(lengths.max())), np.int64)
        for row, prompt in enumerate(rows):
            ids[row, : lengths[row]] = prompt
        return ids, lengths

    def _layer(self, number: int, x: Tensor, attend: Callable[[int, Tensor, Notes], Tensor], notes: Notes) -> Tensor:
        """One layer on ``x[.., c]``; `attend` maps its packed queries, keys and values to ``[.., c]``."""
        block: Any = self.model.h[number]
        with scope(f"h.{number}"):
            normed = block.ln_1(x)
            qkv = block.attn.c_attn(normed)
            mixed = attend(number, qkv, notes)
            projection = block.attn.c_proj(mixed)
            stream = x + projection
            again = block.ln_2(stream)
            inner = block.mlp.hidden(again)
            out = stream + block.mlp.c_proj(inner)
        values = normed, qkv, mixed, projection, stream, again, inner, out
        for name, value in zip(NOTED, values, strict=True):
            notes.add(name, value, number)
        return out

    def _attend_whole(self, number: int, qkv: Tensor, notes: Notes) -> Tensor:
        """Attention of prompts, ``qkv[b, t, 3 c]``; their keys and values go to the cache."""
        heads = self.model.config.heads
        _, k, v = split_heads(reshape(qkv, (-1, qkv.shape[-1])), heads, self.batch)
        kv_append(self.keys[number], k, 0)
        kv_append(self.values[number], v, 0)
        if number < notes.layers:
            notes.add("scores", _scores(qkv, k, heads), number)
        if not notes.attention:
            return attention(qkv, heads)
        mixed, weights = attention(qkv, heads, weights=True)
        notes.keep("weights", weights, number)
        return mixed

    def _attend_cached(self, number: int, qkv: Tensor, notes: Notes, places: Tensor) -> Tensor:
        """Attention of one id a sequence, ``qkv[b, 3 c]``, to the cache that it is put into."""
        keys, values = self.keys[number], self.values[number]
        kv_put(keys, qkv, places, 1)
        kv_put(values, qkv, places, 2)
        if number < notes.layers:
            packed = reshape(qkv, (self.batch, 1, qkv.shape[-1]))
            notes.add("scores", _scores(packed, keys, self.model.config.heads), number)
        if not notes.attention:
            return cached_attention(qkv, keys, values, places)
        mixed, weights = cached_attention(qkv, keys, values, places, weights=True)
        notes.keep("weights", weights, number)
        return mixed

    def _one(self, ids: Tensor, places: Tensor) -> tuple[Tensor, ...]:
        """The step that is recorded: ``[b, c]`` and logits ``[b, v]`` for one id a sequence, and what is noted."""
        notes = self._step_notes = Notes(self.tracer)
        x = embedding(ids, self.model.wte.weight) + take(self.model.wpe.weight, places)
        notes.add("embedding", x)
        for number in range(self.model.config.layers):
            x = self._layer(number, x, partial(self._attend_cached, places=places), notes)
        hidden = self.model.ln_f(x)
        notes.add("hidden", hidden)
        logits = self.model.head(hidden)
        packed = notes.packed(logits)
        return (hidden, logits) if packed is logits else (hidden, logits, packed)


def _scores(packed: Tensor, keys: Tensor, heads: int) -> Tensor:
    """Scaled products of the queries of ``packed[b, t, 3 c]`` with ``keys[b * heads, s, c / heads]``, not masked."""
    b, (_, rows, width) = packed.shape[0], keys.shape
    every = reshape(keys, (b, heads, rows, width))
    return matmul(heads_of(packed, heads, 0), every, trans_b=True, alpha=float(width**-0.5))
