"""What a training run is: every choice that decides its numbers, checked when it is made.

Imports `forgenb.errors`, `documents` and the schedule; what does not decide a number (threads, folders) is no choice
of a run.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields

from forgenb.errors import ArgumentError, CheckpointError
from forgenb.optim import warmup_cosine
from forgenb.storage.documents import shown
from forgenb.train.checks import is_number
from forgenb.train.loop.masks import PASS, PASSES, STEP, is_rule

__all__ = ["TrainConfig"]

_WHOLE = ("steps", "layers", "heads", "width", "context", "batch", "accumulate", "eval_every")
_REAL: dict[str, tuple[str, Callable[[float], bool]]] = {
    "lr": ("above 0", lambda x: x > 0),
    "min_lr": ("of at least 0", lambda x: x >= 0),
    "dropout": ("of at least 0 and below 1", lambda x: 0 <= x < 1),
    "decay": ("of at least 0", lambda x: x >= 0),
    "clip": ("above 0", lambda x: x > 0),
}
_LATER = {"start", "freeze_embeddings", "accumulate", "seed_rule"}
"""Choices that files written before there were any lack; they have their defaults there."""


@dataclass(frozen=True)
class TrainConfig:
    """The choices of one run; the defaults are nanoGPT's recipe for a CPU.

    Parameters
    ----------
    data
        A UTF-8 text, or None for the one that every CPython carries.
    steps
        Optimiser steps in all; the learning rate's schedule ends with the last.
    layers, heads, width, context, dropout
        The model, see `forgenb.models.GPTConfig`; `heads` divides `width`.
    batch
        Windows of `context` characters in a step.
    lr, min_lr, warmup
        The rate rises linearly to `lr` in `warmup` steps, then falls along a cosine to `min_lr`.
    decay, betas
        AdamW's weight decay and moments.
    clip
        The global gradient norm above which gradients are scaled down.
    seed
        Of the initial values, the batches and dropout; from 0 to 2**63 - 1.
    eval_every
        Steps between evaluations, which is also when a checkpoint is saved.
    backend
        Where it runs.
    start
        A checkpoint of another run, whose parameters are the initial values and whose characters the vocabulary; the
        sizes are those of its model. None begins with values drawn from `seed`.
    freeze_embeddings
        Leave both tables as they are: they get no gradient and do not decay. The head is one of them.
    accumulate
        Parts of equal size in which a batch passes through the model, see `AccumulatedStep`.
    seed_rule
        How masks of dropout follow from the step, ``"step"`` or ``"pass"``, see `Trainer` and `AccumulatedStep`.

    Raises
    ------
    ArgumentError
        Any of them cannot be; the message names all that cannot.
    """

    data: str | None = None
    steps: int = 2000
    layers: int = 4
    heads: int = 4
    width: int = 128
    context: int = 64
    batch: int = 12
    lr: float = 1e-3
    min_lr: float = 1e-4
    warmup: int = 100
    dropout: float = 0.0
    decay: float = 0.1
    clip: float = 1.0
    betas: tuple[float, float] = (0.9, 0.99)
    seed: int = 1337
    eval_every: int = 250
    backend: str = "cpu"
    start: str | None = None
    freeze_embeddings: bool = False
    accumulate: int = 1
    seed_rule: str = STEP

    def __post_init__(self) -> None:
        wrong = [
            *self._whole(_WHOLE, 1),
            *self._whole(("warmup", "seed"), 0),
            *self._real(),
            *self._texts(),
        ]
        if not wrong:
            wrong = [*self._betas(), *self._pairs()]
        if wrong:
            raise ArgumentError(f"This run cannot be trained: {'; '.join(wrong)}.")

    def _whole(self, names: tuple[str, ...], least: int) -> Iterator[str]:
        for name in names:
            value = getattr(self, name)
            if type(value) is not int or not least <= value < 2**63:
                yield f"{name} must be a whole number of at least {least}, got {shown(value)}"

    def _real(self) -> Iterator[str]:
        for name, (words, fits) in _REAL.items():
            value = getattr(self, name)
            if not _is_finite(value) or not fits(value):
                yield f"{name} must be a number {words}, got {shown(value)}"

    def _texts(self) -> Iterator[str]:
        for name in ("data", "start"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value):
                yield f"{name} must be the name of a file, got {shown(value)}"
        if not is_rule(self.seed_rule):
            yield f"seed_rule must be {STEP!r} or {PASS!r}, got {shown(self.seed_rule)}"
        frozen: object = self.freeze_embeddings
        if not isinstance(frozen, bool):
            yield f"freeze_embeddings must be true or false, got {shown(frozen)}"
        if not isinstance(self.backend, str) or not self.backend:
            yield f"backend must be a name, got {shown(self.backend)}"

    def _betas(self) -> Iterator[str]:
        two = isinstance(self.betas, tuple) and len(self.betas) == 2
        if not two or not all(_is_finite(beta) and 0 <= beta < 1 for beta in self.betas):
            yield f"betas must be two numbers from 0 up to but not including 1, got {shown(self.betas)}"

    def _pairs(self) -> Iterator[str]:
        if self.width % self.heads:
            yield f"heads must divide width, got {self.heads} heads and width {self.width}"
        if self.batch % self.accumulate:
            yield f"accumulate must divide batch, got {self.accumulate} parts and a batch of {self.batch}"
        if self.seed_rule == PASS and self.accumulate > PASSES:
            yield f"accumulate must be at most {PASSES} where seed_rule is {PASS!r}, got {self.accumulate}"
        if self.min_lr > self.lr:
            yield f"min_lr must not exceed lr, got {self.min_lr} and {self.lr}"

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0, see `forgenb.optim.warmup_cosine`."""
        return warmup_cosine(step, self.steps, self.warmup, self.lr, self.min_lr)

    def to_dict(self) -> dict[str, object]:
        """The choices as JSON can hold them."""
        return {**asdict(self), "betas": list(self.betas)}

    @classmethod
    def from_dict(cls, values: object, where: str) -> "TrainConfig":
        """Read what `to_dict` gave.

        Raises
        ------
        CheckpointError
            `values`, found in `where`, are not exactly the choices of a run, or cannot be trained.
        """
        names = {field.name for field in fields(cls)}
        if not isinstance(values, dict) or values.keys() | _LATER != names:
            got = type(values).__name__
            if isinstance(values, dict):
                lacking, unknown = sorted(names - _LATER - values.keys()), sorted(map(str, values.keys() - names))
                got = f"all but {lacking}, and {shown(unknown)} besides"
            raise CheckpointError(
                f"{where} does not hold the choices of a training run: it needs {sorted(names)}, got {got}."
            )
        betas = values["betas"]
        try:
            return cls(**{**values, "betas": tuple(betas) if isinstance(betas, list) else betas})
        except ArgumentError as error:
            raise CheckpointError(f"{where} is damaged. {error}") from error


def _is_finite(value: object) -> bool:
    """Whether `value` is a number that a float can be."""
    return is_number(value) and abs(value) <= sys.float_info.max  # type: ignore[arg-type]
