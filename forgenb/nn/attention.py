"""Attention with several heads, over the same sequence or another.

Imports the ops, `linear` and `module`; a layer has no kernel of its own.
"""

from __future__ import annotations

from typing import Any

from .. import random
from ..errors import ArgumentError
from ..ops.movement import reshape, transpose
from ..ops.rope import rope
from ..ops.unfused_attention import unfused_attention
from ..tensor import Tensor
from .linear import Linear
from .module import Module


class MultiHeadAttention(Module):
    r"""Scaled dot product attention in several heads: :math:`y = concat_i(softmax(q_i k_i^T / \sqrt d)\,v_i)\,W + b`.

    Parameters
    ----------
    width : int
        Of queries, keys, values and results.
    heads : int
        Divides the width.
    causal : bool
        Whether a query sees itself and what came before, only.
    bias : bool
        Whether the four projections have one.
    rotary : bool
        Whether queries and keys are turned by their places, see `forgenb.ops.rope`.
    seed, name, dtype, backend : optional
        As for `Linear`.

    Attributes
    ----------
    query, key, value, out : Linear
        The projections, ``(width, width)``; the columns of the first three are head after head.

    References
    ----------
    Vaswani et al., "Attention Is All You Need", 2017, section 3.2.2.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        causal: bool = False,
        bias: bool = True,
        rotary: bool = False,
        *,
        seed: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        backend: str | None = None,
    ):
        if heads < 1 or width < 1 or width % heads or (rotary and width // heads % 2):
            raise ArgumentError(
                f"MultiHeadAttention needs heads that divide the width, into an even number where rotary, got "
                f"width={width}, heads={heads} and rotary={rotary}"
            )
        name = random.fresh_name("attention") if name is None else name
        self.heads, self.causal, self.rotary = heads, causal, rotary
        self.query, self.key, self.value, self.out = (
            Linear(width, width, bias, seed=seed, name=f"{name}.{part}", dtype=dtype, backend=backend)
            for part in ("query", "key", "value", "out")
        )

    def forward(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        """Map queries ``x[b, t, width]`` to ``[b, t, width]``; keys and values come from `memory`, or from x."""
        source = x if memory is None else memory
        q, k, v = self._heads(self.query(x)), self._heads(self.key(source)), self._heads(self.value(source))
        if self.rotary:
            q, k = rope(q), rope(k)
        y = transpose(unfused_attention(q, k, v, self.causal), (0, 2, 1, 3))
        return self.out(reshape(y, x.shape))

    def _heads(self, x: Tensor) -> Tensor:
        """``[b, t, width]`` as ``[b, heads, t, width / heads]``."""
        b, t, width = x.shape
        return transpose(reshape(x, (b, t, self.heads, width // self.heads)), (0, 2, 1, 3))
