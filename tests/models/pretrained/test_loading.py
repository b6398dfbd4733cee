"""`GPT.from_pretrained` beside the transformers library, and how it takes what is stored in other ways."""

import os
import tracemalloc

import numpy as np
import pytest
from support import hub

import forgenb as fnb
from forgenb.errors import ArgumentError, BackendError, CheckpointError, DTypeError
from forgenb.models import GPT, GPTConfig, generate
from forgenb.models.pretrained import loading

BOUNDS = {"float32": 1e-5, "float64": 1e-10}


def bits(model):
    return {name: (array.dtype, array.tobytes()) for name, array in model.state_dict().items()}


@pytest.fixture(scope="module")
def tensors():
    return hub.golden()


@pytest.mark.parametrize("dtype", BOUNDS)
def test_logits_and_greedy_ids_of_another_library(dtype):
    wanted, model = hub.expected(), GPT.from_pretrained(hub.GOLDEN, dtype=dtype)
    logits = wanted[f"logits{dtype[-2:]}"]
    found = model(wanted["ids"]).numpy()
    assert found.dtype == logits.dtype == dtype
    assert np.abs(found - logits).max() < BOUNDS[dtype] * np.abs(logits).max()
    assert generate(model, wanted["prompt"], 64, greedy=True) == wanted["greedy"].tolist()


def test_the_parameters_are_those_of_the_file(tensors):
    model = GPT.from_pretrained(str(hub.GOLDEN))
    assert model.config == GPTConfig(61, 80, 2, 3, 24, dropout=0.1)
    assert {name: array.tobytes() for name, array in model.state_dict().items()} == {
        name: array.tobytes() for name, array in tensors.items()
    }
    plain = GPT(model.config)
    assert [(p.name, p.decay, p.requires_grad, p.shape) for p in model.parameters()] == [
        (p.name, p.decay, True, p.shape) for p in plain.parameters()
    ]


def test_it_is_in_eval_mode_and_can_be_trained():
    model = GPT.from_pretrained(hub.GOLDEN)
    assert not any(module.training for module in model.modules())
    ids = hub.expected()["ids"]
    model.train().loss(ids[:, :-1], ids[:, 1:]).backward()
    assert all(p.grad is not None for p in model.parameters())


def test_dropout_is_that_of_the_config_or_of_the_call(tmp_path):
    assert GPT.from_pretrained(hub.GOLDEN, dropout=0.25).config.dropout == 0.25
    folder = hub.write(tmp_path / "m", attn_pdrop=0.3)
    with pytest.raises(CheckpointError, match=r"_pdrop, attn_pdrop are 0.1, 0.1, 0.3, GPT has one rate"):
        GPT.from_pretrained(folder)
    assert GPT.from_pretrained(folder, dropout=0).config.dropout == 0


def test_every_backend(each_backend, tensors):
    model = GPT.from_pretrained(hub.GOLDEN)
    assert model.wte.weight.backend.name == each_backend
    for name, array in model.state_dict().items():
        assert array.tobytes() == tensors[name].tobytes()


def test_a_backend_by_name():
    model = GPT.from_pretrained(hub.GOLDEN, backend="python")
    assert {p.backend.name for p in model.parameters()} == {"python"}
    with pytest.raises(BackendError, match="'nowhere'"):
        GPT.from_pretrained(hub.GOLDEN, backend="nowhere")


# What is stored in other ways


def test_the_prefix_does_not_matter(tmp_path, tensors):
    wanted = bits(GPT.from_pretrained(hub.GOLDEN))
    assert bits(GPT.from_pretrained(hub.write(tmp_path / "plain", tensors))) == wanted
    mixed = {f"transformer.{n}" if i % 2 else n: array for i, (n, array) in enumerate(tensors.items())}
    assert bits(GPT.from_pretrained(hub.write(tmp_path / "mixed", mixed))) == wanted
    twice = tensors | {"transformer.ln_f.bias": tensors["ln_f.bias"]}
    with pytest.raises(CheckpointError, match="twice' is not loaded: 'ln_f.bias' stands there twice, with and without"):
        GPT.from_pretrained(hub.write(tmp_path / "twice", twice))


