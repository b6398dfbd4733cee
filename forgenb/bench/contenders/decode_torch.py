"""PyTorch in eager mode with a cache of keys and values that has all its places from the start."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from .specs import Decoder, Transformer
from .with_torch import GPT, PACKAGES, Block, fill

__all__ = ["PACKAGES", "decoder"]


def decoder(spec: Transformer, arrays: dict[str, np.ndarray], threads: int) -> Decoder:
    """A decoder of the model with these values."""
    torch.set_num_threads(threads)
    cached = Cached(spec)
    fill(cached.model, {name: torch.from_numpy(array) for name, array in arrays.items()})
    return Decoder(cached.prefill, cached.step)


class Cached:
    """A model, and the keys and values of what it has read, ``[1, heads, context, width / heads]`` a layer."""

    def __init__(self, spec: Transformer):
        self.model = GPT(spec).eval()
        shape = 1, spec.heads, spec.context, spec.width // spec.heads
        self.keys, self.values = ([torch.zeros(shape) for _ in range(spec.layers)] for _ in range(2))
        self.length = 0

    def prefill(self, ids: list[int]) -> tuple[int, float]:
        """Forget everything and read a prompt."""
        self.length = 0
        return self._read(ids)

    def step(self, last: int) -> tuple[int, float]:
        """Read one id more."""
        return self._read([last])

    @torch.inference_mode()
    def _read(self, ids: list[int]) -> tuple[int, float]:
        model, end = self.model, self.length + len(ids)
        x = model.wte(torch.tensor([ids])) + model.wpe(torch.arange(self.length, end))
        for block, keys, values in zip(model.h, self.keys, self.values):
            x = self._layer(block, x, keys, values, end)
        self.length = end
        logit, place = (model.ln_f(x[:, -1]) @ model.wte.weight.T).max(-1)
        return int(place.item()), float(logit.item())

    def _layer(self, block: Block, x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, end: int) -> torch.Tensor:
        """``x[1, t, c]`` of the ids that are new."""
        _, t, c = x.shape
        parts = block.attn["c_attn"](block.ln_1(x)).split(c, 2)
        q, k, v = (part.view(1, t, block.heads, c // block.heads).transpose(1, 2) for part in parts)
        keys[:, :, self.length : end], values[:, :, self.length : end] = k, v
        mixed = F.scaled_dot_product_attention(q, keys[:, :, :end], values[:, :, :end], is_causal=t > 1)
        x = x + block.attn["c_proj"](mixed.transpose(1, 2).reshape(1, t, c))
        return x + block.mlp["c_proj"](F.gelu(block.mlp["c_fc"](block.ln_2(x)), approximate="tanh"))
