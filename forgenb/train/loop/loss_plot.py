"""The losses of a training as a picture.

Imports forgenb's figures, which need matplotlib when something is drawn, and open no window.
"""

from array import array

from forgenb.routine.figures import BLUE, GREY, check_figure_file, new_figure, write_figure
from forgenb.storage.files import StrPath
from forgenb.train.loop.callback import Observer
from forgenb.train.loop.report import StepReport

__all__ = ["LossPlot"]


class LossPlot(Observer):
    """Draw the training loss of every step and the validation losses, anew at each validation and at the end.

    A training that is resumed is drawn from its first step, where its folder has the metrics.

    Parameters
    ----------
    path : path
        Of an ``.svg``, ``.png`` or ``.pdf`` file.

    Raises
    ------
    ArgumentError
        If it is no such file, its folder is not there, or matplotlib is not installed.
    """

    def __init__(self, path: StrPath):
        self.path = check_figure_file(path)
        self.forget()

    def forget(self) -> None:
        """Nothing was seen yet."""
        self.steps, self.losses = array("q"), array("d")
        self.val_steps, self.val_losses = array("q"), array("d")

    def see(self, report: StepReport) -> None:
        """Keep the losses of a step."""
        self.steps.append(report.step)
        self.losses.append(report.train_loss)
        if report.val_loss is not None:
            self.val_steps.append(report.step)
            self.val_losses.append(report.val_loss)

    def on_validation(self, report: StepReport) -> None:
        """Draw what there is."""
        self._draw()

    def on_end(self) -> None:
        """Draw all of it."""
        if self.steps:
            self._draw()

    def _draw(self) -> None:
        figure, axes = new_figure(6, 3.6)
        axes.plot(self.steps, self.losses, color=GREY, linewidth=0.8, label="training")
        if self.val_steps:
            axes.plot(self.val_steps, self.val_losses, color=BLUE, marker="o", markersize=3, label="validation")
        axes.set_xlabel("step")
        axes.set_ylabel("loss")
        axes.legend(frameon=False)
        write_figure(figure, self.path)
