"""`config.json` of a GPT-2, read into a `GPTConfig` and written from one.

Only a model that `GPT` computes is read: what its config says beyond sizes must be what GPT has, and is refused by
name otherwise. Keys that do not change what the model computes are left aside. Imports the sizes of a GPT and
`documents`; opening files is for others.
"""

from typing import Any

import numpy as np

from forgenb.errors import ArgumentError, CheckpointError
from forgenb.models.gpt import GPTConfig
from forgenb.storage.documents import listed, parsed, shown
from forgenb.storage.quantized.groups import BITS

__all__ = ["read_config", "written_config"]

SIZES = {"vocab": "vocab_size", "context": "n_positions", "layers": "n_layer", "heads": "n_head", "width": "n_embd"}
"""Names of `GPTConfig` -> those of the file."""

OLD_CONTEXT = "n_ctx"
DROPOUTS = ("resid_pdrop", "embd_pdrop", "attn_pdrop")
DROPOUT = 0.1
"""What a config that does not name a rate means."""

QUANTIZATION = "quantization_config"
OWN_METHOD = {"method": "forgenb", "bits": BITS}
"""What the config of a quantised model says of it, beside the size of a group; the file itself says how to read it.

The key is not the hub's `quant_method`: for a method that it does not know, the transformers library draws the weights
anew and only warns, and without a method it refuses the model.
"""

ONLY: dict[str, Any] = {
    "model_type": "gpt2",
    "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-5,
    "tie_word_embeddings": True,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "reorder_and_upcast_attn": False,
    "add_cross_attention": False,
    "is_encoder_decoder": False,
    "pruned_heads": {},
    QUANTIZATION: None,
}
"""What a key must say where it is there; each is also what its absence means."""

END = "eos_token_id"
END_OF_TEXT = 50256
"""What a config that does not name its end means."""


def read_config(data: bytes, place: str, dropout: float | None = None) -> GPTConfig:
    """The sizes in a `config.json`.

    Parameters
    ----------
    data
        The file's bytes.
    place
        Its name, for messages.
    dropout
        A rate in range, instead of the file's.

    Raises
    ------
    CheckpointError
        It is no JSON object, lacks a size, or describes a model that `GPT` is not; all that is wrong is listed.
    """
    about = parsed(data, f"{place!r} is damaged: it")
    if _is_own(about.get(QUANTIZATION)):
        del about[QUANTIZATION]
    wrong = [f"{key} is {shown(about[key])}, GPT has {value!r}" for key, value in ONLY.items() if _differs(about, key)]
    old = about.get(OLD_CONTEXT)
    context = about.setdefault(SIZES["context"], old)
    if old is not None and old != context:
        wrong.append(f"n_positions is {shown(context)}, and n_ctx {shown(old)}")
    sizes: dict[str, Any] = {name: about.get(key) for name, key in SIZES.items()}
    for name, key in SIZES.items():
        if type(sizes[name]) is not int or sizes[name] < 1:
            wrong.append(f"{key} must be a whole number from 1 and is {shown(sizes[name])}")
    inner, width = about.get("n_inner"), sizes["width"]
    if inner is not None and (type(width) is not int or type(inner) is not int or inner != 4 * width):
        wrong.append(f"n_inner is {shown(inner)}, GPT has 4 n_embd")
    rates = [about.get(key, DROPOUT) for key in DROPOUTS] if dropout is None else [dropout]
    if any(type(rate) not in (int, float) or rate != rates[0] for rate in rates):
        wrong.append(f"{', '.join(DROPOUTS)} are {', '.join(map(shown, rates))}, GPT has one rate (say dropout=0.1)")
    end = about.get(END, END_OF_TEXT)
    if end is not None and type(end) is not int:
        wrong.append(f"{END} is {shown(end)}, GPT has one id or none")
    if wrong:
        raise CheckpointError(f"{place!r} describes no model that GPT computes: {listed(wrong)}.")
    try:
        inside = type(end) is int and 0 <= end < sizes["vocab"]  # what no id is ends no text
        return GPTConfig(**sizes, dropout=float(rates[0]), end=end if inside else None)
    except (ArgumentError, OverflowError) as error:
        raise CheckpointError(f"{place!r} describes no model that GPT computes: {error}.") from error


def _differs(about: dict[str, Any], key: str) -> bool:
    value = about.get(key, ONLY[key])
    return type(value) is not type(ONLY[key]) or value != ONLY[key]


def _is_own(value: Any) -> bool:
    """Whether the weights are quantised as `GPT.save_quantized` does it."""
    return isinstance(value, dict) and OWN_METHOD.items() <= value.items()


def written_config(config: GPTConfig, dtype: np.dtype, group: int | None = None) -> dict[str, Any]:
    """The object that `config.json` holds: every key that says what the model computes, and those of its generation.

    Of a model that is quantised in groups it says so, for programs that cannot read such files.
    """
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        **{key: getattr(config, name) for name, key in SIZES.items()},
        OLD_CONTEXT: config.context,
        "n_inner": None,
        **{key: ONLY[key] for key in ("activation_function", "layer_norm_epsilon", "tie_word_embeddings")},
        **{key: ONLY[key] for key in ("scale_attn_weights", "scale_attn_by_inverse_layer_idx")},
        **{key: ONLY[key] for key in ("reorder_and_upcast_attn", "add_cross_attention")},
        **dict.fromkeys(DROPOUTS, config.dropout),
        "bos_token_id": config.end,
        END: config.end,
        "dtype": dtype.name,
        **({} if group is None else {QUANTIZATION: {**OWN_METHOD, "group_size": group}}),
    }
