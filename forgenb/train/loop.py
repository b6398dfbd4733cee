"""The training loop: one optimiser step after another, with evaluations and checkpoints between them.

Imports the other modules of this package; it prints nothing, and no number of a run may depend on the clock.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from forgenb import random
from forgenb.backend import use
from forgenb.data import batch
from forgenb.errors import ArgumentError, CheckpointError, ForgeError
from forgenb.models import GPT
from forgenb.optim import Optimizer
from forgenb.routine import compile
from forgenb.train.build import build_model, build_optimizer
from forgenb.train.checkpoint import Checkpoint, save_checkpoint
from forgenb.train.config import TrainConfig
from forgenb.train.corpus import Corpus, prepare
from forgenb.train.evaluate import evaluate
from forgenb.train.files import StrPath
from forgenb.train.metrics import Metrics
from forgenb.train.reopening import reopen
from forgenb.train.run_folder import RunFolder

__all__ = ["DivergedError", "StepReport", "Trainer"]


class DivergedError(ForgeError, ArithmeticError):
    """A loss or a gradient norm that is no finite number; training cannot go on from it."""


@dataclass(frozen=True)
class StepReport:
    """What one step gave; the fields are those of a line of ``metrics.jsonl``.

    Parameters
    ----------
    step
        Steps done, this one included.
    train_loss
        The batch's mean cross entropy in nats, before its update.
    val_loss
        See `evaluate`; None between evaluations.
    lr
        The rate of this step.
    tokens_per_s
        Characters of the batch over the time of the step, evaluation not included.
    seconds
        Time since training began, over all resumptions.
    """

    step: int
    train_loss: float
    val_loss: float | None
    lr: float
    tokens_per_s: float
    seconds: float


class Trainer:
    """A run in progress. Make one with `start` or `resume`, then iterate over `steps`.

    Parameters
    ----------
    folder
        Where it is kept.
    corpus
        What it learns.
    model, optimizer
        A module with ``loss(ids, targets)``, and an optimiser of its parameters.

    Attributes
    ----------
    eager : bool
        Run a step op by op instead of as one routine; the bits are the same.

    Notes
    -----
    A step's batch, learning rate and dropout depend on the seed and the step alone, so a run that is
    interrupted and resumed gives the bits of one that was not.
    """

    def __init__(self, folder: RunFolder, corpus: Corpus, model: GPT, optimizer: Optimizer):
        self.folder, self.corpus, self.model, self.optimizer = folder, corpus, model, optimizer
        self.config = folder.config
        self.eager = False
        self.step = 0
        self.best_val: float | None = None
        self.seconds = 0.0
        self._metrics: Metrics | None = None
        self._train = compile(self._step, "train")

    @classmethod
    def start(cls, config: TrainConfig, out: StrPath) -> "Trainer":
        """Begin a run in a new folder.

        Raises
        ------
        ArgumentError
            The text, the sizes or the folder cannot be used.
        CheckpointError
            The folder cannot be written. Either way, nothing is left behind.
        """
        corpus = prepare(config)
        with use(config.backend):
            model = build_model(config, len(corpus.tokenizer))
            optimizer = build_optimizer(config, model)
        folder = RunFolder.create(out, config, corpus.sha256, corpus.characters)
        trainer = cls(folder, corpus, model, optimizer)
        try:
            folder.write_vocabulary(corpus.tokenizer)
            trainer._metrics = Metrics(folder.metrics)
            trainer.save()
        except BaseException:
            trainer.close()
            folder.discard()
            raise
        return trainer

    @classmethod
    def resume(cls, path: StrPath, steps: int | None = None) -> "Trainer":
        """Go on with the run in a folder, from its last checkpoint.

        Parameters
        ----------
        path
            The folder.
        steps
            Another number of steps in all; the schedule then ends there.

        Raises
        ------
        CheckpointError
            The folder holds no run, or its checkpoint is damaged.
        ArgumentError
            The text has changed, the run is at a later step than `steps`, or another process trains it.
        """
        folder, checkpoint = reopen(path)
        corpus = prepare(folder.config)
        if corpus.sha256 != folder.text_sha256:
            raise ArgumentError(_changed_text(folder, corpus))
        with use(folder.config.backend):
            model = build_model(folder.config, len(corpus.tokenizer))
            optimizer = build_optimizer(folder.config, model)
        trainer = cls(folder, corpus, model, optimizer)
        if checkpoint is not None:
            trainer._restore(checkpoint)
        if steps is not None and steps < trainer.step:
            raise ArgumentError(
                f"The run in {str(folder.path)!r} has done {trainer.step} steps already, so it cannot end "
                f"after {steps}; give --steps more."
            )
        trainer._metrics = Metrics(folder.metrics, trainer.step)
        try:
            folder.clean()
            folder.write_vocabulary(corpus.tokenizer)
            if steps is not None and steps != folder.config.steps:
                trainer.folder = folder.with_steps(steps)
                trainer.config = trainer.folder.config
        except BaseException:
            trainer.close()
            raise
        return trainer

    def steps(self) -> Iterator[StepReport]:
        """Train until all steps are done; between two of them, `save` keeps what has been done.

        What interrupts a step leaves the model between two states and the last checkpoint as it was:
        `resume` goes on from there.

        Raises
        ------
        DivergedError
            The loss or the gradient norm is no finite number. The last checkpoint is as it was.
        CheckpointError
            Metrics or a checkpoint cannot be written.
        """
        before, began = self.seconds, time.perf_counter()
        while self.step < self.config.steps:
            with use(self.config.backend):
                lr, loss, elapsed = self._update()
                self.step += 1
                due = self.step % self.config.eval_every == 0 or self.step == self.config.steps
                val_loss = self._evaluate() if due else None
            self.seconds = before + time.perf_counter() - began
            rate = self.config.batch * self.config.context / elapsed
            report = StepReport(self.step, loss, val_loss, lr, rate, self.seconds)
            self._note(report)
            yield report

    def save(self) -> None:
        """Write ``last.safetensors``, after all metrics before it are on the disk."""
        if self._metrics is not None:
            self._metrics.sync()
        save_checkpoint(self.folder.last, self._checkpoint(self.optimizer.state_dict()))

    def close(self) -> None:
        """Let go of the folder, so that another process can resume the run."""
        if self._metrics is not None:
            self._metrics.close()

    def _update(self) -> tuple[float, float, float]:
        """One step of the optimiser; returns its rate, its loss and its time."""
        c, began = self.config, time.perf_counter()
        lr = c.rate(self.step)
        inputs, targets = batch(self.corpus.train, c.context, c.batch, c.seed, self.step)
        self.model.train()
        self.model.dropout_seed = _dropout_seed(c, self.step)
        self.optimizer.lr = lr
        loss, norm = (self._step if self.eager else self._train)(inputs, targets)
        value = self._finite("loss", _number(loss), self.step + 1)
        self._finite("gradient norm", _number(norm), self.step + 1)
        return lr, value, time.perf_counter() - began

    def _step(self, inputs, targets) -> tuple:
        """Loss and gradient norm of one step; where the norm is not finite, nothing has changed."""
        self.optimizer.zero_grad()
        loss = self.model.loss(inputs, targets)
        loss.backward()
        return loss, self.optimizer.step(clip_norm=self.config.clip)

    def _evaluate(self) -> float:
        loss = evaluate(self.model, self.corpus.inputs, self.corpus.targets)
        return self._finite("validation loss", loss, self.step)

    def _finite(self, what: str, value: float, step: int) -> float:
        if not math.isfinite(value):
            raise DivergedError(
                f"The {what} became {value} at step {step} of {self.config.steps}, so "
                f"training stopped. {str(self.folder.last)!r} holds the last good "
                "checkpoint; try a smaller --lr, a smaller --clip or a longer --warmup."
            )
        return float(value)

    def _note(self, report: StepReport) -> None:
        if self._metrics is not None:
            self._metrics.append(asdict(report))
        if report.val_loss is None:
            return
        if self.best_val is None or report.val_loss < self.best_val:
            self.best_val = report.val_loss
            save_checkpoint(self.folder.best, self._checkpoint({}))
        self.save()

    def _checkpoint(self, optimizer_state: dict[str, np.ndarray]) -> Checkpoint:
        return Checkpoint(
            self.config,
            self.corpus.tokenizer,
            self.corpus.sha256,
            self.step,
            self.best_val,
            self.seconds,
            self.model.state_dict(),
            optimizer_state,
        )

    def _restore(self, checkpoint: Checkpoint) -> None:
        if checkpoint.text_sha256 != self.folder.text_sha256:
            raise CheckpointError(
                f"{str(self.folder.last)!r} belongs to another run: it learned another text than the one "
                "that config.json names."
            )
        checkpoint.restore(self.folder.last, self.model, self.optimizer)
        self.step, self.best_val, self.seconds = checkpoint.step, checkpoint.best_val, checkpoint.seconds


def _number(value) -> float:
    return value.item() if hasattr(value, "item") else value


def _dropout_seed(config: TrainConfig, step: int) -> int:
    """The 32-bit seed of a step's masks, which depends on the seed and the step alone."""
    return int(random.integers(random.generator(config.seed, "dropout", step), 2**32, 1)[0])


def _changed_text(folder: RunFolder, corpus: Corpus) -> str:
    name = "that this Python carries" if folder.config.data is None else repr(folder.config.data)
    return (
        f"The text {name} has changed since the run in {str(folder.path)!r} began: it has "
        f"{corpus.characters} characters and hash {corpus.sha256[:12]}, and had {folder.characters} and "
        f"{folder.text_sha256[:12]}. Resume with the same text, or train anew."
    )
