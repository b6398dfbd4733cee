"""A run of a character model: its folder, and going on from it."""

import errno
import math
import os
from dataclasses import asdict, replace

import numpy as np
import pytest

from forgenb.data import batch
from forgenb.errors import ArgumentError, CheckpointError, ForgeError
from forgenb.train import CharRun, DivergedError, RunFolder, load_checkpoint, prepare, read_metrics
from forgenb.train.characters import char_run


@pytest.fixture
def begin(tmp_path, tiny, fake, monkeypatch):
    """Start or resume a run of the fake model."""

    def begin(model=None, config=tiny, resume=False, **keywords):
        model = model or fake()
        monkeypatch.setattr(char_run, "build_model", lambda config, vocabulary: model)
        monkeypatch.setattr(char_run, "build_optimizer", lambda config, model: model)
        out = tmp_path / "run"
        trainer = CharRun.resume(out, **keywords) if resume else CharRun.start(config, out)
        trainer.eager = True  # the fake computes on the host
        return trainer, model

    return begin


def test_what_a_step_does(begin, tiny):
    trainer, model = begin()
    reports = list(trainer.steps())
    trainer.close()
    assert [report.step for report in reports] == [1, 2, 3, 4]
    assert [report.val_loss for report in reports] == [None, 2.0, None, 2.0]
    assert [report.lr for report in reports] == model.rates == [tiny.rate(step) for step in range(4)]
    assert len(set(model.seeds)) == 4
    asked = [ids for training, _, ids, _ in model.asked if training]
    corpus = prepare(tiny)
    for step, ids in enumerate(asked):
        assert np.array_equal(ids, batch(corpus.train, 8, 2, tiny.seed, step)[0])
    assert read_metrics(trainer.folder.metrics) == [asdict(report) for report in reports]
    assert all(report.tokens_per_s > 0 for report in reports)
    assert reports[0].seconds < reports[-1].seconds


def test_checkpoints_at_the_start_each_evaluation_and_the_end(begin, tiny):
    trainer, _ = begin(config=replace(tiny, steps=3))
    folder = trainer.folder
    assert load_checkpoint(folder.last).step == 0
    steps = []
    for _ in trainer.steps():
        steps.append(load_checkpoint(folder.last).step)
    trainer.close()
    assert steps == [0, 2, 3]
    assert sorted(os.listdir(folder.path)) == [
        "best.safetensors",
        "config.json",
        "last.safetensors",
        "metrics.jsonl",
        "vocab.json",
    ]


def test_best_is_kept_when_validation_improves(begin):
    trainer, _ = begin()
    trainer.model.losses = [9, 9, 5.0, 9, 6.0]
    best = []
    for _ in trainer.steps():
        if trainer.folder.best.exists():
            best.append(load_checkpoint(trainer.folder.best).step)
    trainer.close()
    assert best == [2, 2, 2]
    last = load_checkpoint(trainer.folder.last)
    assert (last.step, last.best_val) == (4, 6.0)
    assert load_checkpoint(trainer.folder.best).optimizer == {}


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_stopped_run_goes_on_where_it_was(begin, stop):
    whole, straight = begin()
    wanted = [(r.step, r.train_loss, r.val_loss, r.lr) for r in whole.steps()]
    whole.close()
    for file in whole.folder.path.iterdir():
        file.unlink()

    first, model = begin()
    for report in first.steps():
        if report.step == stop:
            first.save()
            break
    first.close()
    second, again = begin(resume=True)
    assert second.step == stop
    assert again.weight[0] == stop
    list(second.steps())
    second.close()
    rows = read_metrics(second.folder.metrics)
    assert [(r["step"], r["train_loss"], r["val_loss"], r["lr"]) for r in rows] == wanted
    assert model.seeds + again.seeds == straight.seeds
    assert rows[-1]["seconds"] > rows[stop - 1]["seconds"]


def test_steps_after_the_checkpoint_are_done_again(begin):
    first, _ = begin()
    for report in first.steps():
        if report.step == 3:
            break
    first.close()
    (first.folder.path / ".last.safetensors.1.tmp").touch()
    second, _ = begin(resume=True)
    assert [row["step"] for row in read_metrics(second.folder.metrics)] == [1, 2]
    assert not (first.folder.path / ".last.safetensors.1.tmp").exists()
    list(second.steps())
    second.close()
    assert [row["step"] for row in read_metrics(second.folder.metrics)] == [1, 2, 3, 4]


def test_a_folder_without_checkpoint_or_vocabulary_starts_anew(begin, tiny, tmp_path):
    corpus = prepare(tiny)
    RunFolder.create(tmp_path / "run", tiny, corpus.sha256, corpus.characters)
    trainer, _ = begin(resume=True)
    assert trainer.step == 0
    assert len(list(trainer.steps())) == 4
    trainer.close()
    assert (tmp_path / "run" / "vocab.json").exists()


