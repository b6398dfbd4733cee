"""The folder of a run."""

import errno
import os
from dataclasses import replace

import pytest

from forgenb.data import CharTokenizer
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.train import RunFolder, TrainConfig, latest_run, next_run

CONFIG = TrainConfig(steps=5)


def test_create_and_open(tmp_path):
    path = tmp_path / "a" / "b"
    folder = RunFolder.create(path, CONFIG, "f" * 64, 12)
    folder.write_vocabulary(CharTokenizer("ab"))
    assert sorted(os.listdir(path)) == ["config.json", "vocab.json"]
    found = RunFolder.open(str(path))
    assert found == replace(folder, made=())
    assert CharTokenizer.from_json((path / "vocab.json").read_text()).characters == "ab"
    found.with_steps(9)
    assert RunFolder.open(path).config == replace(CONFIG, steps=9)


def test_a_folder_with_something_in_it_is_refused(tmp_path):
    (tmp_path / "mine").touch()
    with pytest.raises(ArgumentError, match="is not empty .it holds 'mine'., and nothing is overwritten"):
        RunFolder.create(tmp_path, CONFIG, "", 1)
    assert os.listdir(tmp_path) == ["mine"]


def test_an_empty_folder_is_used_and_leftovers_do_not_count(tmp_path):
    (tmp_path / ".config.json.1.tmp").touch()
    RunFolder.create(tmp_path, CONFIG, "", 1)
    assert "config.json" in os.listdir(tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ArgumentError, match="cannot be made: Not a directory. Choose another"):
        RunFolder.create(tmp_path / "file" / "a", CONFIG, "", 1)


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", lambda *names: full(0))
    with pytest.raises(CheckpointError, match="config.json' cannot be written: No space left on device"):
        RunFolder.create(tmp_path / "a" / "b", CONFIG, "", 1)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "holds no run: there is no config.json"),
        ("{", "config.json' is damaged: it is no JSON"),
        ("[]", "config.json' is damaged: it is no JSON object but a list"),
        ('{"format": 2}', "has format 2"),
        ('{"format": true}', "has format True"),
        ('{"format": 1, "text_sha256": "", "characters": true}', "lacks the hash or length of the text"),
        ('{"format": 1, "text_sha256": "", "characters": 0}', "lacks the hash or length of the text"),
        pytest.param("[" * 50_000, "config.json' is damaged: .*nested too deeply", id="nested"),
        ('{"format": 1}', "is incomplete: it lacks the hash or length of the text"),
        ('{"format": 1, "text_sha256": "", "characters": 1}', "does not hold the choices .* got NoneType"),
    ],
)
def test_a_damaged_folder(tmp_path, content, message):
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(CheckpointError, match=message):
        RunFolder.open(tmp_path)


def test_a_model_of_the_hub_is_no_run(tmp_path):
    (tmp_path / "config.json").write_text('{"n_embd": 8}')
    with pytest.raises(CheckpointError, match="config.json' has format None"):
        RunFolder.open(tmp_path)
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(CheckpointError, match="holds no run but a model of the .* hub: .* do with --pretrained"):
        RunFolder.open(tmp_path)


def test_files_that_are_not_its_own(tmp_path):
    RunFolder.create(tmp_path / "run", CONFIG, "", 1)
    (tmp_path / "mine").write_text("mine")
    for name in ("metrics.jsonl", "vocab.json", "last.safetensors", "best.safetensors"):
        (tmp_path / "run" / name).symlink_to(tmp_path / "mine")
        with pytest.raises(CheckpointError, match=f"{name}' is no regular file of its own"):
            RunFolder.open(tmp_path / "run")
        (tmp_path / "run" / name).unlink()
    (tmp_path / "latest").symlink_to("run")
    assert RunFolder.open(tmp_path / "latest").config == CONFIG


def test_a_vocabulary_that_is_damaged_or_too_large(tmp_path):
    folder = RunFolder.create(tmp_path / "run", CONFIG, "", 1)
    with pytest.raises(CheckpointError, match="vocab.json' was not written: its JSON has"):
        folder.write_vocabulary(CharTokenizer("".join(map(chr, range(0x10000, 0x10000 + 70_000)))))
    assert os.listdir(folder.path) == ["config.json"]
    (folder.path / "vocab.json").write_text('{"a": 1}')
    with pytest.raises(CheckpointError, match="vocab.json' is damaged. The id of 'a'"):
        RunFolder.open(folder.path)


def test_numbered_folders(tmp_path):
    base = tmp_path / "runs"
    assert next_run(base) == base / "1"
    with pytest.raises(ArgumentError, match="There is no run in .*runs"):
        latest_run(base)
    for name in ("2", "10", "mine"):
        (base / name).mkdir(parents=True)
    assert next_run(base) == base / "11"
    assert latest_run(base) == base / "10"
