"""A run's model as codes in a new folder, and what is told of it."""

import os
from dataclasses import replace

import numpy as np
import pytest

from forgenb.backend import use
from forgenb.errors import ArgumentError, BackendError, CheckpointError
from forgenb.train import CharRun, RunFolder, build_model, evaluate, load_checkpoint, prepare, quantize_run
from forgenb.train.characters import quantizing
from forgenb.train.characters.starting import config_from


@pytest.fixture
def run(tmp_path, tiny):
    """A run of two evaluations; the last one is the best."""
    training = CharRun.start(replace(tiny, lr=0.05, warmup=0), tmp_path / "run")
    list(training.steps())
    training.close()
    return training.folder


def loss(path, config):
    checkpoint, corpus = load_checkpoint(path), prepare(config)
    model = build_model(config, len(checkpoint.tokenizer))
    checkpoint.restore(path, model)
    return evaluate(model, corpus.inputs, corpus.targets)


def test_what_is_told_is_what_the_files_have(run, tmp_path):
    before = {path.name: path.read_bytes() for path in run.path.iterdir()}
    found = quantize_run(run.path, tmp_path / "q")
    assert {path.name: path.read_bytes() for path in run.path.iterdir()} == before
    assert sorted(os.listdir(tmp_path / "q")) == ["best.safetensors", "config.json", "vocab.json"]
    assert found.folder == replace(RunFolder.open(tmp_path / "q"), made=found.folder.made)
    assert (found.bytes_before, found.bytes_after) == (
        len(before["best.safetensors"]),
        found.folder.best.stat().st_size,
    )
    assert (found.loss_before, found.loss_after) == (loss(run.best, run.config), loss(found.folder.best, run.config))
    assert found.loss_before != found.loss_after
    assert (found.cost, found.ratio) == (found.loss_after - found.loss_before, found.bytes_before / found.bytes_after)
    assert (found.group, found.windows) == (64, len(prepare(run.config).inputs))
    mine, theirs = load_checkpoint(found.folder.best), load_checkpoint(run.best)
    assert replace(mine, model={}) == replace(theirs, model={})


def test_a_smaller_group_is_nearer_and_larger(run, tmp_path):
    wide, narrow = (quantize_run(run.path, tmp_path / f"{group}", group) for group in (256, 4))
    assert (wide.group, narrow.group) == (256, 4)
    assert wide.bytes_after < narrow.bytes_after
    exact = load_checkpoint(run.best).model
    far, near = (load_checkpoint(found.folder.best).model for found in (wide, narrow))
    for name, array in exact.items():
        assert np.abs(far[name] - array).sum() > np.abs(near[name] - array).sum() or array.ndim == 1


def test_a_run_that_was_trained_further_keeps_the_characters_of_the_first(run, tmp_path):
    (tmp_path / "part.txt").write_text("bad cab " * 50)
    choices = {"data": str(tmp_path / "part.txt"), "steps": 2, "batch": 2, "eval_every": 1, "warmup": 0}
    further = CharRun.start(config_from(run.path, choices), tmp_path / "further")
    list(further.steps())
    further.close()
    found = quantize_run(further.folder.path, tmp_path / "q")
    assert abs(found.cost) < 0.2
    assert load_checkpoint(found.folder.best).tokenizer == load_checkpoint(run.best).tokenizer


def test_a_run_without_an_evaluation(run, tmp_path):
    without = quantize_run(run.path, tmp_path / "a").bytes_before
    run.best.unlink()
    found = quantize_run(run.path, tmp_path / "b")
    assert 0 <= found.bytes_before - without < 8000  # the names of the optimiser's tensors
    assert load_checkpoint(found.folder.best).optimizer == {}


def test_the_backend_is_that_of_the_run_or_another(run, tmp_path, monkeypatch):
    places = []

    def seen(model, *arrays):
        places.append(model.wte.weight.backend.name)
        return 1.0

    monkeypatch.setattr(quantizing, "evaluate", seen)
    with use("python"):
        quantize_run(run.path, tmp_path / "a")
    quantize_run(run.path, tmp_path / "b", backend="python")
    assert places == ["cpu", "cpu", "python", "python"]


def test_refusals_leave_nothing(run, tmp_path, text):
    out = tmp_path / "new" / "q"
    for group in (0, None):
        with pytest.raises(ArgumentError, match=f"A group that is quantised has from 1 to .* numbers, got {group}"):
            quantize_run(run.path, out, group)
    with pytest.raises(CheckpointError, match="nowhere' holds no run"):
        quantize_run(tmp_path / "nowhere", out)
    with pytest.raises(BackendError, match="there is no backend 'cup'"):
        quantize_run(run.path, out, backend="cup")
    for wrong in (5, None, "", "a\0b", b"run"):
        for pair in ((wrong, out), (run.path, wrong)):
            with pytest.raises(ArgumentError, match="a run needs the name of a file or a folder"):
                quantize_run(*pair)
    with pytest.raises(ArgumentError, match="The run folder .* is not empty"):
        quantize_run(run.path, run.path)
    quantize_run(run.path, tmp_path / "q")
    with pytest.raises(ArgumentError, match="best.safetensors' is quantised already: give the run that it was made of"):
        quantize_run(tmp_path / "q", out)
    text.write_text(text.read_text()[::-1])
    with pytest.raises(ArgumentError, match="text.txt' has changed since"):
        quantize_run(run.path, out)
    assert not (tmp_path / "new").exists()


def test_an_interruption_leaves_nothing(run, tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(quantizing, "evaluate", interrupt)
    with pytest.raises(KeyboardInterrupt):
        quantize_run(run.path, tmp_path / "new" / "q")
    assert not (tmp_path / "new").exists()