@pytest.mark.parametrize("stored", ["float16", "float64"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_other_float_dtypes(tmp_path, tensors, stored, dtype):
    kept = {name: array.astype(stored) for name, array in tensors.items()}
    model = GPT.from_pretrained(hub.write(tmp_path / "m", kept), dtype=dtype)
    for name, array in model.state_dict().items():
        assert array.dtype == dtype
        assert np.array_equal(array, kept[name].astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bfloat16(tmp_path, tensors, dtype):
    kept = {name: hub.halved(array) for name, array in tensors.items()}
    model = GPT.from_pretrained(hub.write(tmp_path / "m", kept), dtype=dtype)
    for name, array in model.state_dict().items():
        assert array.dtype == dtype
        assert np.array_equal(hub.halved(array), kept[name])
        assert np.abs(array - tensors[name]).max() <= 2**-8 * np.abs(tensors[name]).max()


def test_dtypes_that_are_mixed(tmp_path, tensors):
    kept = {n: a.astype("float64") if i % 2 else hub.halved(a) for i, (n, a) in enumerate(tensors.items())}
    model = GPT.from_pretrained(hub.write(tmp_path / "m", kept))
    assert np.array_equal(model.wpe.weight.numpy(), tensors["wpe.weight"]) == (kept["wpe.weight"].dtype == "float64")


def test_shards(tmp_path, tensors):
    model = GPT.from_pretrained(hub.write_shards(tmp_path / "m", tensors))
    assert bits(model) == bits(GPT.from_pretrained(hub.GOLDEN))


def test_masks_are_left_out(tmp_path, tensors):
    masks = {
        "h.0.attn.bias": np.tril(np.ones((1, 1, 80, 80), "uint8")),
        "transformer.h.1.attn.bias": np.tril(np.ones((1, 1, 80, 80), bool)),
        "h.1.attn.masked_bias": np.array(-1e4, "float32"),
    }
    model = GPT.from_pretrained(hub.write(tmp_path / "m", masks | tensors))
    assert bits(model) == bits(GPT.from_pretrained(hub.GOLDEN))


def test_a_head_that_is_stored_is_the_table(tmp_path, tensors):
    wanted = bits(GPT.from_pretrained(hub.GOLDEN))
    folder = hub.write(tmp_path / "m", {"lm_head.weight": tensors["wte.weight"]} | tensors)
    assert bits(GPT.from_pretrained(folder)) == wanted
    halves = {name: array.astype("float16") for name, array in tensors.items()}
    hub.write(folder, halves | {"lm_head.weight": halves["wte.weight"]})
    assert GPT.from_pretrained(folder).config.vocab == 61
    other = tensors["wte.weight"].copy()
    other[60, 23] += 1
    hub.write(folder, tensors | {"lm_head.weight": other})
    with pytest.raises(CheckpointError, match=r"m/model.safetensors' has a lm_head.weight that is not wte.weight"):
        GPT.from_pretrained(folder)
    hub.write(folder, tensors | {"lm_head.weight": other[:60]})
    with pytest.raises(CheckpointError, match=r"lm_head.weight has shape \(60, 24\), needed is \(61, 24\)"):
        GPT.from_pretrained(folder)


# What is refused


def test_what_is_no_folder(tmp_path):
    for name in ("gpt2", str(tmp_path / "none"), hub.GOLDEN / "config.json", "x" * 5000):
        with pytest.raises(CheckpointError, match=r"is no folder here, and it downloads nothing. .*`hf download "):
            GPT.from_pretrained(name)
    for name in (5, None, "", "a\0b", "a\ud800"):
        with pytest.raises(ArgumentError, match="GPT.from_pretrained needs the name of a folder, got"):
            GPT.from_pretrained(name)


@pytest.mark.parametrize("rate", ["0.1", True, [0.1]])
def test_a_dropout_that_is_no_number(rate):
    with pytest.raises(ArgumentError, match="needs dropout to be a number or None"):
        GPT.from_pretrained(hub.GOLDEN, dropout=rate)


def test_arguments_that_no_model_has():
    with pytest.raises(ArgumentError, match="a dropout rate must be at least 0 and below 1, got 1"):
        GPT.from_pretrained(hub.GOLDEN, dropout=1)
    with pytest.raises(ArgumentError, match="needs a float dtype, got int64"):
        GPT.from_pretrained(hub.GOLDEN, dtype="int64")
    with pytest.raises(DTypeError, match="'bfloat16' is not supported"):
        GPT.from_pretrained(hub.GOLDEN, dtype="bfloat16")


def test_inside_of_a_recorded_step():
    with pytest.raises(ArgumentError, match="from_pretrained was called while a step is recorded"):
        fnb.compile(lambda x: GPT.from_pretrained(hub.GOLDEN)(x))(hub.expected()["ids"])


def test_all_that_does_not_fit_is_in_one_error(tmp_path, tensors):
    kept = dict(tensors)
    del kept["ln_f.bias"], kept["h.1.mlp.c_fc.weight"]
    kept["h.0.attn.c_attn.weight"] = kept["h.0.attn.c_attn.weight"].T.copy()
    kept["wpe.weight"] = kept["wpe.weight"].astype("int64")
    kept["score.weight"] = np.zeros(2, "float32")
    kept["h.0.attn.bias2\n"] = np.zeros(2, "float32")
    with pytest.raises(CheckpointError) as caught:
        GPT.from_pretrained(hub.write(tmp_path / "m", kept))
    text = str(caught.value)
    for part in (
        "m' are not those of the GPT-2 in its config.json",
        "ln_f.bias is missing",
        "h.1.mlp.c_fc.weight is missing",
        "h.0.attn.c_attn.weight has shape (72, 24), needed is (24, 72)",
        "wpe.weight has dtype int64, needed is float32",
        "'score.weight' is unknown here",
        r"'h.0.attn.bias2\n' is unknown here",
    ):
        assert part in text
    assert "\n" not in text


def test_a_long_list_is_cut(tmp_path):
    kept = {f"x{i:03}": np.zeros(0, "float32") for i in range(300)}
    with pytest.raises(CheckpointError, match=r"wte.weight is missing; .* and 308 more. Nothing was loaded"):
        GPT.from_pretrained(hub.write(tmp_path / "m", kept))


def test_sizes_that_nobody_could_allocate(tmp_path, tensors):
    for size in ({"n_layer": 2**62}, {"n_embd": 3 * 2**60}, {"vocab_size": 2**62}, {"n_positions": 2**62}):
        with pytest.raises(CheckpointError, match="are not those of the GPT-2 in its config.json: .*(shape|missing)"):
            GPT.from_pretrained(hub.write(tmp_path / "m", tensors, **size))


def test_a_model_that_the_machine_cannot_hold(monkeypatch):
    needed = 4 * GPTConfig(61, 80, 2, 3, 24).parameters
    monkeypatch.setattr(loading, "memory", lambda: needed)
    GPT.from_pretrained(hub.GOLDEN)
    with pytest.raises(CheckpointError, match=f"takes {2 * needed} bytes, and this machine has {needed} in all"):
        GPT.from_pretrained(hub.GOLDEN, dtype="float64")
    monkeypatch.setattr(loading, "memory", lambda: None)
    GPT.from_pretrained(hub.GOLDEN, dtype="float64")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("stored", ["float32", "float16", "bfloat16"])
def test_values_that_are_no_numbers(tmp_path, tensors, value, stored):
    array = tensors["h.1.mlp.c_fc.weight"].copy()
    array[5, 7] = value
    kept = tensors | {"h.1.mlp.c_fc.weight": array}
    kept = {n: hub.halved(a) if stored == "bfloat16" else a.astype(stored) for n, a in kept.items()}
    if stored == "bfloat16" and np.isnan(value):
        kept["h.1.mlp.c_fc.weight"][5, 7] = 0x7FC0
    with pytest.raises(CheckpointError, match=rf"'h.1.mlp.c_fc.weight' has {value} at position \(5, 7\) in float32"):
        GPT.from_pretrained(hub.write(tmp_path / "m", kept))


def test_a_value_behind_the_first_part_of_a_tensor(tmp_path):
    config = GPTConfig(vocab=40_000, context=1, layers=1, heads=1, width=8)
    kept = {name: np.zeros(shape, "float32") for name, shape in config.shapes()}
    kept["wte.weight"][39_999, 7] = np.inf
    sizes = {"vocab_size": 40_000, "n_positions": 1, "n_layer": 1, "n_head": 1, "n_embd": 8}
    with pytest.raises(CheckpointError, match=r"'wte.weight' has inf at position \(39999, 7\)"):
        GPT.from_pretrained(hub.write(tmp_path / "m", kept, **sizes))


def test_a_value_that_the_dtype_cannot_hold(tmp_path, tensors):
    kept = tensors | {"ln_f.bias": np.full(24, 1e5, "float32")}
    hub.write(tmp_path / "m", kept)
    assert GPT.from_pretrained(tmp_path / "m").ln_f.bias.numpy()[0] == 1e5
    with pytest.raises(CheckpointError, match=r"'ln_f.bias' has inf at position \(0,\) in float16, .* a wider dtype"):
        GPT.from_pretrained(tmp_path / "m", dtype="float16")


# Memory


def test_loading_takes_the_model_and_little_more(tmp_path):
    config = GPTConfig(vocab=60_000, context=4, layers=1, heads=1, width=64)
    kept = {name: np.zeros(shape, "float32") for name, shape in config.shapes()}
    sizes = {"vocab_size": 60_000, "n_positions": 4, "n_layer": 1, "n_head": 1, "n_embd": 64}
    hub.write(tmp_path / "m", {n: a.astype("float16") for n, a in kept.items()}, **sizes)
    GPT.from_pretrained(hub.GOLDEN)
    tracemalloc.start()
    try:
        with fnb.peak_memory() as peak:
            model = GPT.from_pretrained(tmp_path / "m")
        beside = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak.nbytes == 4 * config.parameters == sum(p.size * 4 for p in model.parameters())
    assert beside < 8 << 20 < peak.nbytes


def test_a_file_that_is_open_is_closed(tmp_path, tensors):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("the system does not list open files")
    before = os.listdir("/proc/self/fd")
    folder = hub.write_shards(tmp_path / "m", tensors)
    GPT.from_pretrained(folder)
    (folder / hub.SHARDS[1]).unlink()
    with pytest.raises(CheckpointError, match="00002.safetensors' cannot be read"):
        GPT.from_pretrained(folder)
    assert os.listdir("/proc/self/fd") == before