def test_more_steps(begin, tiny):
    trainer, _ = begin()
    list(trainer.steps())
    trainer.close()
    with pytest.raises(ArgumentError, match="has done 4 steps already, so it cannot end after 3"):
        begin(resume=True, steps=3)
    trainer, _ = begin(resume=True, steps=6)
    assert [report.step for report in trainer.steps()] == [5, 6]
    trainer.close()
    assert RunFolder.open(trainer.folder.path).config == replace(tiny, steps=6)
    assert load_checkpoint(trainer.folder.last).config.steps == 6


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_no_number_stops_and_keeps_the_last_checkpoint(begin, fake, value):
    trainer, _ = begin(fake([1.0, 1.0, 1.0, value]))
    with pytest.raises(DivergedError, match=f"The loss became {value} at step 4 of 4, so training stopped"):
        list(trainer.steps())
    trainer.close()
    assert load_checkpoint(trainer.folder.last).step == 2
    assert [row["step"] for row in read_metrics(trainer.folder.metrics)] == [1, 2, 3]
    assert issubclass(DivergedError, ForgeError)


def test_a_norm_that_is_no_number_stops(begin, fake):
    trainer, _ = begin(fake(norm=math.nan))
    with pytest.raises(DivergedError, match="The gradient norm became nan at step 1 of 4"):
        list(trainer.steps())
    trainer.close()


def test_a_validation_loss_that_is_no_number_stops(begin, fake, monkeypatch):
    trainer, _ = begin()
    monkeypatch.setattr(char_run, "evaluate", lambda *arguments: math.nan)
    with pytest.raises(DivergedError, match="The validation loss became nan at step 2 of 4"):
        list(trainer.steps())
    trainer.close()
    assert load_checkpoint(trainer.folder.last).step == 0


def test_a_changed_text_is_refused(begin, text):
    begin()[0].close()
    text.write_text(text.read_text()[::-1])
    with pytest.raises(ArgumentError, match="text.txt' has changed since the run .* 400 characters and hash"):
        begin(resume=True)


def test_a_run_in_progress_is_refused_and_left_alone(begin):
    pytest.importorskip("fcntl", reason="this system has no such locks")
    first, _ = begin()
    writing = first.folder.path / ".last.safetensors.1.tmp"
    writing.touch()
    with pytest.raises(ArgumentError, match="is being trained by another process"):
        begin(resume=True)
    assert writing.exists()
    first.close()


def test_a_checkpoint_of_another_text_is_refused(begin, tmp_path, tiny, text):
    trainer, _ = begin()
    trainer.close()
    trainer.folder.last.rename(tmp_path / "saved")
    for file in trainer.folder.path.iterdir():
        file.unlink()
    text.write_text(text.read_text()[::-1])
    begin()[0].close()
    (tmp_path / "saved").replace(trainer.folder.last)
    with pytest.raises(CheckpointError, match="belongs to another run"):
        begin(resume=True)


def test_a_truncated_checkpoint_is_named_and_nothing_changes(begin):
    trainer, _ = begin()
    list(trainer.steps())
    trainer.close()
    path = trainer.folder.last
    path.write_bytes(path.read_bytes()[:-1])
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    with pytest.raises(CheckpointError, match="last.safetensors' is not a complete safetensors file"):
        begin(resume=True)
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


def fill_disk_at(monkeypatch, count):
    """Let the disk be full from the `count`-th flush on."""
    real, calls = os.fsync, []

    def fsync(handle):
        calls.append(handle)
        if len(calls) >= count:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)


def test_a_disk_that_is_full_at_the_start_leaves_nothing(begin, tmp_path, monkeypatch):
    names = sorted(os.listdir(tmp_path))
    for count in range(1, 9):
        with monkeypatch.context() as patch:
            fill_disk_at(patch, count)
            with pytest.raises(ForgeError, match="No space left on device"):
                begin()
        assert sorted(os.listdir(tmp_path)) == names
    begin()[0].close()


def test_a_disk_that_fills_later_keeps_the_last_checkpoint(begin, monkeypatch):
    trainer, _ = begin()
    steps = trainer.steps()
    next(steps)
    with monkeypatch.context() as patch:
        fill_disk_at(patch, 1)
        with pytest.raises(CheckpointError, match="No space left on device"):
            next(steps)
    trainer.close()
    assert load_checkpoint(trainer.folder.last).step == 0
    resumed, _ = begin(resume=True)
    assert len(list(resumed.steps())) == 4
    resumed.close()


def test_a_real_model_learns(tiny, tmp_path):
    trainer = CharRun.start(replace(tiny, steps=60, batch=8, lr=1e-2, eval_every=30, dropout=0.1), tmp_path / "r")
    losses = [report.train_loss for report in trainer.steps()]
    trainer.close()
    assert losses[0] == pytest.approx(math.log(12), abs=0.1)
    assert trainer.best_val < 0.8 * losses[0]
