"""A run that is taken up again; `test_hostile` has many folders that are not."""

import shutil
from dataclasses import replace

import pytest

from forgenb.errors import ArgumentError, CheckpointError
from forgenb.train import CharRun, RunFolder, save_checkpoint
from forgenb.train.characters.reopening import best_of, checkpoint_of, learned, reopen


@pytest.fixture
def folder(tmp_path, tiny):
    trainer = CharRun.start(tiny, tmp_path / "run")
    trainer.close()
    return RunFolder.open(tmp_path / "run")


def test_a_folder_and_its_last_checkpoint(folder):
    found, checkpoint = reopen(folder.path)
    assert found == folder
    assert checkpoint.step == 0
    folder.last.unlink()
    assert reopen(folder.path) == (found, None)


def test_a_checkpoint_of_another_model(folder, tmp_path, tiny):
    other = CharRun.start(replace(tiny, width=32, heads=4, steps=9), tmp_path / "other")
    other.close()
    shutil.copy(other.folder.last, folder.last)
    with pytest.raises(
        CheckpointError,
        match=r"last.safetensors' does not belong .* heads 4 \(config.json says 2\), width 32 \(config.json says 16\)",
    ):
        reopen(folder.path)
    assert checkpoint_of(RunFolder.open(other.folder.path), folder.last).step == 0


def test_the_best_checkpoint_goes_before_the_last(folder):
    assert best_of(folder)[0] == folder.last
    shutil.copy(folder.last, folder.best)
    path, checkpoint = best_of(folder)
    assert (path, checkpoint.step) == (folder.best, 0)
    folder.last.unlink()
    folder.best.unlink()
    with pytest.raises(CheckpointError, match="run' has no checkpoint yet; go on with forgenb train --resume"):
        best_of(folder)


def test_the_text_of_a_run(folder, text):
    assert learned(folder, checkpoint_of(folder, folder.last)).sha256 == folder.text_sha256
    text.write_text(text.read_text()[::-1])
    with pytest.raises(ArgumentError, match="text.txt' has changed since the run in .* began: it has 400 characters"):
        learned(folder, checkpoint_of(folder, folder.last))
    text.write_text("a" * (4 * folder.characters + 1))
    with pytest.raises(CheckpointError, match="has 1601 bytes: the 400 characters that were learned"):
        learned(folder, checkpoint_of(folder, folder.last))


def test_a_run_that_has_only_codes(folder):
    checkpoint = checkpoint_of(folder, folder.last)
    save_checkpoint(folder.best, replace(checkpoint, optimizer={}), group=64)
    assert reopen(folder.path)[1].step == 0
    folder.last.unlink()
    with pytest.raises(CheckpointError, match="run' cannot go on: it has nothing but a quantised model"):
        reopen(folder.path)


def test_a_model_that_no_machine_holds(folder):
    replace(folder, config=replace(folder.config, width=2**40))._write_config()
    folder.last.unlink()
    with pytest.raises(CheckpointError, match="config.json' describes a model of .* numbers, .* this machine has"):
        reopen(folder.path)


def test_a_text_that_cannot_be_that_of_the_run(folder, text):
    text.write_text("a" * (4 * folder.characters + 1))
    with pytest.raises(CheckpointError, match="has 1601 bytes: the 400 characters that were learned had at most 1600"):
        reopen(folder.path)
    text.unlink()
    text.mkdir()
    with pytest.raises(CheckpointError, match="text.txt' as the text of its run, which is no regular file"):
        reopen(folder.path)
