"""The folder of a training as a place for files."""

import os

import pytest

from forgenb.errors import ArgumentError
from forgenb.train import RunFolder, TrainConfig, TrainingFolder
from forgenb.train.persistence.places import make_folder, remove_folders


def test_every_training_has_the_same_files(tmp_path):
    for folder in (TrainingFolder(tmp_path), RunFolder(tmp_path, TrainConfig(), "", 1)):
        names = [place.relative_to(tmp_path).name for place in (folder.last, folder.best, folder.metrics)]
        assert names == ["last.safetensors", "best.safetensors", "metrics.jsonl"]


def test_a_folder_is_made_and_says_what_it_holds(tmp_path):
    path = tmp_path / "a" / "b"
    assert make_folder(path) == ((path, path.parent), [])
    for name in ("y", "x", ".config.json.1.tmp"):
        (path / name).touch()
    assert make_folder(path) == ((), ["x", "y"])
    remove_folders([path])
    assert path.exists()


def test_what_cannot_be_made_leaves_nothing(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(ArgumentError, match="cannot be made: File name too long. Choose another"):
        make_folder(tmp_path / "a" / "b" / ("c" * 300))
    assert os.listdir(tmp_path / "a") == []
