"""``forgenb train``."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from forgenb.backend import get_backend
from forgenb.nn import Module
from forgenb.train import CharRun, RunFolder, load_checkpoint, read_metrics
from forgenb.train.characters.char_folder import CharFolder

KEYS = ["step", "train_loss", "val_loss", "lr", "tokens_per_s", "seconds"]


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def test_lines_a_sample_and_the_folder(forgenb, tiny):
    done = forgenb(*tiny)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].startswith("GPT of ")
    assert "400 characters, 12 different; 4 steps of 2 windows on cpu" in lines[0]
    assert [line.split()[1] for line in lines if line.startswith("step ")] == ["1/4", "2/4", "4/4"]
    assert "validation " in done.out
    assert "A sample of what it writes:\n" in done.out
    assert lines[-1] == f"The run is in {os.path.join('runs', '1')}"
    assert forgenb(*tiny).out.splitlines()[-1] == f"The run is in {os.path.join('runs', '2')}"


def test_json_lines(forgenb, tiny, tmp_path):
    done = forgenb(*tiny, "--json", "--out", "a", "--eager")
    assert done.code == 0
    found = rows(done.out)
    assert [list(row) for row in found] == [KEYS] * 4
    assert [row["step"] for row in found] == [1, 2, 3, 4]
    assert [row["val_loss"] is None for row in found] == [True, False, True, False]
    assert found == read_metrics(tmp_path / "a" / "metrics.jsonl")
    assert "The run is in a" in done.err


def test_options_reach_the_run(forgenb, tiny, tmp_path):
    numbers = "--lr 0.01 --warmup 3 --dropout 0.25 --decay 0.2 --clip 0.5 --seed 7 --backend cpu"
    assert forgenb(*tiny, *numbers.split(), "--out", "a").code == 0
    c = RunFolder.open("a").config
    assert (c.lr, c.min_lr, c.warmup, c.dropout, c.decay, c.clip, c.seed) == (
        0.01,
        0.001,
        3,
        0.25,
        0.2,
        0.5,
        7,
    )
    assert (c.steps, c.layers, c.heads, c.width, c.context, c.batch, c.eval_every) == (4, 1, 2, 16, 8, 2, 2)
    assert c.data == str(tmp_path / "text.txt")


def test_options_of_fine_tuning_reach_the_run(forgenb, tiny, tmp_path):
    assert forgenb(*tiny, "--out", "a").code == 0
    new = "train --data text.txt --steps 2 --eval-every 1 --batch 4 --accumulate 2 --seed-rule pass --dropout 0.1"
    assert forgenb(*new.split(), "--from", "a", "--freeze-embeddings", "--out", "b").code == 0
    c = RunFolder.open("b").config
    assert (c.start, c.freeze_embeddings) == (str(tmp_path / "a" / "best.safetensors"), True)
    assert (c.accumulate, c.seed_rule, c.layers, c.width) == (2, "pass", 1, 16)
    first, last = (load_checkpoint(RunFolder.open(name).best).model["wte.weight"] for name in "ab")
    assert first.tobytes() == last.tobytes()
    for steps, same in ((3, "a"), (4, tmp_path / "a" / "best.safetensors")):
        assert forgenb("train", "--resume", "b", "--steps", steps, "--from", same, "--freeze-embeddings").code == 0
    assert load_checkpoint(RunFolder.open("b").last).step == 4


def test_what_contradicts_the_run_that_is_fine_tuned_is_refused(forgenb, refused, tiny):
    forgenb(*tiny, "--out", "a")
    assert "contradict width 8 (it has 16)" in refused("train", "--from", "a", "--width", 8)
    assert "--from " in refused("train", "--resume", "a", "--from", "a")
    assert "--freeze-embeddings True (the run has False)" in refused("train", "--resume", "a", "--freeze-embeddings")
    assert "'none.safetensors'" in refused("train", "--from", "none.safetensors")


def test_blocks_that_are_computed_again_give_the_same_curve(forgenb, tiny, monkeypatch):
    flags, losses = [], []
    steps = CharRun.steps

    def watched(self):
        flags.append(self.model.recompute_blocks)
        return steps(self)

    monkeypatch.setattr(CharRun, "steps", watched)
    for more in ([], ["--recompute"]):
        losses.append([row["train_loss"] for row in rows(forgenb(*tiny, "--dropout", 0.1, "--json", *more).out)])
    assert flags == [False, True]
    assert losses[0] == losses[1]


def test_the_default_text(forgenb, tiny):
    assert forgenb(*tiny[:-2], "--steps", 1, "--eval-every", 1, "--context", 256).code == 0
    assert RunFolder.open("runs/1").config.data is None


def test_threads(forgenb, tiny, refused):
    backend = get_backend("cpu")
    before = backend.threads
    try:
        assert forgenb(*tiny, "--threads", 1).code == 0
        assert backend.threads == 1
        assert "threads must be a whole number from 1 to 1024, got 0" in refused(*tiny, "--threads", 0)
    finally:
        backend.threads = before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--steps 0", "steps must be a whole number of at least 1, got 0"),
        ("--lr -1", "lr must be a number above 0, got -1.0"),
        ("--lr nan", "lr must be a number above 0, got nan"),
        ("--heads 3", "heads must divide width, got 3 heads and width 16"),
        ("--clip 0", "clip must be a number above 0, got 0.0"),
        ("--dropout 1", "dropout must be a number of at least 0 and below 1"),
        ("--min-lr 2", "min_lr must not exceed lr"),
        ("--seed -1", "seed must be a whole number of at least 0"),
        ("--context 40", "is shorter than a window: of its 400 characters 360"),
        ("--data none.txt", "none.txt' cannot be read: No such file"),
        ("--data empty.txt", "empty.txt' is empty"),
        ("--data latin.txt", "latin.txt' is not UTF-8: byte 0xe9 at offset 3"),
        ("--data=", "data must be the name of a file, got ''"),
        ("--backend cup", "there is no backend 'cup'"),
        ("--out text.txt/a", "cannot be made: Not a directory"),
        ("--out full", "The run folder 'full' is not empty"),
        ("--resume none", "'none' holds no run"),
        ("--resume full", "'full' holds no run: there is no config.json"),
    ],
)
def test_refusals_leave_nothing(refused, tiny, tmp_path, options, message):
    (tmp_path / "empty.txt").touch()
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9" * 99)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    names = sorted(path.name for path in tmp_path.rglob("*"))
    command = ["train"] if "--resume" in options else tiny
    assert message in refused(*command, *options.split())
    assert sorted(path.name for path in tmp_path.rglob("*")) == names


def test_resume_of_a_finished_run_and_more_steps(forgenb, tiny):
    forgenb(*tiny, "--out", "a")
    done = forgenb("train", "--resume", "a", "--json")
    assert (done.code, done.out) == (0, "")
    done = forgenb("train", "--resume", "a", "--steps", 6, "--json", "--out", "a")
    assert [row["step"] for row in rows(done.out)] == [5, 6]
    assert [row["step"] for row in read_metrics(RunFolder.open("a").metrics)] == [1, 2, 3, 4, 5, 6]


def test_patience_stops_a_run_that_no_longer_improves(forgenb, tiny):
    still = ["--lr", 1e-30, "--eval-every", 1, "--steps", 9, "--patience", 2, "--out", "a"]
    done = forgenb(*tiny, *still)
    assert done.code == 0
    lines = done.out.splitlines()
    assert "Stopped after step 3 of 9: the validation loss has not improved in 2 evaluations since step 1" in done.out
    assert (lines[-1], "A sample of what it writes:" in lines) == ("The run is in a", True)
    assert load_checkpoint(RunFolder.open("a").last).step == 3

    again = forgenb("train", "--resume", "a", "--patience", 2, "--json")
    assert (again.code, again.out) == (0, "")
    assert "Stopped after step 3 of 9: the validation loss has not improved" in again.err
    assert [row["step"] for row in rows(forgenb("train", "--resume", "a", "--patience", 4, "--json").out)] == [4, 5]
    assert [row["step"] for row in rows(forgenb("train", "--resume", "a", "--json").out)] == [6, 7, 8, 9]


def test_patience_must_be_a_number_of_evaluations(refused, tiny, tmp_path):
    assert "EarlyStopping got patience=0: it must be a whole number of at least 1" in refused(*tiny, "--patience", 0)
    assert "argument --patience: invalid int value: 'x'" in refused(*tiny, "--patience", "x")
    assert not (tmp_path / "runs").exists()


def test_a_plot_of_the_losses(forgenb, tiny, tmp_path):
    pytest.importorskip("matplotlib", reason="pictures are drawn by matplotlib")
    assert forgenb(*tiny, "--plot", "losses.svg", "--json").code == 0
    assert ">validation<" in (tmp_path / "losses.svg").read_text()


def test_a_plot_that_cannot_be_drawn_begins_no_run(refused, tiny, tmp_path, monkeypatch):
    assert "a picture is written as .svg, .png, .pdf, got 'losses.gif'" in refused(*tiny, "--plot", "losses.gif")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "a picture needs matplotlib" in refused(*tiny, "--plot", "losses.svg")
    assert not (tmp_path / "runs").exists()


def test_resume_refuses_what_contradicts_the_run(forgenb, tiny, refused):
    forgenb(*tiny, "--out", "a")
    message = refused("train", "--resume", "a", "--lr", 0.5, "--eval-every", 9, "--out", "b")
    assert "--lr 0.5 (the run has 0.001), --eval-every 9 (the run has 2), --out b (the run goes on" in message
    assert "has done 4 steps already" in refused("train", "--resume", "a", "--steps", 3)
    assert "steps must be a whole number" in refused("train", "--resume", "a", "--steps", 0)
    same = forgenb("train", "--resume", "a", *tiny[1:], "--lr", 0.001)
    assert same.code == 0


def test_resume_names_a_damaged_checkpoint(forgenb, tiny, refused):
    forgenb(*tiny, "--out", "a")
    last = RunFolder.open("a").last
    whole = last.read_bytes()
    last.write_bytes(whole[:-10])
    assert "last.safetensors' is not a complete safetensors file" in refused("train", "--resume", "a")
    last.write_text("a foreign file, longer than a header")
    assert "made by something else" in refused("train", "--resume", "a")


def test_resume_needs_the_same_text(forgenb, tiny, text, refused):
    forgenb(*tiny, "--out", "a")
    text.write_text("another text\n" * 40)
    assert "has changed since the run in 'a' began" in refused("train", "--resume", "a")


def test_a_loss_that_is_no_number_is_exit_code_1(forgenb, tiny, monkeypatch):
    forgenb(*tiny, "--out", "a")
    real = CharFolder._restore

    def poisoned(self, trainer):
        real(self, trainer)
        state = trainer.model.state_dict()
        Module.load_state_dict(trainer.model, {name: array * np.nan for name, array in state.items()})

    monkeypatch.setattr(CharFolder, "_restore", poisoned)
    done = forgenb("train", "--resume", "a", "--steps", 8, "--json")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("forgenb train: The loss became nan at step 5 of 8, so training stopped.")
    assert done.err.count("\n") == 1
    last = load_checkpoint(RunFolder.open("a").last)
    assert last.step == 4
    assert all(np.isfinite(array).all() for array in last.model.values())


def test_a_huge_rate_diverges_or_not_but_never_saves_nonsense(forgenb, tiny):
    done = forgenb(*tiny, "--lr", 1e30, "--warmup", 0, "--steps", 20, "--json", "--out", "a")
    assert done.code in (0, 1)
    assert all(np.isfinite(array).all() for array in load_checkpoint(RunFolder.open("a").last).model.values())


def test_a_file_too_large_keeps_the_last_checkpoint(tmp_path, tiny):
    pytest.importorskip("resource", reason="file size limits are a POSIX matter")
    code = (
        "import resource, sys\nfrom forgenb.cli import main\n"
        "assert main(sys.argv[2:]) == 0\n"
        "hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), hard))\n"
        "sys.exit(main(['train', '--resume', 'a', '--steps', '8', '--json']))\n"
    )
    command = [sys.executable, "-c", code, "20000", *map(str, tiny), "--json", "--out", "a"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "safetensors' cannot be written: File too large. What was there before is unchanged" in done.stderr
    assert load_checkpoint(tmp_path / "a" / "last.safetensors").step == 4
    assert not list((tmp_path / "a").glob(".*"))


@pytest.mark.skipif(os.name != "posix", reason="a terminal is made with pty")
def test_a_bar_in_a_terminal(tmp_path, tiny):
    import pty

    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    command = [sys.executable, "-m", "forgenb", *map(str, tiny)]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait() == 0
    text = shown.decode()
    assert "GPT of" in text
    assert "4/4" in text
    assert "validation" in text
    assert "tokens/s" in text
    assert "A sample of what it writes:" in text
