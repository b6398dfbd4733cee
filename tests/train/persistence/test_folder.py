"""The folder of a training: metrics, checkpoints, and going on from them."""

import os
from dataclasses import asdict

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.storage.files import read_arrays, write_arrays
from forgenb.train import BestCheckpoint, TrainingFolder, read_metrics


def files(path):
    return sorted(os.listdir(path))


def test_what_is_in_it(small, tmp_path):
    s = small()
    reports = s.trainer(folder=tmp_path / "a" / "run", callbacks=[BestCheckpoint()]).run()
    folder = TrainingFolder(tmp_path / "a" / "run")
    assert files(folder.path) == ["best.safetensors", "last.safetensors", "metrics.jsonl"]
    assert [folder.best.name, folder.last.name, folder.metrics.name] == files(folder.path)
    assert read_metrics(folder.metrics) == [asdict(report) for report in reports]
    assert folder.history(3) == reports[:3]
    kept = {name: t.numpy().tobytes() for name, t in fnb.load(folder.last).items()}
    state = {f"model.{name}": a.tobytes() for name, a in s.model.state_dict().items()}
    assert kept == state | {f"optimizer.{name}": a.tobytes() for name, a in s.optimizer.state_dict().items()}


def test_without_one_nothing_is_written(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trainer = small().trainer()
    trainer.run()
    trainer.save()
    trainer.close()
    assert trainer.history() == []
    assert files(tmp_path) == []


@pytest.mark.parametrize("stop", [1, 2, 5])
@pytest.mark.parametrize("eager", [False, True])
def test_half_a_training_twice_is_a_whole_one(small, curve, tmp_path, stop, eager):
    whole = small()
    wanted = curve(whole.trainer(7, whole.step(clip_norm=1.0, eager=eager)).run())
    first = small()
    trainer = first.trainer(7, first.step(clip_norm=1.0, eager=eager), folder=tmp_path)
    for report in trainer.steps():
        if report.step == stop:
            trainer.stop("for now")
    s = small()
    trainer = s.trainer(7, s.step(clip_norm=1.0, eager=True), folder=TrainingFolder(tmp_path, resume=True))
    assert (trainer.step, trainer.seconds > 0) == (stop, True)
    trainer.run()
    assert curve(trainer.history()) == wanted
    assert s.state() == whole.state()


def test_steps_after_the_checkpoint_are_done_again(small, curve, tmp_path):
    first = small().trainer(folder=tmp_path)
    for report in first.steps():
        if report.step == 3:
            break
    (tmp_path / ".last.safetensors.1.tmp").touch()
    second = small().trainer(folder=TrainingFolder(tmp_path, resume=True))
    assert [r.step for r in second.history()] == [1, 2]
    assert files(tmp_path) == ["last.safetensors", "metrics.jsonl"]
    second.run()
    assert curve(second.history()) == curve(small().trainer().run())


def test_a_new_training_saves_its_beginning(small, tmp_path):
    s = small()
    s.trainer(folder=TrainingFolder(tmp_path, resume=True)).close()
    assert files(tmp_path) == ["last.safetensors", "metrics.jsonl"]
    other = small()
    with fnb.no_grad():
        other.model[0].weight.assign_(0.0)
    assert other.trainer(folder=TrainingFolder(tmp_path, resume=True)).step == 0
    assert other.state() == s.state()


def test_only_one_of_several_processes_writes(small, curve, tmp_path):
    """Both have the folder, as ranks of one training do; the second reads what it resumes from."""
    writer, reader = small(), small()
    leader = writer.trainer(4, folder=TrainingFolder(tmp_path / "run"), callbacks=[BestCheckpoint()])
    before = {name: (tmp_path / "run" / name).read_bytes() for name in files(tmp_path / "run")}
    follower = reader.trainer(
        4, folder=TrainingFolder(tmp_path / "run", resume=True, write=False), callbacks=[BestCheckpoint()]
    )
    reports = follower.run()
    follower.save()
    assert {name: (tmp_path / "run" / name).read_bytes() for name in files(tmp_path / "run")} == before
    assert curve(leader.run()) == curve(reports)
    third = small()
    resumed = third.trainer(7, folder=TrainingFolder(tmp_path / "run", resume=True, write=False))
    assert (resumed.step, curve(resumed.history())) == (4, curve(reports))
    assert third.state() == writer.state()


def test_a_reader_makes_no_folder(small, tmp_path):
    trainer = small().trainer(2, folder=TrainingFolder(tmp_path / "run", write=False))
    assert len(trainer.run()) == 2
    assert files(tmp_path) == []


def test_a_folder_in_use_is_refused_and_free_after_the_steps(small, tmp_path):
    pytest.importorskip("fcntl", reason="this system has no such locks")
    first = small().trainer(folder=tmp_path)
    with pytest.raises(ArgumentError, match="is being trained by another process"):
        small().trainer(folder=TrainingFolder(tmp_path, resume=True))
    first.run()
    small().trainer(folder=TrainingFolder(tmp_path, resume=True)).close()


def test_saving_between_two_loops(small, tmp_path):
    trainer = small().trainer(folder=tmp_path)
    for report in trainer.steps():
        if report.step == 3:
            break
    trainer.save()
    assert small().trainer(folder=TrainingFolder(tmp_path, resume=True)).step == 3


def test_a_folder_that_is_not_empty_is_refused(small, tmp_path):
    (tmp_path / "mine").touch()
    with pytest.raises(ArgumentError, match=r"not empty \(it holds 'mine'\).*TrainingFolder\(path, resume=True\)"):
        small().trainer(folder=tmp_path)
    assert files(tmp_path) == ["mine"]


def test_a_folder_that_cannot_be_made_is_refused(small, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ArgumentError, match="file/run' cannot be made: Not a directory"):
        small().trainer(folder=tmp_path / "file" / "run")


def test_a_training_cannot_end_before_what_is_done(small, tmp_path):
    small().trainer(4, folder=tmp_path).run()
    with pytest.raises(ArgumentError, match="has done 4 steps already, so it cannot end after 3; give steps= more"):
        small().trainer(3, folder=TrainingFolder(tmp_path, resume=True))


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, "is no checkpoint of a Trainer: it lacks the metadata 'forgenb.trainer'"),
        ({"forgenb.trainer": "{"}, "is damaged: its metadata is no JSON that is read here"),
        ({"forgenb.trainer": "[" * 9000}, "is damaged: its metadata is no JSON that is read here .*nested too deeply"),
        ({"forgenb.trainer": '{"format": 1}'}, "is incomplete: its metadata lacks step, best_val, seconds"),
        (
            {"forgenb.trainer": '{"format": 1, "step": true, "best_val": null, "seconds": 0.0}'},
            "step must be a whole number from 0 and is True",
        ),
        (
            {"forgenb.trainer": '{"format": 9, "step": 1, "best_val": null, "seconds": 0.0}'},
            "has format 9, this forgenb reads 1",
        ),
        (
            {"forgenb.trainer": '{"format": 1, "step": 1, "best_val": null, "seconds": 0.0}'},
            "does not fit this model: .*0.weight is missing",
        ),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(small, tmp_path, metadata, message):
    fnb.save(tmp_path / "last.safetensors", {"a": [1.0]}, metadata)
    with pytest.raises(CheckpointError, match=message):
        small().trainer(folder=TrainingFolder(tmp_path, resume=True))
    assert files(tmp_path) == ["last.safetensors"]


