"""`config.json`: which models are read, and what is written."""

import json

import numpy as np
import pytest
from support import hub

from forgenb.errors import CheckpointError
from forgenb.models import GPT, GPTConfig
from forgenb.models.pretrained.config import read_config, written_config

SIZES = {"vocab_size": 5, "n_positions": 4, "n_layer": 1, "n_head": 2, "n_embd": 6}
READ = GPTConfig(vocab=5, context=4, layers=1, heads=2, width=6, dropout=0.1)


def read(changed, dropout=None):
    about = {key: value for key, value in (SIZES | changed).items() if value != "absent"}
    return read_config(json.dumps(about).encode(), "c", dropout)


def test_sizes_alone_are_enough():
    assert read({}) == READ
    assert read({"n_positions": "absent", "n_ctx": 4}) == READ
    assert read({"n_ctx": None}) == READ
    assert read({"n_ctx": 4, "n_inner": 24, "quantization_config": None, "note": [1], "n_head": 2}) == READ
    assert read({"resid_pdrop": 0, "embd_pdrop": 0.0, "attn_pdrop": 0}).dropout == 0
    assert read({"resid_pdrop": 0.3}, 0.2).dropout == 0.2


def test_a_model_that_is_quantised_here():
    about = written_config(READ, np.dtype("float32"), 32)
    assert about["quantization_config"] == {"method": "forgenb", "bits": 4, "group_size": 32}
    assert read(about) == READ
    assert "quantization_config" not in written_config(READ, np.dtype("float32"))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("activation_function", "gelu", "activation_function is 'gelu', GPT has 'gelu_new'"),
        ("activation_function", "relu", "activation_function is 'relu', GPT has 'gelu_new'"),
        ("scale_attn_by_inverse_layer_idx", True, "scale_attn_by_inverse_layer_idx is True, GPT has False"),
        ("reorder_and_upcast_attn", True, "reorder_and_upcast_attn is True, GPT has False"),
        ("scale_attn_weights", False, "scale_attn_weights is False, GPT has True"),
        ("scale_attn_weights", 1, "scale_attn_weights is 1, GPT has True"),
        ("tie_word_embeddings", False, "tie_word_embeddings is False, GPT has True"),
        ("layer_norm_epsilon", 1e-6, "layer_norm_epsilon is 1e-06, GPT has 1e-05"),
        ("add_cross_attention", True, "add_cross_attention is True"),
        ("is_encoder_decoder", True, "is_encoder_decoder is True"),
        ("pruned_heads", {"0": [1]}, "pruned_heads is {'0': .1.}"),
        ("quantization_config", {"bits": 4}, "quantization_config is {'bits': 4}, GPT has None"),
        ("quantization_config", {"method": "forgenb", "bits": 3}, "'bits': 3}, GPT has None"),
        ("quantization_config", {"quant_method": "gptq", "bits": 4}, "quantization_config is .*, GPT has None"),
        ("model_type", "gpt_neo", "model_type is 'gpt_neo', GPT has 'gpt2'"),
        ("n_inner", 23, "n_inner is 23, GPT has 4 n_embd"),
        ("n_inner", "24", "n_inner is '24', GPT has 4 n_embd"),
        ("n_ctx", 5, "n_positions is 4, and n_ctx 5"),
        ("n_positions", "absent", "n_positions must be a whole number from 1 and is None"),
        ("vocab_size", True, "vocab_size must be a whole number from 1 and is True"),
        ("n_layer", 0, "n_layer must be a whole number from 1 and is 0"),
        ("n_embd", 6.0, "n_embd must be a whole number from 1 and is 6.0"),
        ("n_head", "2", "n_head must be a whole number from 1 and is '2'"),
        ("n_head", 4, "heads=4 must divide width=6"),
        ("attn_pdrop", 0.2, "resid_pdrop, embd_pdrop, attn_pdrop are 0.1, 0.1, 0.2, GPT has one rate"),
        ("resid_pdrop", "0.1", "are '0.1', 0.1, 0.1, GPT has one rate"),
        ("attn_pdrop", False, "are 0.1, 0.1, False, GPT has one rate"),
    ],
)
def test_a_model_that_gpt_is_not(key, value, message):
    with pytest.raises(CheckpointError, match=f"'c' describes no model that GPT computes: .*{message}"):
        read({key: value})


def test_rates_that_are_none():
    for rate in (1, -0.5, 10**19):
        with pytest.raises(CheckpointError, match="a dropout rate must be at least 0 and below 1"):
            read(dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), rate))


def test_everything_is_listed():
    with pytest.raises(CheckpointError, match="model_type is 'bert'.*; n_layer must be .*; n_inner is 7"):
        read({"model_type": "bert", "n_layer": None, "n_inner": 7})


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", "no JSON"), (b"[]", "no JSON object"), (b'{"a": NaN}', "NaN"), (b'{"a": 1, "a": 1}', "'a' stands twice")],
)
def test_what_is_no_config(data, message):
    with pytest.raises(CheckpointError, match=f"'c' is damaged: it .*{message}"):
        read_config(data, "c")


SMALL = GPTConfig(61, 8, 1, 1, 2)


def test_what_is_written_is_read():
    config = GPTConfig(vocab=50257, context=8, layers=3, heads=2, width=10, dropout=0.25, end=50256)
    about = written_config(config, np.dtype("float64"))
    assert read_config(json.dumps(about).encode(), "c") == config
    assert (about["dtype"], about["eos_token_id"]) == ("float64", 50256)
    assert (about["n_ctx"], about["n_inner"]) == (8, None)


@pytest.mark.parametrize(
    ("changes", "vocab", "end"),
    [({}, 50257, 50256), ({}, 61, None), ({"eos_token_id": 7}, 61, 7), ({"eos_token_id": None}, 50257, None),
     ({"eos_token_id": 61}, 61, None), ({"eos_token_id": -1}, 61, None)],
)  # fmt: skip
def test_the_end_of_a_text_is_read_and_written(changes, vocab, end):
    about = {key: value for key, value in written_config(SMALL, np.dtype("float32")).items() if key != "eos_token_id"}
    config = read_config(json.dumps(about | changes | {"vocab_size": vocab}).encode(), "c")
    assert config.end == end
    written = written_config(config, np.dtype("float32"))
    assert (written["eos_token_id"], written["bos_token_id"]) == (end, end)
    for wrong in ([1, 2], "a", True, 1.0):
        with pytest.raises(CheckpointError, match="eos_token_id is .*, GPT has one id or none"):
            read_config(json.dumps(about | {"eos_token_id": wrong}).encode(), "c")


def test_what_is_written_is_what_transformers_writes():
    """But for what `GPT` does not compute, such as summaries of a sequence; bos and eos are outside of 61 ids."""
    theirs = json.loads((hub.GOLDEN / "config.json").read_text())
    ours = written_config(GPT.from_pretrained(hub.GOLDEN).config, np.dtype("float32"))
    assert ours.pop("n_ctx") == 80
    assert ours.items() <= theirs.items()
    others = ("initializer_range", "summary_", "transformers_version", "use_cache", "pad_token_id")
    assert [key for key in theirs.keys() - ours.keys() if not key.startswith(others)] == []
