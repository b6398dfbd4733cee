"""Runs that are stopped or killed give the bits of one that was not."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from support.training import without_clock

from forgenb.train import RunFolder, StepReport, load_checkpoint, read_metrics

OPTIONS = "--layers 1 --heads 2 --width 16 --context 8 --batch 2 --warmup 5 --dropout 0.1 --json"


def command(*arguments):
    return [sys.executable, "-m", "forgenb", "train", *map(str, arguments)]


def train(cwd, *arguments):
    done = subprocess.run(command(*arguments), cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def begin(cwd, *arguments):
    return subprocess.Popen(command(*arguments), cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def curve(rows):
    return without_clock(StepReport(**row) for row in rows)


def assert_same_run(first, second):
    for name in ("last", "best"):
        mine, theirs = (load_checkpoint(getattr(RunFolder.open(run), name)) for run in (first, second))
        assert (mine.step, mine.best_val) == (theirs.step, theirs.best_val)
        for one, other in ((mine.model, theirs.model), (mine.optimizer, theirs.optimizer)):
            assert one.keys() == other.keys()
            assert [name for name in one if one[name].tobytes() != other[name].tobytes()] == []
    curves = [curve(read_metrics(run / "metrics.jsonl")) for run in (first, second)]
    assert curves[0] == curves[1]


def test_half_a_run_twice_is_a_whole_run(tmp_path, text):
    options = [*OPTIONS.split(), "--data", text, "--steps", 20, "--eval-every", 5]
    whole = train(tmp_path, *options, "--out", "whole", "--threads", 1)
    assert [row["step"] for row in whole] == list(range(1, 21))
    assert [row["step"] for row in whole if row["val_loss"] is not None] == [5, 10, 15, 20]

    half = subprocess.run([sys.executable, "-c", HALF, text.name, "half"], cwd=tmp_path, capture_output=True, text=True)
    assert half.returncode == 0, half.stderr
    rest = train(tmp_path, "--resume", "half", "--json", "--threads", 2)
    assert curve(rest) == curve(whole[10:])
    assert_same_run(tmp_path / "whole", tmp_path / "half")
    assert np.isfinite(rest[-1]["tokens_per_s"])


HALF = """\
import sys
from pathlib import Path
from forgenb.train import CharRun, TrainConfig
sizes = {"steps": 20, "layers": 1, "heads": 2, "width": 16, "context": 8, "batch": 2, "warmup": 5}
data = str(Path(sys.argv[1]).absolute())
trainer = CharRun.start(TrainConfig(data=data, dropout=0.1, eval_every=5, **sizes), sys.argv[2])
for report in trainer.steps():
    if report.step == 10:
        break
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are a POSIX matter")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_saves_and_says_how_to_go_on(tmp_path, text, number):
    process = begin(tmp_path, *OPTIONS.split(), "--data", text, "--steps", 10**6, "--eval-every", 10**6, "--out", "run")
    lines = [process.stdout.readline() for _ in range(3)]
    process.send_signal(number)
    out, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    step = load_checkpoint(tmp_path / "run" / "last.safetensors").step
    assert step >= 3
    lines += out.splitlines()
    assert json.loads(lines[-1])["step"] == step
    assert f"Stopped after step {step} of 1000000, which is saved" in errors
    assert "forgenb train --resume run" in errors


@pytest.mark.skipif(os.name != "posix", reason="signals are a POSIX matter")
def test_killed_runs_resume(tmp_path, text):
    """Wide enough that a checkpoint, saved at every step, takes longer than the step."""
    wide = ["--width", 128, "--heads", 4, "--layers", 3, "--data", text, "--steps", 40, "--eval-every", 1]
    options = [*OPTIONS.split(), *wide]
    train(tmp_path, *options, "--out", "whole")
    chance, steps = random.Random(1), [0]
    process = begin(tmp_path, *options, "--out", "killed")
    while steps[-1] < 40 and len(steps) < 5:
        for _ in range(chance.randint(1, 4)):
            process.stdout.readline()
        time.sleep(chance.random() * 0.03)
        process.kill()
        process.communicate()
        steps.append(load_checkpoint(tmp_path / "killed" / "last.safetensors").step)
        process = begin(tmp_path, "--resume", "killed", "--json")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert steps == sorted(steps)
    assert steps[1] > 0
    assert_same_run(tmp_path / "whole", tmp_path / "killed")
    assert not [name for name in os.listdir(tmp_path / "killed") if name.endswith(".tmp")]
