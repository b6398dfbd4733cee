"""The training bar on a terminal."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from forgenb.backend import progress as compiling
from forgenb.cli import progress
from forgenb.train import StepReport


@pytest.fixture
def bar(monkeypatch):
    monkeypatch.setattr(progress, "headline", lambda trainer: "a model")
    bar = progress.Bar(SimpleNamespace(step=0, config=SimpleNamespace(steps=4)))
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=150, highlight=False, markup=False)
    bar.console = bar.progress.live.console = console
    bar.stream = stream
    return bar


def test_it_shows_steps_and_what_is_compiled(bar):
    with bar:
        compiling.STATE.tell("forgenb: compiling kernel 3: gelu_kernel")
        bar.progress.refresh()
        compiling.STATE.tell("")
        bar.show(StepReport(1, 3.5, 3.25, 1e-3, 2000.0, 0.5))
        bar.progress.refresh()
    shown = bar.stream.getvalue()
    assert "a model" in shown
    assert "compiling kernel 3: gelu_kernel" in shown
    assert "loss 3.5000  validation 3.2500" in shown
    assert "2,000 tokens/s" in shown
    assert compiling.STATE.tell is compiling.on_terminal
