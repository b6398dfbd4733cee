"""`GPT.save_pretrained`: what is written is read again bit for bit, and nothing is half written."""

import errno
import json
import os

import numpy as np
import pytest
import safetensors
from support import hub

from forgenb.errors import ArgumentError, CheckpointError
from forgenb.models import GPT, GPTConfig

SMALL = GPTConfig(vocab=7, context=4, layers=1, heads=2, width=4, dropout=0.2)


def bits(model):
    return {name: (array.dtype, array.tobytes()) for name, array in model.state_dict().items()}


def test_the_tensors_of_the_golden_come_back(tmp_path):
    GPT.from_pretrained(hub.GOLDEN).save_pretrained(tmp_path / "m")
    with safetensors.safe_open(tmp_path / "m" / hub.WHOLE, "numpy") as file:
        assert file.metadata() == {"format": "pt"}
        found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # it is no mapping
    wanted = hub.golden()
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_what_is_saved_is_loaded(tmp_path, dtype):
    model = GPT(SMALL, seed=3, dtype=dtype)
    model.save_pretrained(str(tmp_path / "new" / "m"))
    found = GPT.from_pretrained(tmp_path / "new" / "m", dtype=dtype)
    assert found.config == SMALL
    assert bits(found) == bits(model)
    assert sorted(os.listdir(tmp_path / "new" / "m")) == ["config.json", hub.WHOLE]
    about = json.loads((tmp_path / "new" / "m" / "config.json").read_text())
    assert (about["architectures"], about["dtype"]) == (["GPT2LMHeadModel"], dtype)


def test_every_backend(each_backend, tmp_path):
    model = GPT(SMALL, seed=3)
    model.save_pretrained(tmp_path / "m")
    assert bits(GPT.from_pretrained(tmp_path / "m", backend="python")) == bits(model)


def test_what_is_no_folder(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(CheckpointError, match="a' is no folder to write to: File exists. Choose another"):
        GPT(SMALL).save_pretrained(tmp_path / "a")
    for name in (5, None, "", "a\0b", "a\ud800"):
        with pytest.raises(ArgumentError, match="GPT.save_pretrained needs the name of a folder, got"):
            GPT(SMALL).save_pretrained(name)


def test_what_could_not_be_read_is_not_written(tmp_path):
    model = GPT(SMALL)
    values = model.ln_f.bias.numpy().copy()
    values[2] = np.nan
    model.load_state_dict(model.state_dict() | {"ln_f.bias": values})
    with pytest.raises(CheckpointError, match=r"safetensors' was not written: 'ln_f.bias' has nan at position \(2,\)"):
        model.save_pretrained(tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_a_disk_that_is_full_leaves_no_half_file(tmp_path, monkeypatch):
    GPT(SMALL, seed=1).save_pretrained(tmp_path / "m")
    before = {path.name: path.read_bytes() for path in (tmp_path / "m").iterdir()}

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(CheckpointError, match="No space left on device"):
            GPT(SMALL, seed=2).save_pretrained(tmp_path / "m")
        with pytest.raises(CheckpointError, match="No space left on device"):
            GPT(SMALL, seed=2).save_pretrained(tmp_path / "new")
    assert {path.name: path.read_bytes() for path in (tmp_path / "m").iterdir()} == before
    assert os.listdir(tmp_path / "new") == []


def test_the_config_is_written_last(tmp_path, monkeypatch):
    from forgenb.models.pretrained import saving

    def fail(path, data):
        raise CheckpointError("stop")

    monkeypatch.setattr(saving, "write_whole", fail)
    with pytest.raises(CheckpointError, match="stop"):
        GPT(SMALL).save_pretrained(tmp_path / "m")
    with pytest.raises(CheckpointError, match="config.json' cannot be read"):
        GPT.from_pretrained(tmp_path / "m")
