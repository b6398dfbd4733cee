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
    bar = progress.Bar()
    bar.stream = io.StringIO()
    bar.console = Console(file=bar.stream, force_terminal=True, width=150, highlight=False, markup=False)
    return bar


def test_it_shows_steps_and_what_is_compiled(bar):
    bar.on_start(SimpleNamespace(step=0, total=4))
    compiling.STATE.tell("forgenb: compiling kernel 3: gelu_kernel")
    bar.progress.refresh()
    compiling.STATE.tell("")
    bar.on_batch(StepReport(1, 3.5, 3.25, 1e-3, 2000.0, 0.5))
    bar.progress.refresh()
    bar.on_end()
    shown = bar.stream.getvalue()
    assert "a model" in shown
    assert "compiling kernel 3: gelu_kernel" in shown
    assert "loss 3.5000  validation 3.2500" in shown
    assert "2,000 tokens/s" in shown
    assert compiling.STATE.tell is compiling.on_terminal
