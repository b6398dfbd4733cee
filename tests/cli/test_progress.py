"""The training bar on a terminal, the lines elsewhere, and what stands above both."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from forgenb.backend import progress as compiling
from forgenb.cli import progress
from forgenb.train import StepReport, TrainConfig


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


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=1.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock.now)
    return clock


def test_lines_say_what_is_compiled_now_and_then(monkeypatch, capsys, clock):
    monkeypatch.setattr(progress, "headline", lambda trainer: "a model")
    lines = progress.Lines()
    lines.on_start(SimpleNamespace(step=0, total=4))
    for seconds, name in [(0.0, "add"), (4.9, "mul"), (0.1, "gelu"), (1.0, "exp"), (9.0, "log")]:
        clock.now += seconds
        compiling.STATE.tell(f"forgenb: compiling kernel 3: {name}_kernel")
        compiling.STATE.tell("")
    lines.on_batch(StepReport(1, 3.5, None, 1e-3, 2000.0, 0.5))
    lines.on_end()
    assert compiling.STATE.tell is compiling.on_terminal
    assert capsys.readouterr().out.splitlines() == [
        "a model",
        "compiling kernel 3: add_kernel",
        "compiling kernel 3: gelu_kernel",
        "compiling kernel 3: log_kernel",
        "step 1/4  loss 3.5000  2,000 tokens/s  0.5 s",
    ]


def test_json_says_nothing_of_what_is_compiled(capsys):
    rows = progress.Rows()
    rows.on_start(SimpleNamespace(step=0, total=4))
    compiling.STATE.tell("forgenb: compiling kernel 3: gelu_kernel")
    rows.on_end()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("streams", "processes", "step", "end"),
    [
        (0, 0, 0, "4 steps of 2 windows on cpu"),
        (2, 0, 0, "4 steps of 2 windows on cpu, over 2 streams"),
        (0, 3, 2, "4 steps of 2 windows on cpu, over 3 processes, from step 2"),
    ],
)
def test_the_headline_says_how_the_work_is_shared_out(streams, processes, step, end):
    run = SimpleNamespace(
        config=TrainConfig(steps=4, batch=2),
        model=SimpleNamespace(named_parameters=lambda: [("w", SimpleNamespace(size=1234))]),
        corpus=SimpleNamespace(characters=400, tokenizer="abc"),
        streams=[object()] * streams,
        world=SimpleNamespace(size=processes) if processes else None,
        step=step,
    )
    assert progress.headline(run).startswith("GPT of 1,234 parameters (4 layers")
    assert progress.headline(run).endswith("400 characters, 3 different; " + end)
