"""Rules of gradients that one kernel computes: those of the same formula written in ops, step by step.

The kernel gives the numbers, so recording changes no bits; the steps are computed only when a sweep reaches them. As
each step is an op with a rule of its own, there are derivatives of every order.

Imports the sweep, the tape, tensors and `astype`; the steps of an op stand beside its kernel, never here.
"""

from __future__ import annotations

from collections.abc import Callable

from ..dtypes import DEFAULT, FLOAT16
from ..sweep import gradients
from ..tape import is_recording, record, recording
from ..tensor import Tensor
from .casts import astype


def record_steps(outputs, inputs: tuple[Tensor, ...], steps: Callable):
    """`outputs`, on the tape as what ``steps(*inputs)`` computes as well, see `forgenb.tape.record`.

    Parameters
    ----------
    outputs : Tensor or tuple of Tensor
        Equal to the results of `steps` but for rounding.
    inputs : tuple of Tensor
        What `steps` takes: floats, and ids, which have no gradient. They are saved.
    steps : callable
        Written in ops with rules. It is nested in the op, which gives the node its name.
    """
    if not is_recording():
        return outputs

    def backward(*douts):
        return pull_back(steps, inputs, douts)

    backward.__qualname__ = steps.__qualname__
    fresh = tuple(t.detach() for t in outputs) if isinstance(outputs, tuple) else outputs.detach()
    return record(fresh, inputs, backward)


def pull_back(steps: Callable, inputs: tuple[Tensor, ...], douts: tuple[Tensor | None, ...]) -> tuple:
    """Gradients of ``steps(*inputs)`` by each input, for one cotangent per result; None where there is none.

    They can be differentiated again where it is called while recording. Steps on float16 compute in float32.
    """
    again = is_recording()
    with recording(True):
        operands = [variable(t) if t.dtype.kind == "f" else t for t in inputs]
        outputs = steps(*(astype(v, DEFAULT) if v.dtype is FLOAT16 else v for v in operands))
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        roots = [
            out if dout is None or out.dtype is dout.dtype else astype(out, dout.dtype)
            for out, dout in zip(outputs, douts, strict=True)
        ]
        found = iter(gradients(roots, douts, [v for v in operands if v.requires_grad], again))
    return tuple(next(found) if v.requires_grad else None for v in operands)


def variable(x: Tensor) -> Tensor:
    """`x` as a variable of its own, whose gradient ends there; tracked by `x` where that is."""

    def backward(dout):
        return (dout,)

    backward.__qualname__ = "variable"
    if x.requires_grad:
        return record(x.detach(), (x,), backward)
    fresh = x.detach()
    fresh.name = x.name
    fresh.requires_grad = True
    return fresh
