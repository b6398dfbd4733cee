"""What a pass of a decoder computes on its way, noted for a trace and read back with the logits in one copy.

Imports the records of `trace`, joining and tensors; nothing is computed here, and what is noted is decided by a tracer.
"""

from __future__ import annotations

import numpy as np

from ..layout import count
from ..ops.joining import concat
from ..ops.movement import reshape
from ..tensor import Tensor
from .trace import LayerDetail, Pass, Tracer

__all__ = ["Noted", "Notes", "pass_of"]

Noted = dict[tuple[str, int], np.ndarray]
"""Values by name and layer."""

_PLAIN = ("ln1_out", "projection", "residual", "ln2_out", "mlp_hidden", "block_out")


class Notes:
    """The values of one pass that a tracer wants.

    Parameters
    ----------
    tracer : Tracer or None
        Without one nothing is noted, and `packed` gives the logits as they are.
    """

    def __init__(self, tracer: Tracer | None):
        self.attention = tracer is not None and tracer.attention
        self.layers = 0 if tracer is None else tracer.layers
        self._tensors: list[Tensor] = []
        self._places: list[tuple[str, int, tuple[int, ...]]] = []

    def add(self, name: str, value: Tensor, layer: int = 0) -> None:
        """Note a value of a layer that is wanted in detail, or of the whole model where a layer is."""
        if layer < self.layers:
            self.keep(name, value, layer)

    def keep(self, name: str, value: Tensor, layer: int) -> None:
        """Note a value, whatever is wanted in detail."""
        self._tensors.append(value)
        self._places.append((name, layer, value.shape))

    def packed(self, logits: Tensor) -> Tensor:
        """The logits and all that was noted as one row; the logits themselves where that is nothing."""
        if not self._tensors:
            return logits
        parts = [reshape(t, (-1,)) for t in (logits, *self._tensors)]
        self._tensors = []
        return concat(parts)

    def unpacked(
        self, row: np.ndarray, logits: tuple[int, int]
    ) -> tuple[np.ndarray, dict[tuple[str, int], np.ndarray]]:
        """The logits, of the given shape, and what was noted by name and layer, from the values of `packed`."""
        values = np.array(row).reshape(-1)
        start, found = count(logits), Noted()
        for name, layer, shape in self._places:
            found[name, layer] = values[start : start + count(shape)].reshape(shape)
            start += count(shape)
        return values[: count(logits)].reshape(logits), found


def pass_of(found: Noted, row: int, seen: int, whole: bool, heads: int) -> Pass:
    """What was noted of one sequence of a batch, without what it was filled up with.

    Parameters
    ----------
    found : dict
        See `Notes.unpacked`.
    row, seen : int
        Which sequence, and how many ids of it were read by now.
    whole : bool
        Whether the pass read a prompt, or one id.
    heads : int
        Of a layer.
    """

    def tokens(name: str, layer: int = 0) -> np.ndarray:
        own = found[name, layer][row]
        return own[:seen] if whole else own

    def of_keys(name: str, layer: int) -> np.ndarray:
        own = found[name, layer][row]
        return own[:, :seen, :seen] if whole else own.reshape(heads, -1)[:, :seen]

    attention = [of_keys(name, layer) for name, layer in found if name == "weights"]
    layers = []
    for layer in sorted({layer for name, layer in found if name == "block_out"}):
        q, k, v = (_by_head(third, heads) for third in np.split(tokens("qkv", layer), 3, -1))
        mixed = _by_head(tokens("mixed", layer), heads)
        rest = {name: tokens(name, layer) for name in _PLAIN}
        layers.append(LayerDetail(q=q, k=k, v=v, scores=of_keys("scores", layer), attention_out=mixed, **rest))
    return Pass(
        attention=np.stack(attention) if attention else None,
        embedding=tokens("embedding") if layers else None,
        layers=tuple(layers),
        hidden=found["hidden", 0][row] if layers else None,
    )


def _by_head(x: np.ndarray, heads: int) -> np.ndarray:
    """``[.., c]`` as ``[heads, .., c / heads]``."""
    return np.moveaxis(x.reshape(*x.shape[:-1], heads, -1), -2, 0)
