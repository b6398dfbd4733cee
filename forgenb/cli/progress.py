"""How a training is shown: a bar in a terminal, lines elsewhere, or JSON.

Imports rich, the bar of `forgenb.train`, what a step reports and what is compiled; it decides nothing about the
training.
"""

import time
from contextlib import ExitStack
from dataclasses import asdict
from typing import cast

from forgenb.backend.progress import told
from forgenb.cli.common import say, say_json
from forgenb.train import Callback, CharRun, ProgressBar, StepReport, Trainer

__all__ = ["Bar", "Lines", "Rows"]

QUIET = 10.0
"""Seconds after which a line is printed in any case."""
PAUSE = 5.0
"""Seconds between two lines about what is compiled."""


def headline(run: CharRun) -> str:
    """What is trained, in one line."""
    c = run.config
    parameters = sum(p.size for _, p in run.model.named_parameters())
    text = "the help pages of Python" if c.data is None else c.data
    at = f", from step {run.step}" if run.step else ""
    over = f", over {len(run.streams)} streams" if run.streams else ""
    if run.world is not None:
        over = f", over {run.world.size} processes"
    return (
        f"GPT of {parameters:,} parameters ({c.layers} layers, {c.heads} heads, width {c.width}, context "
        f"{c.context}) on {text}: {run.corpus.characters:,} characters, {len(run.corpus.tokenizer)} "
        f"different; {c.steps} steps of {c.batch} windows on {c.backend}{over}{at}"
    )


class Lines(Callback):
    """A line for the first step, each evaluation, and every few seconds; others say what is being compiled."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def on_start(self, trainer: Trainer) -> None:
        """Say what is trained."""
        self.total, self.told, self.noted = trainer.total, float("-inf"), float("-inf")
        say(headline(cast(CharRun, trainer)))
        self._stack.enter_context(told(self._compiling))

    def on_batch(self, report: StepReport) -> None:
        """Print a step, if it is due."""
        now = time.monotonic()
        if report.val_loss is None and now - self.told < QUIET:
            return
        self.told = now
        validation = "" if report.val_loss is None else f"  validation {report.val_loss:.4f}"
        say(
            f"step {report.step}/{self.total}  loss {report.train_loss:.4f}{validation}  "
            f"{report.tokens_per_s:,.0f} tokens/s  {report.seconds:.1f} s"
        )

    def on_end(self) -> None:
        """Say no more of what is compiled."""
        self._stack.close()

    def _compiling(self, text: str) -> None:
        """Print a text about a kernel, if the last one was some time ago; an empty one says that it is ready."""
        now = time.monotonic()
        if text and now - self.noted >= PAUSE:
            self.noted = now
            say(text.removeprefix("forgenb: "))


class Bar(ProgressBar):
    """A bar with losses, tokens a second and the time left, below what is trained."""

    def __init__(self):
        from rich.console import Console

        super().__init__("tokens", Console(highlight=False, markup=False))

    def on_start(self, trainer: Trainer) -> None:
        """Say what is trained, and show the bar."""
        self.console.print(headline(cast(CharRun, trainer)))
        super().on_start(trainer)


class Rows(Callback):
    """One JSON object a step."""

    def on_batch(self, report: StepReport) -> None:
        """Print the figures of one step."""
        say_json(asdict(report))
