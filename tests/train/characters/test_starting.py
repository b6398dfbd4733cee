"""A run that begins with the parameters of another."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from support.hub import GOLDEN
from support.training import without_clock

from forgenb.data import CharTokenizer
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.train import CharRun, EarlyStopping, RunFolder, TrainConfig, load_checkpoint, save_checkpoint
from forgenb.train.characters.starting import config_from, vocabulary_from

CHOICES = {"steps": 4, "batch": 2, "eval_every": 2, "warmup": 1, "lr": 1e-2}
TABLES = ("wte.weight", "wpe.weight")


def run(trainer, count=None):
    """The reports of some steps."""
    found = []
    for report in trainer.steps():
        found.append(report)
        if count is not None and len(found) == count:
            trainer.stop("enough")
    trainer.close()
    return found


@pytest.fixture
def first(tmp_path, tiny):
    """The folder of a run that is done."""
    run(CharRun.start(tiny, tmp_path / "first"))
    return tmp_path / "first"


@pytest.fixture
def part(tmp_path):
    """A text with half of the characters."""
    text = (tmp_path / "text.txt").read_text()
    (tmp_path / "part.txt").write_text("".join(c for c in "bad cabbage head\n" * 30 if c in text))
    return str(tmp_path / "part.txt")


def test_it_begins_with_the_parameters_characters_and_sizes_of_the_other(first, part, tmp_path):
    config = config_from(first, {**CHOICES, "data": part})
    source = load_checkpoint(RunFolder.open(first).best)
    assert config.start == str(RunFolder.open(first).best.absolute())
    assert (config.layers, config.heads, config.width, config.context) == (1, 2, 16, 8)
    trainer = CharRun.start(config, tmp_path / "second")
    assert trainer.corpus.tokenizer == source.tokenizer
    assert len(set((tmp_path / "part.txt").read_text())) < len(source.tokenizer)
    state = trainer.model.state_dict()
    assert [name for name in state if state[name].tobytes() != source.model[name].tobytes()] == []
    reports = run(trainer)
    assert trainer.best_val == min(r.val_loss for r in reports if r.val_loss is not None)
    assert load_checkpoint(trainer.folder.best).tokenizer == source.tokenizer


def test_frozen_tables_keep_their_bits_under_decay(first, tmp_path):
    config = config_from(
        first, {**CHOICES, "decay": 0.5, "freeze_embeddings": True, "data": str(tmp_path / "text.txt")}
    )
    trainer = CharRun.start(config, tmp_path / "second")
    before = trainer.model.state_dict()
    run(trainer)
    last = load_checkpoint(trainer.folder.last)
    still = {name for name in before if last.model[name].tobytes() == before[name].tobytes()}
    assert still == set(TABLES)
    assert {name.partition("/")[2] for name in last.optimizer if "/" in name} == before.keys() - still


def test_early_stopping_and_the_best_checkpoint_work_as_in_any_run(first, tmp_path):
    still = {**CHOICES, "lr": 1e-30, "min_lr": 0.0, "eval_every": 1, "steps": 9, "data": str(tmp_path / "text.txt")}
    trainer = CharRun.start(config_from(first, still), tmp_path / "second", [EarlyStopping(2)])
    assert len(run(trainer)) == 3
    assert load_checkpoint(trainer.folder.best).step == 1


def test_it_is_resumed_without_the_other(first, tmp_path):
    choices = {**CHOICES, "dropout": 0.2, "accumulate": 2, "seed_rule": "pass", "data": str(tmp_path / "text.txt")}
    whole = run(CharRun.start(config_from(first, choices), tmp_path / "whole"))
    half = CharRun.start(config_from(first, choices), tmp_path / "half")
    begun = run(half, 2)
    shutil.rmtree(first)
    rest = run(CharRun.resume(tmp_path / "half"))
    assert without_clock(begun + rest) == without_clock(whole)
    mine, theirs = (load_checkpoint(RunFolder.open(tmp_path / name).last) for name in ("half", "whole"))
    assert [name for name in mine.model if mine.model[name].tobytes() != theirs.model[name].tobytes()] == []


def test_a_folder_without_a_checkpoint_begins_with_the_other_again(first, tmp_path):
    trainer = CharRun.start(config_from(first, {**CHOICES, "data": str(tmp_path / "text.txt")}), tmp_path / "second")
    wanted = trainer.model.state_dict()
    trainer.close()
    trainer.folder.last.unlink()
    again = CharRun.resume(tmp_path / "second")
    again.close()
    state = again.model.state_dict()
    assert [name for name in wanted if wanted[name].tobytes() != state[name].tobytes()] == []


def test_characters_that_it_does_not_know_are_refused(first, tmp_path):
    (tmp_path / "other.txt").write_text("Zebra é\n" * 50)
    config = config_from(first, {**CHOICES, "data": str(tmp_path / "other.txt")})
    with pytest.raises(ArgumentError, match=r"characters that the model of .* does not know: 'Zr\\xe9'. It learned 12"):
        CharRun.start(config, tmp_path / "second")
    assert not (tmp_path / "second").exists()


def test_other_sizes_are_refused(first, tmp_path, tiny):
    with pytest.raises(ArgumentError, match=r"contradict layers 3 \(it has 1\), width 8 \(it has 16\)"):
        config_from(first, {**CHOICES, "layers": 3, "width": 8})
    config = replace(tiny, start=str(RunFolder.open(first).best), context=4)
    with pytest.raises(ArgumentError, match=r"contradict context 4 \(it has 8\)"):
        CharRun.start(config, tmp_path / "second")
    assert not (tmp_path / "second").exists()


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="holds no run"):
        config_from(tmp_path, CHOICES)
    with pytest.raises(CheckpointError, match=r"a model of the Hugging Face hub: .*from_pretrained .*docs/finetune.md"):
        config_from(GOLDEN, CHOICES)
    for wrong in (5, None, "", "a\0b"):
        with pytest.raises(ArgumentError, match="a run that begins with another needs the name of a file or a folder"):
            config_from(wrong, CHOICES)
    with pytest.raises(CheckpointError, match="none.safetensors"):
        CharRun.start(TrainConfig(start=str(tmp_path / "none.safetensors")), tmp_path / "run")


def test_a_checkpoint_of_a_run_will_do(first, tmp_path):
    checkpoint = load_checkpoint(RunFolder.open(first).last)
    path = tmp_path / "mine.safetensors"
    save_checkpoint(path, checkpoint)
    assert config_from(path, CHOICES).start == str(path)


class Told:
    """Processes of which the first one says `characters`."""

    def __init__(self, characters):
        self.characters = characters

    def text(self, found):
        return found or self.characters


def test_the_first_process_tells_the_characters(first):
    config = config_from(first, CHOICES)
    known = load_checkpoint(config.start)
    characters = known.tokenizer.characters
    assert vocabulary_from(config, None, Told(characters)) == CharTokenizer(characters)
    assert vocabulary_from(config, known, Told("x")) == CharTokenizer(characters)
    assert vocabulary_from(TrainConfig(), None, None) is None


def test_accumulation_is_for_one_process_and_stream(tiny, tmp_path):
    with pytest.raises(ArgumentError, match="taken in 2 parts one after the other on one stream"):
        CharRun.start(replace(tiny, accumulate=2), tmp_path / "run", streams=2)
    assert not (tmp_path / "run").exists()


def test_parts_of_a_batch_have_the_curve_of_the_whole(tiny, tmp_path):
    config = replace(tiny, batch=4, dropout=0.2)
    curves = []
    for parts in (1, 2):
        reports = run(CharRun.start(replace(config, accumulate=parts), tmp_path / f"run{parts}"))
        curves.append([report.train_loss for report in reports])
    np.testing.assert_allclose(curves[0], curves[1], rtol=1e-5)
    assert curves[0] != curves[1]
