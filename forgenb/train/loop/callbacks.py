"""Callbacks that decide and write: early stopping, the best checkpoint, and metrics as JSON lines.

Imports the base and the files; what draws has files of its own (`loss_plot`, `progress_bar`).
"""

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from forgenb.errors import ArgumentError
from forgenb.storage.files import StrPath, write_arrays
from forgenb.train import checks
from forgenb.train.loop.callback import Callback, Observer
from forgenb.train.loop.report import StepReport
from forgenb.train.persistence.metrics import Metrics

if TYPE_CHECKING:
    from forgenb.train.loop.trainer import Trainer

__all__ = ["BestCheckpoint", "EarlyStopping", "JsonLines"]


class EarlyStopping(Observer):
    """Stop a training whose validation loss no longer improves.

    An evaluation improves where its loss is below the best before it by more than `min_delta`. A training that is
    resumed counts on where it was, from the metrics of its folder.

    Parameters
    ----------
    patience : int
        Evaluations without improvement, one after the other, after which it stops.
    min_delta : float
        What counts as an improvement, at least 0.

    Raises
    ------
    ArgumentError
        If either is out of range, or the trainer has nothing to validate with.

    References
    ----------
    Prechelt, "Early stopping - but when?", 1998.
    """

    def __init__(self, patience: int, min_delta: float = 0.0):
        patience = checks.whole("EarlyStopping", "patience", patience)
        if not checks.is_number(min_delta) or not 0 <= min_delta < math.inf:
            raise ArgumentError(f"EarlyStopping needs a min_delta that is a number of at least 0, got {min_delta!r}")
        self.patience, self.min_delta = patience, min_delta
        self.forget()

    def forget(self) -> None:
        """Nothing was evaluated yet."""
        self.best, self.best_step, self.waited = math.inf, 0, 0

    def on_start(self, trainer: "Trainer") -> None:
        """Count what was evaluated before."""
        _needs_validation(self, trainer)
        super().on_start(trainer)
        self._decide(trainer)

    def see(self, report: StepReport) -> None:
        """Count an evaluation."""
        if report.val_loss is None:
            return
        if report.val_loss < self.best - self.min_delta:
            self.best, self.best_step, self.waited = report.val_loss, report.step, 0
        else:
            self.waited += 1

    def on_validation(self, report: StepReport) -> None:
        """Stop, if this was one too many."""
        if self._trainer is not None:
            self._decide(self._trainer)

    def _decide(self, trainer: "Trainer") -> None:
        if self.waited >= self.patience:
            trainer.stop(
                f"the validation loss has not improved in {self.waited} evaluations since step {self.best_step}, "
                f"where it was {self.best:.4f}"
            )


class BestCheckpoint(Callback):
    """Keep the model of the lowest validation loss.

    ``model.load_state_dict(fnb.load(path))`` puts it back. In a training's own folder it is ``best.safetensors``.

    Parameters
    ----------
    path : path, optional
        The file; by default in the folder of the trainer.

    Raises
    ------
    ArgumentError
        When training begins: if there is neither a path nor a folder, nothing to validate with, or no model.
    CheckpointError
        If it cannot be written.
    """

    def __init__(self, path: StrPath | None = None):
        self.path = None if path is None else checks.place_of("BestCheckpoint", path)
        self._trainer: Trainer | None = None

    def on_start(self, trainer: "Trainer") -> None:
        """Go on from the best loss so far."""
        _needs_validation(self, trainer)
        if trainer.model is None or (self.path is None and trainer.folder is None):
            raise ArgumentError(
                "BestCheckpoint needs a model and a place for it: give the trainer model= (or a step that has one), "
                "and a path, or folder="
            )
        if trainer is not self._trainer:
            self._trainer = trainer
            self._best = math.inf if trainer.best_val is None else trainer.best_val

    def on_validation(self, report: StepReport) -> None:
        """Write the model, if it is better."""
        trainer = self._trainer
        if trainer is None or report.val_loss is None or report.val_loss >= self._best:
            return
        if self.path is not None and trainer.model is not None:
            write_arrays(self.path, trainer.model.state_dict())
        else:
            trainer.save_best()
        self._best = report.val_loss


class JsonLines(Callback):
    """Append each step's report to a file, one JSON object a line, as ``metrics.jsonl`` in a training's folder has it.

    Lines of steps that are not done yet are dropped when training begins, so one that is resumed goes on with its
    file, and a new one begins it anew.

    Parameters
    ----------
    path : path
        The file.

    Raises
    ------
    ArgumentError
        When training begins: if another process writes to it.
    CheckpointError
        If it cannot be written.
    """

    def __init__(self, path: StrPath):
        self.path = Path(checks.place_of("JsonLines", path))
        self._metrics: Metrics | None = None

    def on_start(self, trainer: "Trainer") -> None:
        """Open the file."""
        self._metrics = Metrics(self.path, trainer.step)

    def on_batch(self, report: StepReport) -> None:
        """Write a line."""
        if self._metrics is not None:
            self._metrics.append(asdict(report))

    def on_end(self) -> None:
        """Flush and close the file."""
        if self._metrics is not None:
            try:
                self._metrics.sync()
            finally:
                self._metrics.close()
                self._metrics = None


def _needs_validation(callback: Callback, trainer: "Trainer") -> None:
    if trainer.validate is None:
        raise ArgumentError(
            f"{type(callback).__name__} looks at the validation loss, and this trainer has none: give it "
            "validate=, a function that returns one"
        )
