"""How a training is shown: a bar in a terminal, lines elsewhere, or JSON.

Imports rich and what a step reports; it decides nothing about the training.
"""

import time
from contextlib import ExitStack
from dataclasses import asdict

from forgenb.backend.progress import told
from forgenb.cli.common import say, say_json
from forgenb.train import StepReport, Trainer

__all__ = ["Bar", "JsonLines", "Lines"]

QUIET = 10.0
"""Seconds after which a line is printed in any case."""


def headline(trainer: Trainer) -> str:
    """What is trained, in one line."""
    c = trainer.config
    parameters = sum(p.size for _, p in trainer.model.named_parameters())
    text = "the help pages of Python" if c.data is None else c.data
    at = f", from step {trainer.step}" if trainer.step else ""
    return (
        f"GPT of {parameters:,} parameters ({c.layers} layers, {c.heads} heads, width {c.width}, context "
        f"{c.context}) on {text}: {trainer.corpus.characters:,} characters, {len(trainer.corpus.tokenizer)} "
        f"different; {c.steps} steps of {c.batch} windows on {c.backend}{at}"
    )


class Lines:
    """A line for the first step, each evaluation, and every few seconds."""

    def __init__(self, trainer: Trainer):
        self.trainer = trainer
        self.told = 0.0

    def __enter__(self) -> "Lines":
        say(headline(self.trainer))
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def show(self, report: StepReport) -> None:
        """Print a step, if it is due."""
        now = time.monotonic()
        if report.val_loss is None and now - self.told < QUIET:
            return
        self.told = now
        validation = "" if report.val_loss is None else f"  validation {report.val_loss:.4f}"
        say(
            f"step {report.step}/{self.trainer.config.steps}  loss {report.train_loss:.4f}{validation}  "
            f"{report.tokens_per_s:,.0f} tokens/s  {report.seconds:.1f} s"
        )


class Bar:
    """A bar with losses, tokens a second and the time left."""

    def __init__(self, trainer: Trainer):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.trainer = trainer
        self.validation, self.rate = "-", 0.0
        self.console = Console(highlight=False, markup=False)
        self.stack = ExitStack()
        self.progress = Progress(
            TextColumn("step"),
            MofNCompleteColumn(),
            BarColumn(),
            TextColumn("loss {task.fields[loss]}  validation {task.fields[validation]}"),
            TextColumn("{task.fields[rate]} tokens/s"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=self.console,
        )

    def __enter__(self) -> "Bar":
        self.console.print(headline(self.trainer))
        done, steps = self.trainer.step, self.trainer.config.steps
        self.task = self.progress.add_task(
            "train", total=steps, completed=done, loss="-", validation="-", rate="-", note=""
        )
        self.progress.start()
        self.stack.enter_context(told(lambda text: self.progress.update(self.task, note=text)))
        return self

    def __exit__(self, *error: object) -> None:
        self.stack.close()
        self.progress.stop()

    def show(self, report: StepReport) -> None:
        """Move the bar by one step."""
        self.rate = report.tokens_per_s if not self.rate else 0.95 * self.rate + 0.05 * report.tokens_per_s
        if report.val_loss is not None:
            self.validation = f"{report.val_loss:.4f}"
        self.progress.update(
            self.task,
            completed=report.step,
            loss=f"{report.train_loss:.4f}",
            validation=self.validation,
            rate=f"{self.rate:,.0f}",
        )


class JsonLines:
    """One object a step."""

    def __enter__(self) -> "JsonLines":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def show(self, report: StepReport) -> None:
        """Print the figures of one step."""
        say_json(asdict(report))
