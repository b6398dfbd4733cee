"""The folder of a training: its curve and its checkpoints, and going on from them.

Imports `places`, `files`, `metrics` and the state of models and optimisers; how a step is done is not known here.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from forgenb.errors import ArgumentError, CheckpointError
from forgenb.storage.files import MOST_HEADER, check_own, remove_temporaries, write_arrays
from forgenb.storage.finite import check_finite, finite
from forgenb.storage.metadata import read_metadata
from forgenb.storage.opening import StrPath
from forgenb.storage.tensor_file import opened_tensors
from forgenb.train import checks
from forgenb.train.loop.report import StepReport
from forgenb.train.persistence.fitting import check_layouts
from forgenb.train.persistence.metrics import Metrics, read_metrics
from forgenb.train.persistence.places import Places, make_folder
from forgenb.train.persistence.progress import PROGRESS
from forgenb.train.persistence.state import put_back, state_arrays, stored_layouts

if TYPE_CHECKING:
    from forgenb.train.loop.trainer import Trainer

__all__ = ["TrainingFolder"]

FORMAT = 1
KEY = "forgenb.trainer"


class TrainingFolder(Places):
    """Where a `Trainer` keeps ``metrics.jsonl``, ``last.safetensors`` and, with `BestCheckpoint`, ``best.safetensors``.

    Parameters
    ----------
    path : path
        The folder; it is made where there is none.
    resume : bool
        Go on from the checkpoint in it, if there is one. Otherwise the folder must be empty or missing.
    write : bool
        Whether this process writes. Among several that train together one does; the others only read what they
        resume from.

    Raises
    ------
    ArgumentError
        If `path` is no path. When a trainer takes it: if there is something in it and `resume` is not asked for,
        it cannot be made, its training has done more steps than the trainer is for, or another process trains it.
    CheckpointError
        When a trainer takes it: if its checkpoint is damaged or does not fit, or it cannot be written.
    """

    more = "steps="
    """How more steps are asked for."""

    def __init__(self, path: StrPath, *, resume: bool = False, write: bool = True):
        checks.place_of("a training's folder", path)
        for name, flag in (("resume", resume), ("write", write)):
            if not isinstance(flag, bool):
                raise ArgumentError(f"a training's folder needs {name} to be True or False, got {flag!r}")
        self.path, self.resume, self.write = Path(path), resume, write
        self._open: Metrics | None = None

    def begin(self, trainer: "Trainer") -> None:
        """Bring a trainer to where the training in this folder is, and keep others from writing here."""
        check_own((self.last, self.best, self.metrics))
        if self.resume and self.last.exists():
            self._restore(trainer)
        if trainer.step > trainer.total:
            raise ArgumentError(
                f"The run in {str(self.path)!r} has done {trainer.step} steps already, so it cannot end after "
                f"{trainer.total}; give {self.more} more."
            )
        if not self.write:
            return
        self._make()
        self.open(trainer.step)
        try:
            self._prepare()
            if not self.last.exists():
                self.save(trainer)
        except BaseException:
            self.close()
            raise

    def open(self, step: int) -> None:
        """Let no other process write here; lines of the curve after `step` are dropped."""
        if self.write and self._open is None:
            self._open = Metrics(self.metrics, step)

    def append(self, row: dict) -> None:
        """Write a line of the curve."""
        if self._open is not None:
            self._open.append(row)

    def save(self, trainer: "Trainer") -> None:
        """Write ``last.safetensors``, after all metrics before it are on the disk."""
        if not self.write:
            return
        kept = self._open is not None
        self.open(trainer.step)
        try:
            if self._open is not None:
                self._open.sync()
            self._save_last(trainer)
        finally:
            if not kept:
                self.close()

    def save_best(self, trainer: "Trainer") -> None:
        """Write ``best.safetensors``, the model alone."""
        if self.write:
            self._save_best(trainer)

    def history(self, step: int) -> list[StepReport]:
        """The reports of the first steps, up to this one.

        Raises
        ------
        CheckpointError
            A line of ``metrics.jsonl`` is no report.
        """
        if not self.metrics.exists():
            return []
        try:
            reports = [StepReport(**row) for row in read_metrics(self.metrics)]
        except TypeError as error:
            raise CheckpointError(
                f"{str(self.metrics)!r} is damaged: a line of it is no report of a step ({error}). Move it away to go "
                "on without the steps before."
            ) from error
        return [report for report in reports if report.step <= step]

    def close(self) -> None:
        """Let another process go on with the training."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _make(self) -> None:
        _, held = make_folder(self.path)
        if held and not self.resume:
            raise ArgumentError(
                f"The folder {str(self.path)!r} is not empty (it holds {held[0]!r}), and nothing is overwritten: "
                "choose another, or go on with its training by folder=TrainingFolder(path, resume=True)."
            )

    def _prepare(self) -> None:
        """What has to be done once nobody else may write."""
        remove_temporaries(self.path)

    def _save_last(self, trainer: "Trainer") -> None:
        about = {"format": FORMAT, "step": trainer.step, "best_val": trainer.best_val, "seconds": trainer.seconds}
        arrays = state_arrays(trainer.model.state_dict(), trainer.optimizer.state_dict())
        check_finite(str(self.last), arrays)
        write_arrays(self.last, arrays, {KEY: json.dumps(about)})

    def _save_best(self, trainer: "Trainer") -> None:
        write_arrays(self.best, trainer.model.state_dict())

    def _restore(self, trainer: "Trainer") -> None:
        with opened_tensors(self.last, MOST_HEADER) as file:
            if KEY not in file.metadata:
                raise CheckpointError(
                    f"{file.place!r} is no checkpoint of a Trainer: it lacks the metadata {KEY!r}. Give the folder of "
                    "another training."
                )
            about = read_metadata(file.place, file.metadata[KEY], FORMAT, PROGRESS)
            needed = stored_layouts(trainer.model, trainer.optimizer, file.layouts)
            check_layouts(file.place, needed, file.layouts, "this model")
            arrays = {name: finite(file, name) for name in file.layouts}
        put_back(self.last, arrays, trainer.model, trainer.optimizer)
        trainer.step, trainer.best_val, trainer.seconds = (about[name] for name in PROGRESS)
