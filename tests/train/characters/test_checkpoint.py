"""Checkpoints of a training run."""

import json
from dataclasses import replace

import numpy as np
import pytest

from forgenb.data import CharTokenizer
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.storage.files import read_arrays, write_arrays
from forgenb.storage.quantized.groups import dequantize, quantize
from forgenb.storage.quantized.writing import STORED, packed
from forgenb.train import (
    Checkpoint,
    TrainConfig,
    build_model,
    build_optimizer,
    load_checkpoint,
    save_checkpoint,
)
from forgenb.train.characters.checkpoint import KEY


@pytest.fixture
def checkpoint():
    config = TrainConfig(layers=1, heads=1, width=4, context=4)
    weights = {name: array + 1 for name, array in build_model(config, 3).state_dict().items()}
    moments = {"step": np.array(7), "count/ln_f.bias": np.array(5), "m/ln_f.bias": np.float32([1, 2, 3, 4])}
    moments["v/ln_f.bias"] = moments["m/ln_f.bias"] ** 2
    return Checkpoint(config, CharTokenizer("ab\u00e9"), "f" * 64, 7, 2.5, 1.25, weights, moments)


def test_round_trip(tmp_path, checkpoint):
    path = tmp_path / "c.safetensors"
    for wanted in (checkpoint, replace(checkpoint, best_val=None, optimizer={})):
        save_checkpoint(path, wanted)
        found = load_checkpoint(path)
        assert replace(found, model={}, optimizer={}) == replace(wanted, model={}, optimizer={})
        for mine, theirs in ((found.model, wanted.model), (found.optimizer, wanted.optimizer)):
            assert mine.keys() == theirs.keys()
            assert all(np.array_equal(mine[name], theirs[name]) for name in mine)


def test_a_quantised_checkpoint(tmp_path, checkpoint):
    wanted = replace(checkpoint, optimizer={}, model=build_model(checkpoint.config, 3).state_dict())
    save_checkpoint(tmp_path / "c", wanted, group=5)
    found = load_checkpoint(tmp_path / "c")
    assert replace(found, model={}) == replace(wanted, model={})
    assert found.model.keys() == wanted.model.keys()
    for name, array in wanted.model.items():
        kept = array if array.ndim < 2 else dequantize(*quantize(array, 5), 5, array.shape)
        assert (found.model[name].dtype, found.model[name].tobytes()) == (kept.dtype, kept.tobytes())
    assert not np.array_equal(found.model["wte.weight"], wanted.model["wte.weight"])
    found.restore("c", build_model(checkpoint.config, 3))


def test_training_does_not_go_on_from_codes(tmp_path, checkpoint):
    with pytest.raises(ArgumentError, match="c' was not written: a quantised checkpoint has no optimizer"):
        save_checkpoint(tmp_path / "c", checkpoint, group=64)
    with pytest.raises(ArgumentError, match="A group that is quantised has from 1 to 1073741824 numbers, got 0"):
        save_checkpoint(tmp_path / "c", replace(checkpoint, optimizer={}), group=0)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model.wte.weight": None}, "does not fit the model that it describes: model.wte.weight is missing"),
        ({"model.wte.weight": np.zeros((4, 4), "float32")}, r"model.wte.weight has shape \(4, 4\), needed is \(3, 4\)"),
        ({"model.wte.weight": np.zeros(4, "float32")}, r"model.wte.weight has shape \(4,\), needed is \(3, 4\)"),
        ({"model.more": np.zeros((4, 4), "float32")}, "model.more is unknown here"),
        ({"model.ln_f.bias": np.zeros(4, "float64")}, "model.ln_f.bias has dtype float64, needed is float32"),
        ({"model.ln_f.bias.ends": np.zeros((1, 2), "int32")}, "model.ln_f.bias.ends is unknown here"),
    ],
)
def test_codes_of_another_model(tmp_path, checkpoint, change, message):
    save_checkpoint(tmp_path / "c", replace(checkpoint, optimizer={}))
    arrays, metadata = read_arrays(tmp_path / "c")
    arrays = {name: array for name, array in (arrays | change).items() if array is not None}
    stored, texts = packed("c", arrays, 64)
    write_arrays(tmp_path / "c", stored, metadata | texts, STORED)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path / "c")


def test_ends_that_are_not_finite(tmp_path, checkpoint):
    save_checkpoint(tmp_path / "c", replace(checkpoint, optimizer={}))
    arrays, metadata = read_arrays(tmp_path / "c")
    stored, texts = packed("c", arrays, 4)
    stored["model.wpe.weight.ends"][2] = np.nan
    write_arrays(tmp_path / "c", stored, metadata | texts, STORED)
    with pytest.raises(CheckpointError, match=r"c' is not loaded: 'model.wpe.weight' has nan at position \(2, 0\)"):
        load_checkpoint(tmp_path / "c")


def test_a_file_of_tensors_is_no_checkpoint(tmp_path):
    write_arrays(tmp_path / "c", {"x": np.zeros(2)}, {"format": "pt"})
    with pytest.raises(CheckpointError, match="c' .* no checkpoint of a training run: it lacks the metadata"):
        load_checkpoint(tmp_path / "c")


