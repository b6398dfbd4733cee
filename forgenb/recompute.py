"""Activation checkpointing: a part of a model whose inner values backward computes again instead of keeping them.

Imports the tape, the sweep and tensors; which part is worth it is for a model to say. No op and no module may be named
here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .errors import ArgumentError, TapeError
from .sweep import gradients
from .tape import is_recording, next_number, no_grad, record, recording
from .tensor import Tensor

__all__ = ["recomputed"]


def recomputed(function: Callable[[Tensor], Tensor], x: Tensor, parameters: Iterable[Tensor] = ()) -> Tensor:
    """``function(x)``, of which only `x` and `parameters` are kept; backward calls `function` a second time.

    A chain of n such parts keeps n inputs and the inner values of one part, for one more forward pass. Value and
    gradients have the bits of ``function(x)``: the same ops run in the same order.

    Parameters
    ----------
    function : callable
        Maps a tensor to a tensor, and computes the same each time, with masks that depend on numbers alone.
    x : Tensor
        Its input.
    parameters : iterable of Tensor
        All else that it differentiates by. What is not among them gets no gradient.

    Returns
    -------
    Tensor
        Tracked where one of those is, with one node on the tape.

    Raises
    ------
    ArgumentError
        `x`, a parameter or the result is no tensor.
    TapeError
        In backward: the second call gave another shape or dtype, or an input was changed in place in between.

    References
    ----------
    Chen et al., "Training deep nets with sublinear memory cost", 2016.
    """
    inputs = _tensors(x, parameters)
    if not is_recording():
        return _result(function(x))
    with no_grad():
        out = _result(function(x)).detach()
    kind = out.shape, out.dtype

    def backward(dout):
        again, first = is_recording(), next_number()
        with recording(True):
            twin = _result(function(x))
        if (twin.shape, twin.dtype) != kind:
            raise TapeError(
                f"a function that is computed again gave shape {twin.shape} and dtype {twin.dtype.name}, and before "
                f"{kind[0]} and {kind[1].name}: it must compute the same each time"
            )
        targets = [t for t in inputs if t.requires_grad]
        found = iter(gradients([twin], [dout], targets, again, since=first))
        return tuple(next(found) if t.requires_grad else None for t in inputs)

    return record(out, inputs, backward)


def _tensors(x: object, parameters: object) -> tuple[Tensor, ...]:
    if isinstance(parameters, Tensor) or not isinstance(parameters, Iterable):
        raise ArgumentError(f"recomputed takes its parameters as a list of tensors, got {type(parameters).__name__}")
    inputs = (x, *parameters)
    for t in inputs:
        if not isinstance(t, Tensor):
            raise ArgumentError(f"recomputed takes x and parameters that are tensors, got {type(t).__name__}")
    return inputs


def _result(out: object) -> Tensor:
    if not isinstance(out, Tensor):
        raise ArgumentError(
            f"a function that is computed again must return one tensor, got {type(out).__name__}: join several into one"
        )
    return out
