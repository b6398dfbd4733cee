"""A bar in a terminal or a notebook: steps, losses, speed, the time left, and what is being compiled.

Imports rich when training begins, and the reports.
"""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from forgenb.backend.progress import told
from forgenb.train.loop.callback import Callback
from forgenb.train.loop.report import StepReport

if TYPE_CHECKING:
    from forgenb.train.loop.trainer import Trainer

__all__ = ["ProgressBar"]

SMOOTH = 0.95
"""Weight of the past in the speed that is shown."""


class ProgressBar(Callback):
    """Show how far a training is.

    Parameters
    ----------
    unit : str
        What targets are, as in ``1,200 rows/s``.
    console : rich.console.Console, optional
        Where it is shown; by default rich's own choice.
    """

    def __init__(self, unit: str = "rows", console: Any = None):
        self.unit, self.console = unit, console
        self._stack = ExitStack()

    def on_start(self, trainer: "Trainer") -> None:
        """Show the bar, at the step where training begins."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._validation, self._rate = "-", 0.0
        self.progress = Progress(
            TextColumn("step"),
            MofNCompleteColumn(),
            BarColumn(),
            TextColumn("loss {task.fields[loss]}  validation {task.fields[validation]}"),
            TextColumn("{task.fields[rate]} {task.fields[unit]}/s"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=self.console,
        )
        self._task = self.progress.add_task(
            "train",
            total=trainer.total,
            completed=trainer.step,
            loss="-",
            validation="-",
            rate="-",
            unit=self.unit,
            note="",
        )
        self._stack.enter_context(self.progress)
        self._stack.enter_context(told(lambda text: self.progress.update(self._task, note=text)))

    def on_batch(self, report: StepReport) -> None:
        """Move the bar by one step."""
        now = report.tokens_per_s
        self._rate = now if not self._rate else SMOOTH * self._rate + (1 - SMOOTH) * now
        if report.val_loss is not None:
            self._validation = f"{report.val_loss:.4f}"
        self.progress.update(
            self._task,
            completed=report.step,
            loss=f"{report.train_loss:.4f}",
            validation=self._validation,
            rate=f"{self._rate:,.0f}",
        )

    def on_end(self) -> None:
        """Leave the bar as it is."""
        self._stack.close()
