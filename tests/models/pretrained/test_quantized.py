"""`GPT.save_quantized`: matrices as codes, norms and biases bit for bit, and a model that `from_pretrained` reads."""

import json
import os

import numpy as np
import pytest
import safetensors.numpy
from support import hub

from forgenb.errors import ArgumentError, CheckpointError
from forgenb.models import GPT, GPTConfig
from forgenb.storage.quantized.groups import dequantize, quantize

SMALL = GPTConfig(vocab=7, context=5, layers=2, heads=2, width=6, dropout=0.2)


@pytest.fixture
def model():
    """One whose norms and biases are not what they are in every new model."""
    made = GPT(SMALL, seed=3)
    draw = np.random.default_rng(8)
    made.load_state_dict(
        {name: draw.normal(0, 0.1, a.shape).astype("float32") for name, a in made.state_dict().items()}
    )
    return made


def expected(array, group):
    return array if array.ndim < 2 else dequantize(*quantize(array, group), group, array.shape)


@pytest.mark.parametrize("group", [64, 5])
def test_what_is_saved_is_loaded(tmp_path, model, group):
    model.save_quantized(str(tmp_path / "new" / "m"), group)
    found = GPT.from_pretrained(tmp_path / "new" / "m")
    assert (found.config, found.training) == (SMALL, False)
    wanted, got = model.state_dict(), found.state_dict()
    assert got.keys() == wanted.keys()
    for name, array in wanted.items():
        assert (got[name].dtype, got[name].tobytes()) == ("float32", expected(array, group).tobytes())
    about = json.loads((tmp_path / "new" / "m" / "config.json").read_text())
    assert about["quantization_config"]["group_size"] == group


def test_the_default_group_has_64_numbers(tmp_path, model):
    model.save_quantized(tmp_path / "m")
    ends = safetensors.numpy.load_file(tmp_path / "m" / hub.WHOLE)["h.1.attn.c_attn.weight.ends"]
    assert ends.shape == (-(-6 * 18 // 64), 2)


def test_norms_and_biases_are_not_touched(tmp_path, model):
    model.save_quantized(tmp_path / "m")
    stored, wanted = safetensors.numpy.load_file(tmp_path / "m" / hub.WHOLE), model.state_dict()
    vectors = {name for name in wanted if name.endswith("bias") or "ln_" in name}
    assert {name for name in stored if not name.endswith((".codes", ".ends"))} == vectors
    assert all(stored[name].tobytes() == wanted[name].tobytes() for name in vectors)
    assert {name.removesuffix(".codes") for name in stored if name.endswith(".codes")} == wanted.keys() - vectors


@pytest.mark.parametrize("group", [64, 7])
def test_the_size_of_the_file(tmp_path, model, group):
    model.save_quantized(tmp_path / "m", group)
    data = (tmp_path / "m" / hub.WHOLE).read_bytes()
    header = 8 + int.from_bytes(data[:8], "little")
    sizes = [(np.prod(shape), len(shape)) for _, shape in SMALL.shapes()]
    wanted = sum(-(-n // 2) + 8 * -(-n // group) if axes == 2 else 4 * n for n, axes in sizes)
    assert len(data) - header == wanted


def test_a_large_model_is_more_than_five_times_smaller():
    """By the same formula, for the six layers of width 384 that learn characters."""
    sizes = [(int(np.prod(shape)), len(shape)) for _, shape in GPTConfig(65, 256, 6, 6, 384).shapes()]
    small = sum(-(-n // 2) + 8 * -(-n // 64) if axes == 2 else 4 * n for n, axes in sizes)
    assert 4 * sum(n for n, _ in sizes) / small > 6.2


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_dtypes(tmp_path, model, dtype):
    same = GPT(SMALL, dtype=dtype)
    same.load_state_dict({name: array.astype(dtype) for name, array in model.state_dict().items()})
    same.save_quantized(tmp_path / "m")
    found = GPT.from_pretrained(tmp_path / "m", dtype=dtype).state_dict()
    for name, array in same.state_dict().items():
        assert found[name].tobytes() == expected(array, 64).astype(dtype).tobytes()


def test_saving_again_changes_nothing(tmp_path, model):
    model.save_quantized(tmp_path / "a", 8)
    once = GPT.from_pretrained(tmp_path / "a")
    once.save_quantized(tmp_path / "b", 8)
    twice = GPT.from_pretrained(tmp_path / "b").state_dict()
    assert all(np.array_equal(array, twice[name]) for name, array in once.state_dict().items())


def test_the_model_itself_stays_as_it_is(tmp_path, model):
    before = {name: array.tobytes() for name, array in model.state_dict().items()}
    model.save_quantized(tmp_path / "m")
    assert {name: array.tobytes() for name, array in model.state_dict().items()} == before


def test_refusals(tmp_path, model):
    with pytest.raises(ArgumentError, match="GPT.save_quantized needs the name of a folder, got ''"):
        model.save_quantized("")
    for group in (0, None):
        with pytest.raises(ArgumentError, match=f"A group that is quantised has from 1 to .* numbers, got {group}"):
            model.save_quantized(tmp_path / "m", group)
    values = model.wpe.weight.numpy().copy()
    values[1, 2] = np.inf
    model.load_state_dict(model.state_dict() | {"wpe.weight": values})
    with pytest.raises(CheckpointError, match=r"was not written: 'wpe.weight' has inf at position \(1, 2\)"):
        model.save_quantized(tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_a_file_of_another_model(tmp_path, model):
    model.save_quantized(tmp_path / "m")
    GPT(GPTConfig(vocab=8, context=5, layers=1, heads=2, width=6)).save_quantized(tmp_path / "other")
    os.replace(tmp_path / "other" / hub.WHOLE, tmp_path / "m" / hub.WHOLE)
    with pytest.raises(CheckpointError, match=r"h.1.ln_1.weight is missing.*wte.weight has shape \(8, 6\), needed is"):
        GPT.from_pretrained(tmp_path / "m")


def test_ends_that_are_not_finite(tmp_path, model):
    model.save_quantized(tmp_path / "m")
    with safetensors.safe_open(tmp_path / "m" / hub.WHOLE, "numpy") as file:
        texts = file.metadata()
    stored = safetensors.numpy.load_file(tmp_path / "m" / hub.WHOLE)
    stored["wte.weight.ends"][0] = np.nan
    safetensors.numpy.save_file(stored, tmp_path / "m" / hub.WHOLE, texts)
    with pytest.raises(CheckpointError, match=r"is not loaded: 'wte.weight' has nan at position \(0, 0\)"):
        GPT.from_pretrained(tmp_path / "m")
