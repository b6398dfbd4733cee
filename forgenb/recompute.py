"""Activation checkpointing: a part of a model whose inner values backward computes again instead of keeping them.

Imports the tape, the sweep and tensors; which part is worth it is for a model to say. No op and no module may be named
here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .sweep import gradients
from .tape import is_recording, no_grad, record, recording
from .tensor import Tensor

__all__ = ["recomputed"]


def recomputed(function: Callable[[Tensor], Tensor], x: Tensor, parameters: Iterable[Tensor] = ()) -> Tensor:
    """``function(x)``, of which only `x` and `parameters` are kept; backward calls `function` a second time.

    A chain of n such parts keeps n inputs and the inner values of one part, for one more forward pass. Value and
    gradients have the bits of ``function(x)``: the same ops run in the same order.

    Parameters
    ----------
    function : callable
        Maps a tensor to a new tensor, and computes the same each time, with masks that depend on numbers alone.
    x : Tensor
        Its input.
    parameters : iterable of Tensor
        All else that it differentiates by. What is not among them gets no gradient.

    Returns
    -------
    Tensor
        Tracked where one of those is, with one node on the tape.

    References
    ----------
    Chen et al., "Training deep nets with sublinear memory cost", 2016.
    """
    if not is_recording():
        return function(x)
    with no_grad():
        out = function(x)
    inputs = (x, *parameters)

    def backward(dout):
        again = is_recording()
        with recording(True):
            twin = function(x)
        targets = [t for t in inputs if t.requires_grad]
        found = iter(gradients([twin], [dout], targets, again))
        return tuple(next(found) if t.requires_grad else None for t in inputs)

    return record(out, inputs, backward)
