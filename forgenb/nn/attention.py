"""Attention with several heads, over the same sequence or another.

Imports the ops, `linear` and `module`; a layer has no kernel of its own.
"""

from __future__ import annotations

from typing import Any

from .. import random
from ..errors import ArgumentError
from ..ops.attention import attention
from ..ops.joining import concat
from ..ops.movement import reshape, transpose
from ..ops.rope import rope
from ..ops.unfused_attention import unfused_attention
from ..tensor import Tensor
from .linear import Linear
from .module import Module


class MultiHeadAttention(Module):
    r"""Scaled dot product attention in several heads: :math:`y = concat_i(softmax(q_i k_i^T / \sqrt d)\,v_i)\,W + b`.

    A causal layer over its own sequence runs through the fused op, `forgenb.ops.attention`, which keeps no weights for
    backward; any other, or one that is asked for its weights, through `forgenb.ops.unfused_attention`.

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

    def forward(self, x: Tensor, memory: Tensor | None = None, weights: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        """Map queries ``x[b, t, width]`` to ``[b, t, width]``; keys and values come from `memory`, or from x.

        With `weights` the result is a pair: what each query takes from each key comes second, ``[b, heads, t, s]``.
        """
        source = x if memory is None else memory
        q, k, v = self.query(x), self.key(source), self.value(source)
        if self.rotary:
            q, k = self._together(rope(self._heads(q))), self._together(rope(self._heads(k)))
        if self.causal and memory is None and not weights:
            return self.out(attention(concat([q, k, v], axis=-1), self.heads))
        y, shares = unfused_attention(*map(self._heads, (q, k, v)), causal=self.causal, weights=True)
        out = self.out(self._together(y))
        return (out, shares) if weights else out

    def _heads(self, x: Tensor) -> Tensor:
        """``[b, t, width]`` as ``[b, heads, t, width / heads]``."""
        b, t, width = x.shape
        return transpose(reshape(x, (b, t, self.heads, width // self.heads)), (0, 2, 1, 3))

    def _together(self, x: Tensor) -> Tensor:
        """``[b, heads, t, width / heads]`` as ``[b, t, width]``."""
        b, heads, t, columns = x.shape
        return reshape(transpose(x, (0, 2, 1, 3)), (b, t, heads * columns))
