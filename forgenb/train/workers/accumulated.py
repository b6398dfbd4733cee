"""A training step whose batch passes through the model in parts, one after the other, with one update at the end.

Imports parts of a batch, their masks and programs; parts that run at the same time are `shards`.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from forgenb.errors import ArgumentError
from forgenb.nn import Module
from forgenb.nn.module import copy_into
from forgenb.optim import Optimizer
from forgenb.routine import Routine
from forgenb.tensor import Tensor, empty
from forgenb.train import checks
from forgenb.train.loop.masks import PASS, PASSES, Masks, checked_rule
from forgenb.train.steps.programs import to_routine
from forgenb.train.workers.share import (
    PartialUpdate,
    checked_workers,
    descent,
    refuse_buffers,
    samples_of,
    share_of_loss,
    shares,
    variant,
)
from forgenb.train.workers.twin import Twin

__all__ = ["AccumulatedStep"]


class AccumulatedStep:
    r"""A step of an optimiser on a batch that is taken in parts, so that the memory of a step is that of one part.

    .. math:: g = \frac{1}{n} \sum_{k=1}^{n} \nabla L_k

    for n parts of equal size whose mean losses are :math:`L_k`: the gradient of the mean over the whole batch. Call it
    with the batch; the result is (loss, gradient norm before clipping).

    Parameters
    ----------
    model, optimizer, clip_norm
        See `ShardedStep`.
    parts : int
        n, which divides the samples of every batch.
    seed_rule : str
        ``"step"``: all parts have the seed of the step and draw by a sample's place in the batch, so they drop what the
        whole batch drops. ``"pass"``: part k, from 0, has the seed of the step plus k, and draws from the first sample
        on.
    eager : bool
        Run op by op. By default two routines are recorded for each set of shapes, one of a part and one of the update;
        the bits are the same. May be set at any time.

    Raises
    ------
    ArgumentError
        If an argument is none of that, or the model has running statistics; in a call, if the arrays have different
        lengths, or lengths that n does not divide.
    """

    def __init__(
        self,
        model: Module,
        optimizer: Optimizer,
        clip_norm: float | None,
        parts: int,
        seed_rule: str = "step",
        eager: bool = False,
    ):
        checked_workers("AccumulatedStep", model, optimizer, clip_norm)
        refuse_buffers(model)
        self.parts = checks.whole("AccumulatedStep", "parts", parts)
        self.seed_rule = checked_rule("AccumulatedStep", seed_rule)
        if self.seed_rule == PASS and parts > PASSES:
            raise ArgumentError(
                f"under seed_rule={PASS!r} a step has at most {PASSES} parts, since its seeds end where those of the "
                f"next step begin, got parts={parts}"
            )
        if not isinstance(eager, bool):
            raise ArgumentError(f"AccumulatedStep needs eager to be True or False, got {eager!r}")
        self.model, self.optimizer, self.eager = model, optimizer, eager
        self.clip_norm = math.inf if clip_norm is None else clip_norm
        self._masks = Masks(model)
        self._twin: Twin | None = None
        self._made: dict[tuple, tuple[PartialUpdate, Routine, Routine, Any, list[Tensor]]] = {}

    def __call__(self, *arrays: np.ndarray) -> tuple[float, Any]:
        """One step on a batch of arrays with a common first axis."""
        samples = samples_of(arrays, "AccumulatedStep")
        if samples % self.parts or not samples:
            raise ArgumentError(
                f"a batch of {samples} samples cannot be taken in {self.parts} equal parts: choose parts that divide it"
            )
        seeds = self._masks.seeds
        try:
            return (self._eagerly if self.eager else self._recorded)(arrays, samples)
        finally:
            if self.seed_rule == PASS:
                self._masks.seeds = seeds

    def _cut(self, arrays: Sequence[np.ndarray], samples: int) -> Iterator[tuple[int, list[np.ndarray]]]:
        """The number of the first sample of each part, for its masks, and its arrays, when its seeds are set."""
        seeds = self._masks.seeds
        for number, where in enumerate(shares(samples, self.parts)):
            if self.seed_rule == PASS:
                self._masks.seeds = [seed + number for seed in seeds]
            yield 0 if self.seed_rule == PASS else where.start, [a[where] for a in arrays]

    def _eagerly(self, arrays: Sequence[np.ndarray], samples: int) -> tuple[float, Any]:
        self.optimizer.zero_grad()
        self._twin = twin = self._twin or Twin(self.model, 0)
        total = 0.0
        for first, part in self._cut(arrays, samples):
            twin.follow(first)
            loss = share_of_loss(twin.model, part, len(part[0]) / samples)
            loss.backward()
            total += loss.item()
        twin.lead()
        return total, self.optimizer.step(clip_norm=self.clip_norm)

    def _recorded(self, arrays: Sequence[np.ndarray], samples: int) -> tuple[float, Any]:
        key = variant(self.model, arrays)
        if key not in self._made or self._made[key][2].changed():
            self._made[key] = self._record(arrays, samples)
        share, gradients, update, norm, sums = self._made[key]
        total = 0.0
        for number, (first, part) in enumerate(self._cut(arrays, samples)):
            gradients.run_on(share.values(part, first), {})
            total += share.update.loss.item()
            self._add(number, share, sums)
        share.lead()
        update.run()
        return total, norm

    def _add(self, number: int, share: PartialUpdate, sums: list[Tensor]) -> None:
        """Add up the gradients of the parts so far; after the last one the sum is where the update reads it."""
        for arena, total in zip(share.update.arenas, sums, strict=True):
            if number == self.parts - 1:
                if number:
                    arena.whole.add_in_place(total)
            elif number == 0:
                copy_into(total, arena.whole)
            else:
                total.add_in_place(arena.whole)

    def _record(self, arrays: Sequence[np.ndarray], samples: int) -> tuple:
        share = PartialUpdate(self.model, [a[: samples // self.parts] for a in arrays], 0, samples)
        norm, program = descent(share.update, self.optimizer, self.clip_norm)
        gradients, update = to_routine(share.update), to_routine(program)
        sums = [empty(a.whole.shape, a.whole.dtype, a.whole.backend) for a in share.update.arenas]
        return share, gradients, update, norm, sums
