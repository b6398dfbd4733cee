"""Early stopping, the best checkpoint, and metrics as JSON lines."""

import os
from dataclasses import asdict

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.train import BestCheckpoint, EarlyStopping, JsonLines, TrainingFolder, read_metrics


def follow(small, losses, steps=8, **keywords):
    """A trainer whose validation losses follow a list, one at every step."""
    s = small()
    trainer = s.trainer(steps, eval_every=1, **keywords)
    trainer.validate = lambda: losses[trainer.step - 1]
    return s, trainer


LOSSES = [5.0, 4.0, 4.5, 3.9, 4.0, 3.95, 3.8, 1.0]


@pytest.mark.parametrize(
    ("patience", "min_delta", "stop"), [(1, 0.0, 3), (2, 0.0, 6), (3, 0.0, None), (2, 0.2, 4), (3, 0.2, 5), (1, 2.0, 2)]
)
def test_early_stopping(small, patience, min_delta, stop):
    _, trainer = follow(small, LOSSES, callbacks=[EarlyStopping(patience, min_delta)])
    assert len(trainer.run()) == (stop or 8)
    assert (trainer.stopped is None) == (stop is None)


def test_why_it_stopped(small):
    _, trainer = follow(small, LOSSES, callbacks=[EarlyStopping(2)])
    trainer.run()
    assert trainer.stopped == (
        "the validation loss has not improved in 2 evaluations since step 4, where it was 3.9000"
    )


def test_a_resumed_training_counts_on(small, tmp_path):
    first = follow(small, LOSSES, folder=tmp_path)[1]
    for report in first.steps():
        if report.step == 5:
            first.stop("for now")
    folder = TrainingFolder(tmp_path, resume=True)
    second = follow(small, LOSSES, folder=folder, callbacks=[EarlyStopping(2)])[1]
    assert [report.step for report in second.steps()] == [6]
    third = follow(small, LOSSES, folder=folder, callbacks=[EarlyStopping(2)])[1]
    assert third.run() == []
    assert "in 2 evaluations since step 4" in third.stopped


def test_one_that_goes_on_in_memory_counts_on(small):
    early = EarlyStopping(2)
    trainer = follow(small, LOSSES, callbacks=[early])[1]
    for report in trainer.steps():
        if report.step == 5:
            break
    assert [report.step for report in trainer.steps()] == [6]
    another = follow(small, [1.0, 2.0, 3.0], 3, callbacks=[early])[1]
    assert len(another.run()) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "EarlyStopping got patience=0: it must be a whole number of at least 1"),
        ((1.5,), "patience=1.5: it must be a whole number of at least 1"),
        ((True,), "patience=True: it must be a whole number of at least 1"),
        ((1, -0.1), "a min_delta that is a number of at least 0, got -0.1"),
        ((1, float("nan")), "a min_delta that is a number of at least 0, got nan"),
        ((1, "0"), "a min_delta that is a number of at least 0, got '0'"),
    ],
)
def test_arguments_of_early_stopping(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        EarlyStopping(*arguments)


@pytest.mark.parametrize("callback", [EarlyStopping(1), BestCheckpoint("best.safetensors")])
def test_those_that_look_at_the_validation_loss_need_one(small, callback):
    trainer = small().trainer(validate=None, eval_every=None, callbacks=[callback])
    with pytest.raises(ArgumentError, match="looks at the validation loss, and this trainer has none: give it valid"):
        trainer.run()


@pytest.mark.parametrize("own", [False, True])
def test_the_best_model_is_kept(small, tmp_path, own):
    path = tmp_path / "best.safetensors" if own else tmp_path / "run" / "best.safetensors"
    best = BestCheckpoint(path if own else None)
    s, trainer = follow(small, [3.0, 2.0, 2.0, 4.0], 4, callbacks=[best], folder=None if own else tmp_path / "run")
    states = [s.model.state_dict() for _ in trainer.steps()]
    kept = fnb.load(path)
    assert {name: t.numpy().tobytes() for name, t in kept.items()} == {n: a.tobytes() for n, a in states[1].items()}
    s.model.load_state_dict(kept)
    assert all(np.array_equal(array, states[1][name]) for name, array in s.model.state_dict().items())


def test_a_resumed_training_keeps_a_better_best(small, tmp_path):
    first = follow(small, [1.0, 2.0, 0.5], 3, folder=tmp_path, callbacks=[BestCheckpoint()])[1]
    next(first.steps())
    first.save()
    folder = TrainingFolder(tmp_path, resume=True)
    s, second = follow(small, [1.0, 2.0, 0.5], 3, folder=folder, callbacks=[BestCheckpoint()])
    assert (second.step, second.best_val) == (1, 1.0)
    seen = [os.stat(folder.best).st_mtime_ns for _ in second.steps()]
    assert seen[0] < seen[1]
    assert fnb.load(folder.best)["0.weight"].numpy().tobytes() == s.model[0].weight.numpy().tobytes()


def test_the_best_checkpoint_needs_a_place(small):
    trainer = small().trainer(callbacks=[BestCheckpoint()])
    with pytest.raises(ArgumentError, match="BestCheckpoint needs a model and a place for it"):
        trainer.run()


def test_a_best_checkpoint_that_cannot_be_written(small, tmp_path):
    trainer = small().trainer(callbacks=[BestCheckpoint(tmp_path / "none" / "best.safetensors")])
    with pytest.raises(CheckpointError, match="cannot be written: No such file"):
        trainer.run()


def test_json_lines(small, tmp_path):
    path = tmp_path / "a.jsonl"
    trainer = small().trainer(callbacks=[JsonLines(path)])
    reports = []
    for report in trainer.steps():
        reports.append(report)
        if report.step == 3:
            break
    assert read_metrics(path) == [asdict(report) for report in reports]
    reports += trainer.run()
    assert read_metrics(path) == [asdict(report) for report in reports]
    (again,) = small().trainer(1, callbacks=[JsonLines(path)]).run()
    assert read_metrics(path) == [asdict(again)]


def test_json_lines_are_those_of_a_folder(small, tmp_path):
    small().trainer(folder=tmp_path / "run", callbacks=[JsonLines(tmp_path / "a.jsonl")]).run()
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "run" / "metrics.jsonl").read_bytes()


def test_json_lines_that_cannot_be_written(small, tmp_path):
    with pytest.raises(CheckpointError, match="cannot be written: Is a directory"):
        small().trainer(callbacks=[JsonLines(tmp_path)]).run()