@pytest.mark.parametrize("line", ['{"step": 1}', '{"step": 1, "loss": 2.0}'])
def test_a_curve_that_holds_no_reports_is_named(tmp_path, line):
    (tmp_path / "metrics.jsonl").write_text(line + "\n")
    with pytest.raises(CheckpointError, match="metrics.jsonl' is damaged: a line of it is no report of a step"):
        TrainingFolder(tmp_path).history(9)


def test_a_folder_has_a_name():
    with pytest.raises(ArgumentError, match="name of a file or a folder, as text or a path, got 3"):
        TrainingFolder(3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda name, a: np.full_like(a, np.nan) if name == "model.0.bias" else a,
            r"'model.0.bias' has nan at position",
        ),
        (
            lambda name, a: np.full_like(a, np.inf) if name == "optimizer.m/0.bias" else a,
            "'optimizer.m/0.bias' has inf",
        ),
        (lambda name, a: a[None] if name == "optimizer.v/0.bias" else a, r"optimizer.v/0.bias has shape \(1, 8\)"),
        (lambda name, a: a - 9 if name == "optimizer.step" else a, "step is -5, at least 0 is needed"),
    ],
)
def test_tensors_that_are_damaged_change_nothing(small, tmp_path, change, message):
    small().trainer(4, folder=tmp_path).run()
    arrays, metadata = read_arrays(tmp_path / "last.safetensors")
    write_arrays(tmp_path / "last.safetensors", {name: change(name, a) for name, a in arrays.items()}, metadata)
    again = small()
    before = again.state()
    with pytest.raises(CheckpointError, match=f"last.safetensors'.* {message}"):
        again.trainer(6, folder=TrainingFolder(tmp_path, resume=True))
    assert again.state() == before


def test_links_among_its_files_are_refused(small, tmp_path):
    (tmp_path / "precious").write_text("mine")
    for name in ("metrics.jsonl", "last.safetensors", "best.safetensors"):
        (tmp_path / "run").mkdir(exist_ok=True)
        (tmp_path / "run" / name).symlink_to(tmp_path / "precious")
        with pytest.raises(CheckpointError, match=f"{name}' is no regular file of its own"):
            small().trainer(folder=TrainingFolder(tmp_path / "run", resume=True))
        (tmp_path / "run" / name).unlink()
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_state_that_could_not_be_read_is_not_written(small, tmp_path):
    trainer = small().trainer(2, folder=tmp_path)
    trainer.run()
    old = (tmp_path / "last.safetensors").read_bytes()
    state = trainer.model.state_dict()
    state["0.bias"][3] = np.inf
    trainer.model.load_state_dict(state)
    with pytest.raises(CheckpointError, match=r"last.safetensors' was not written: 'model.0.bias' has inf at .*\(3,\)"):
        trainer.save()
    assert (tmp_path / "last.safetensors").read_bytes() == old
