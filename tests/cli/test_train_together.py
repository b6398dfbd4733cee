"""``mpiexec -n N forgenb train`` and ``forgenb train --streams N``, in processes that are started for real."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from support import ranks

from forgenb.cli import main
from forgenb.train import load_checkpoint

SMALL = [
    "--layers",
    "1",
    "--heads",
    "2",
    "--width",
    "8",
    "--context",
    "8",
    "--batch",
    "4",
    "--eval-every",
    "10",
    "--json",
]


def train(count, *options, code=0):
    """The rows that ``mpiexec -n count forgenb train`` prints, and its errors."""
    command = (sys.executable, "-m", "forgenb", "train", *map(str, options))
    out, err = (job := ranks.start(count, *command)).communicate(timeout=120)
    assert job.returncode == code, err
    return [json.loads(line) for line in out.splitlines()], err


def losses(rows, key="train_loss"):
    return [row[key] for row in rows if row[key] is not None]


@pytest.fixture
def options(text):
    return ["--data", text, *SMALL]


def test_a_run_goes_on_with_another_number_of_processes(options, tmp_path):
    """20 steps each, from one checkpoint: on 1, 2 and 4 processes, losses to 1e-5; and 2 give what 1 gives before.

    The one process goes first: two at once would both compile the same kernels.
    """
    alone, _ = train(1, *options, "--steps", 10, "--dropout", 0.2, "--out", tmp_path / "b")
    first, _ = train(2, *options, "--steps", 10, "--dropout", 0.2, "--out", tmp_path / "a")
    np.testing.assert_allclose(losses(first), losses(alone), rtol=1e-5)
    kept = {file.name: file.read_bytes() for file in (tmp_path / "a").iterdir()}
    found = []
    for count in (1, 2, 4):
        folder = tmp_path / f"on{count}"
        folder.mkdir()
        for name, data in kept.items():
            (folder / name).write_bytes(data)
        rows, _ = train(count, "--resume", folder, "--steps", 30, "--json")
        assert [row["step"] for row in rows] == list(range(11, 31))
        assert load_checkpoint(folder / "last.safetensors").step == 30
        found.append((losses(rows), losses(rows, "val_loss")))
    for some, validation in found[1:]:
        np.testing.assert_allclose(some, found[0][0], rtol=1e-5)
        np.testing.assert_allclose(validation, found[0][1], rtol=1e-5)


def test_one_process_writes_and_prints(options, tmp_path):
    rows, err = train(2, *options, "--steps", 3, "--out", tmp_path / "run")
    assert [row["step"] for row in rows] == [1, 2, 3]
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == 3
    assert err.count("The run is in") == 1


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_process_ends_the_job_and_the_last_checkpoint_loads(options, tmp_path, victim):
    command = sys.executable, "-m", "forgenb", "train", *map(str, options)
    job = ranks.start(2, *command, "--steps", "1000000", "--eval-every", "20", "--out", str(tmp_path / "run"))
    try:
        for line in job.stdout:
            if json.loads(line)["step"] == 45:
                break
        pids = subprocess.run(["pgrep", "-P", _proxy(job.pid)], capture_output=True, text=True).stdout.split()
        began = time.monotonic()
        os.kill(int(pids[victim]), signal.SIGKILL)
        job.communicate(timeout=30)
    finally:
        job.kill()
    assert time.monotonic() - began < 30
    assert job.returncode != 0
    kept = load_checkpoint(tmp_path / "run" / "last.safetensors")
    assert kept.step >= 40
    assert kept.step % 20 == 0
    assert main(["train", "--resume", str(tmp_path / "run"), "--steps", str(kept.step + 2), "--json"]) == 0


def _proxy(pid):
    """The process of MPICH between mpiexec and what it starts."""
    return subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()[0]


def test_what_cannot_be_is_said_once_and_ends_all(options, tmp_path):
    _, err = train(2, *options, "--steps", 3, "--out", tmp_path / "x", "--eager", code=2)
    assert err.count("leave it out to share a batch out") == 1
    assert not (tmp_path / "x").exists()
    _, err = train(5, *options, "--steps", 3, "--out", tmp_path / "y", code=2)
    assert err.count("a batch of 4 samples cannot be shared out over 5 workers") == 1
    assert not (tmp_path / "y").exists()
    _, err = train(2, *options, "--steps", 3, "--streams", 2, "--out", tmp_path / "z", code=2)
    assert err.count("Of several processes each takes one share of a batch, got 2 streams") == 1
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("")
    _, err = train(2, *options, "--steps", 3, "--out", tmp_path / "full", code=2)
    assert err.count("is not empty") == 1


def test_one_process_that_stops_stops_all(options, tmp_path):
    """Early stopping is seen by the first process alone."""
    rows, err = train(
        2, *options, "--steps", 500, "--eval-every", 2, "--lr", 1e-9, "--patience", 2, "--out", tmp_path / "run"
    )
    assert len(rows) < 500
    assert "Stopped after step" in err


def test_streams_give_the_losses_of_one(options, tmp_path, capsys):
    found = {}
    for count in (1, 2, 3):
        out = str(tmp_path / f"on{count}")
        assert main(["train", *map(str, options), "--steps", "6", "--out", out, "--streams", str(count)]) == 0
        found[count] = losses([json.loads(line) for line in capsys.readouterr().out.splitlines()])
    np.testing.assert_allclose(found[2], found[1], rtol=1e-5)
    np.testing.assert_allclose(found[3], found[1], rtol=1e-5)
    for wrong in ("0", "5", "-1"):
        assert main(["train", *map(str, options), "--out", str(tmp_path / "no"), "--streams", wrong]) == 2
        assert f"over 1 to 4 streams, got streams={wrong}" in capsys.readouterr().err
    assert main(["train", *map(str, options), "--out", str(tmp_path / "no"), "--streams", "2", "--eager"]) == 2
    assert "leave it out to share a batch out" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize(
    ("of_first", "of_second", "message"),
    [
        (["--steps", 4], ["--steps", 5], "different values of the text and the options"),
        ([], None, "different values of whether --resume goes on with a run"),
        ([], ["--bogus"], "unrecognized arguments: --bogus"),
        (["--bogus"], [], "unrecognized arguments: --bogus"),
    ],
)
def test_processes_that_were_started_differently_end(options, tmp_path, of_first, of_second, message):
    """None of them may wait for another that has left, or is about to do something else."""
    run = tmp_path / "run"
    assert main(["train", *map(str, options), "--steps", "2", "--out", str(run)]) == 0
    fresh = [*options, "--steps", 3, "--out", tmp_path / "other"]
    begin, go_on = [sys.executable, "-m", "forgenb", "train"], ["--resume", run]
    second = fresh if of_second is None else [*go_on, *of_second]
    command = [*begin, *go_on, *of_first, ":", "-n", 1, *begin, *second]
    _, err = (job := ranks.start(1, *map(str, command))).communicate(timeout=60)
    assert job.returncode == 2, err
    assert message in err
    assert not (tmp_path / "other").exists()
