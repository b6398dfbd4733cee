"""The bar of a training."""

import io

import pytest
from rich.console import Console

from forgenb.backend import progress as compiling
from forgenb.train import Callback, ProgressBar


@pytest.fixture
def console():
    return Console(file=io.StringIO(), force_terminal=True, width=150, highlight=False, markup=False)


class Refresh(Callback):
    """Draw the bar after each step, as its own thread would do from time to time."""

    def __init__(self, bar):
        self.bar = bar

    def on_batch(self, report):
        compiling.STATE.tell(f"compiling kernel {report.step}")
        self.bar.progress.refresh()
        compiling.STATE.tell("")
        self.bar.progress.refresh()


def test_it_shows_steps_losses_and_speed(small, console):
    bar = ProgressBar("digits", console)
    reports = small().trainer(4, callbacks=[bar, Refresh(bar)]).run()
    shown = console.file.getvalue()
    for report in reports:
        assert f"loss {report.train_loss:.4f}" in shown
        assert f"{report.step}/4" in shown
        assert f"compiling kernel {report.step}" in shown
    assert "validation - " in shown
    assert f"validation {reports[1].val_loss:.4f}" in shown
    assert f"{reports[0].tokens_per_s:,.0f} digits/s" in shown
    assert compiling.STATE.tell is compiling.on_terminal


def test_it_begins_where_the_training_is(small, console):
    bar = ProgressBar(console=console)
    trainer = small().trainer(4, callbacks=[bar])
    for report in trainer.steps():
        if report.step == 3:
            break
    console.file.truncate(0)
    trainer.run()
    shown = console.file.getvalue()
    assert "3/4" in shown
    assert "4/4" in shown
    assert "rows/s" in shown
    assert "1/4" not in shown


def test_an_error_leaves_no_bar(small, console):
    s, bar = small(), ProgressBar(console=console)
    trainer = s.trainer(4, lambda *_: 1 / 0, model=s.model, optimizer=s.optimizer, callbacks=[bar])
    with pytest.raises(ZeroDivisionError, match="division"):
        trainer.run()
    assert bar.progress.live.is_started is False