def damaged(path, checkpoint, change):
    save_checkpoint(path, checkpoint)
    arrays, metadata = read_arrays(path)
    about = json.loads(metadata[KEY])
    change(about)
    write_arrays(path, arrays, {KEY: json.dumps(about)})
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda about: about.pop("step"), "is incomplete: its metadata lacks step"),
        (
            lambda about: about.update(step="1"),
            "in its metadata step must be a whole number from 0 and is '1'",
        ),
        (lambda about: about.update(step=True, seconds=-1.0), "step must .* is True; seconds must .* is -1.0"),
        (lambda about: about.update(step=-1), "step must be a whole number from 0 and is -1"),
        (lambda about: about.update(note=1), "in its metadata 'note' is unknown"),
        (lambda about: about.update(format=True), "has format True, this forgenb reads 1"),
        (lambda about: about.update(format=9), "has format 9, this forgenb reads 1"),
        (lambda about: about.update(characters="aa"), "is damaged. Character 'a' at position 1"),
        (lambda about: about["config"].pop("lr"), "does not hold the choices"),
        (lambda about: about["config"].update(lr=-1), "is damaged. .* lr must be a number above 0"),
        (lambda about: about.update(characters="ab\ud800"), "is damaged. Character .* is half of a surrogate pair"),
        (
            lambda about: about.update(characters="ab"),
            r"not fit the model that it describes: .*model.wte.weight has shape \(3, 4\), needed is \(2, 4\)",
        ),
    ],
)
def test_damaged_metadata(tmp_path, checkpoint, change, message):
    path = damaged(tmp_path / "c.safetensors", checkpoint, change)
    with pytest.raises(CheckpointError, match=f"c.safetensors' .*{message}"):
        load_checkpoint(path)


def test_metadata_that_is_no_json(tmp_path):
    write_arrays(tmp_path / "c", {"x": np.zeros(2)}, {KEY: "{"})
    with pytest.raises(CheckpointError, match="c' is damaged: its metadata is no JSON that is read here .Expecting"):
        load_checkpoint(tmp_path / "c")


def test_no_model_in_it(tmp_path, checkpoint):
    save_checkpoint(tmp_path / "c", replace(checkpoint, model={}))
    with pytest.raises(CheckpointError, match="c' is incomplete: it lacks every tensor of the model"):
        load_checkpoint(tmp_path / "c")


def test_restore_names_what_is_missing_and_changes_nothing(checkpoint):
    model = build_model(checkpoint.config, 3)
    before = model.state_dict()
    lacking = {name: array + 1 for name, array in before.items() if name != "ln_f.bias"}
    with pytest.raises(CheckpointError, match="'p' does not fit this model: .* ln_f.bias is missing"):
        replace(checkpoint, model=lacking).restore("p", model)
    wide = {**before, "ln_f.bias": np.zeros(5, np.float32)}
    with pytest.raises(CheckpointError, match=r"ln_f.bias has shape \(5,\), needed is \(4,\)"):
        replace(checkpoint, model=wide).restore("p", model)
    assert all(np.array_equal(array, before[name]) for name, array in model.state_dict().items())
    replace(checkpoint, model={name: array + 1 for name, array in before.items()}).restore("p", model)
    assert np.array_equal(model.state_dict()["ln_f.bias"], before["ln_f.bias"] + 1)


def test_an_optimiser_that_does_not_fit_leaves_the_model_too(checkpoint):
    model = build_model(checkpoint.config, 3)
    optimizer = build_optimizer(checkpoint.config, model)
    before, state = model.state_dict(), optimizer.state_dict()
    with pytest.raises(CheckpointError, match="'p' does not fit this model: .* m/x is unknown here"):
        replace(checkpoint, optimizer={**checkpoint.optimizer, "m/x": np.zeros(1)}).restore("p", model, optimizer)
    assert all(np.array_equal(array, before[name]) for name, array in model.state_dict().items())
    assert optimizer.state_dict() == state
    checkpoint.restore("p", model, optimizer)
    assert optimizer.steps == 7
    assert np.array_equal(model.state_dict()["wte.weight"], before["wte.weight"] + 1)


def test_what_could_not_be_loaded_is_not_written(tmp_path, checkpoint):
    path = tmp_path / "c"
    save_checkpoint(path, checkpoint)
    old = path.read_bytes()
    bad = {**checkpoint.model, "ln_f.bias": np.float32([1, np.inf, 2, 3])}
    with pytest.raises(CheckpointError, match=r"c' was not written: 'model.ln_f.bias' has inf at position \(1,\)"):
        save_checkpoint(path, replace(checkpoint, model=bad))
    with pytest.raises(CheckpointError, match="c' was not written. Character .* is half of a surrogate pair"):
        save_checkpoint(path, replace(checkpoint, tokenizer=CharTokenizer("a\ud800")))
    many = CharTokenizer("".join(map(chr, range(0x10000, 0x10000 + 90_000))))
    with pytest.raises(CheckpointError, match="c' was not written: its JSON has .* bytes"):
        save_checkpoint(path, replace(checkpoint, tokenizer=many))
    assert path.read_bytes() == old


def test_a_model_of_other_sizes_is_not_read(tmp_path, checkpoint):
    wide = replace(checkpoint, config=replace(checkpoint.config, width=2**40))
    save_checkpoint(tmp_path / "c", wide)
    with pytest.raises(CheckpointError, match=r"model.wte.weight has shape \(3, 4\), needed is \(3, 1099511627776\)"):
        load_checkpoint(tmp_path / "c")
