"""A GPT-2's folder in PyTorch: safetensors' own reader into a model, or the transformers library."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from .specs import Transformer
from .with_torch import GPT, fill

__all__ = ["PACKAGES", "forget", "load", "numbers"]

PACKAGES = ("torch", "safetensors", "transformers")


def load(contender: str, folder: str) -> torch.nn.Module:
    """The model of a folder, without initial values that nobody needs."""
    if contender == "transformers":
        from transformers import GPT2LMHeadModel

        return GPT2LMHeadModel.from_pretrained(folder)
    from safetensors.torch import load_file

    about = json.loads(Path(folder, "config.json").read_text())
    names = {"vocab": "vocab_size", "context": "n_positions", "layers": "n_layer", "heads": "n_head", "width": "n_embd"}
    with torch.device("meta"):
        model = GPT(Transformer(**{name: about[key] for name, key in names.items()}, batch=1))
    model.to_empty(device="cpu")
    fill(model, load_file(Path(folder, "model.safetensors")))
    return model


def numbers(model: torch.nn.Module) -> list[np.ndarray]:
    """Its parameters."""
    return [parameter.detach().numpy() for parameter in model.parameters()]


def forget() -> None:
    """Large memory is the system's again as soon as nobody has it."""
