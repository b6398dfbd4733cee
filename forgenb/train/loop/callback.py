"""What may look on while a model is trained, and stop it.

Imports reports. A callback is told what happened; it changes no number of the training.
"""

from typing import TYPE_CHECKING

from forgenb.train.loop.report import StepReport

if TYPE_CHECKING:
    from forgenb.train.loop.trainer import Trainer

__all__ = ["Callback", "Observer"]


class Callback:
    """Base of what a `Trainer` calls, each method in the order of ``trainer.callbacks``; here they do nothing.

    A step's report is complete when it is given: `on_batch` comes first, then `on_validation` and `on_epoch` where
    they are due. All of them are called before the checkpoint of that step is written. What one raises ends the
    training, with the last checkpoint as it was. ``trainer.stop(reason)`` ends it after the step, which is saved.
    """

    def on_start(self, trainer: "Trainer") -> None:
        """Training begins or goes on, from ``trainer.step``."""

    def on_batch(self, report: StepReport) -> None:
        """A step is done."""

    def on_validation(self, report: StepReport) -> None:
        """A step is done, and the model was evaluated after it."""

    def on_epoch(self, report: StepReport) -> None:
        """The step ends an epoch, where the trainer knows how many steps make one."""

    def on_end(self) -> None:
        """Training ends for now: done, stopped, abandoned or by an error; called for each that was started."""


class Observer(Callback):
    """A callback that sees the report of every step once, those before a resumption too; it writes `see`."""

    _trainer: "Trainer | None" = None

    def on_start(self, trainer: "Trainer") -> None:
        """See what was done before, unless it was seen."""
        if trainer is not self._trainer:
            self.forget()
            self._trainer = trainer
            for report in trainer.history():
                self.see(report)

    def on_batch(self, report: StepReport) -> None:
        """See a step."""
        self.see(report)

    def forget(self) -> None:
        """Another training begins."""
        raise NotImplementedError(f"{type(self).__name__} defines no forget")

    def see(self, report: StepReport) -> None:
        """Take in one step."""
        raise NotImplementedError(f"{type(self).__name__} defines no see")
