"""Programs of a training step, made from a capture: forward, gradients, and the routine of them all.

Imports routines and the tape; nothing is computed before a routine runs.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from forgenb.backend import get_backend
from forgenb.backend.planned import PlannedMemory
from forgenb.errors import ArgumentError, BackendError, TapeError
from forgenb.ops.apply import copied
from forgenb.routine import (
    Arena,
    Program,
    Routine,
    Symbol,
    fills_its_memory,
    joined,
    needed,
    recorder_of,
    recording,
    scope,
)
from forgenb.routine.recorder import Recorder
from forgenb.tensor import Parameter, Tensor, full_like
from forgenb.train.steps.parameters import diff_or_error, leaves, parameters

__all__ = ["Update", "forward", "grad_update", "grad_update_nochecks", "sequence", "to_routine"]


class Update(Program):
    """The program of a gradient update.

    Attributes
    ----------
    loss : Tensor
    params : tuple of Parameter
        Those whose gradients it computes, in the order of their making.
    grads : tuple of Tensor
        Their gradients, in the same order.
    arenas : tuple of Arena
        All gradients of a dtype as one array, in the order in which the program completes them.
    """

    def __init__(self, program: Program, loss: Tensor, params: Sequence[Parameter], grads: Sequence[Tensor]):
        super().__init__(program.statements, program.name, program.recorder)
        self.loss, self.params, self.grads = loss, tuple(params), tuple(grads)
        self.arenas: tuple[Arena, ...] = tuple(program.recorder.arenas) if program.recorder is not None else ()

    def changes(self) -> bool:
        """Whether a run changes values from outside, as batch normalisation does its running statistics."""
        return any(not isinstance(memory, PlannedMemory) for s in self.statements for memory in s.writes)


def forward(t: Tensor) -> Program:
    """The program that computes `t`, which was captured; `t` can be read after each run.

    The graph stays as it is, so `t` may be used in other programs too.

    Raises
    ------
    MemoryModeError
        If `t` has a value already, or a routine computes it.
    """
    part = needed(recorder_of(t, "forward"), t)
    t.memory.decide("retain", "forward()")
    return Program(part.statements, f"{t.name or 'tensor'} fwd", part)


def grad_update(loss: Tensor) -> Update:
    """The program that computes `loss`, and then the gradients of all parameters it depends on.

    Gradients start from zero in each run, so nothing accumulates across runs. A loss of several elements has the seed
    1 for each, which gives the gradient of their sum. The loss and the gradients can be read after each run.

    Raises
    ------
    TapeError
        If the loss does not depend on anything that requires a gradient. Nothing has changed then.
    MemoryModeError
        If the loss has a value already, or a routine computes it.
    """
    diff_or_error(loss, "grad_update")
    recorder_of(loss, "grad_update")
    loss.memory.decide("retain", "grad_update()")
    return grad_update_nochecks(loss)


def grad_update_nochecks(loss: Tensor) -> Update:
    """The program of `grad_update` without its checks; the loss is scratch unless something keeps it."""
    part = needed(recorder_of(loss, "grad_update"), loss)
    nodes, params = leaves(loss), parameters(loss)
    for node in nodes:
        node.grads.clear()
    name = loss.name or "loss"
    with recording() as recorder, scope(f"{name} bprop"):
        loss.backward(full_like(loss, 1), retain_graph=True)
        grads = _apart(params)
    for node in nodes:
        for grad in node.grads.values():
            if isinstance(grad.memory, PlannedMemory):
                grad.memory.decide("retain", "grad_update()")
    whole = joined((part, recorder))
    whole.arenas = _arenas(whole, grads)
    whole.memories += [arena.memory for arena in whole.arenas]
    return Update(Program(whole.statements, f"{name} gradient update", whole), loss, params, grads)


def _apart(params: Sequence[Parameter]) -> list[Tensor]:
    """The gradients of parameters, each alone in a memory of its own: copied where it is not."""
    grads: list[Tensor] = []
    for p in params:
        grad = p.grad
        if grad is None:
            raise TapeError(
                f"grad_update: parameter {p.name or p.shape} got no gradient, though the loss depends on it"
            )
        if not fills_its_memory(grad) or any(grad.memory is other.memory for other in grads):
            grad = p.grad = copied(grad)
        grads.append(grad)
    return grads


def _arenas(recorder: Recorder, grads: Sequence[Tensor]) -> list[Arena]:
    """Gradients side by side, those of a dtype together, in the order in which statements complete them."""
    last = {id(memory): position for position, s in enumerate(recorder.statements) for memory in s.writes}
    found: dict[np.dtype, list[Tensor]] = {}
    for grad in sorted(grads, key=lambda grad: last.get(id(grad.memory), -1)):
        if grad.size:
            found.setdefault(grad.dtype, []).append(grad)
    return [Arena(parts) for parts in found.values()]


def sequence(programs: Iterable[Program], name: str | None = None) -> Program:
    """Programs one after the other, as one. What they share is computed once where nothing changed in between.

    Raises
    ------
    ArgumentError
        If there are none, something else is among them, or they are of different backends.
    """
    parts = list(programs) if isinstance(programs, Iterable) else [programs]
    if not parts:
        raise ArgumentError("sequence got no programs")
    for part in parts:
        _refuse_other("sequence", part)
    _refuse_unnamed("sequence", name)
    whole = joined(p.recorder for p in parts if p.recorder is not None)
    return Program(whole.statements, name or " then ".join(p.name for p in parts), whole)


def to_routine(
    program: Program,
    bindings: Iterable[Symbol] | None = None,
    name: str | None = None,
    backend: str | None = None,
    pauses: Iterable[tuple[Sequence[Tensor], Callable[[], object]]] = (),
) -> Routine:
    """Plan and link a program.

    Parameters
    ----------
    program : Program
        What a capture recorded, or what the functions of this module made of it.
    bindings : iterable of Symbol, optional
        The static symbols, outermost first; by default those that the program uses, in the order of their making.
    name : str, optional
        By default the program's.
    backend : str, optional
        For a check: a program runs where its tensors are.
    pauses : iterable of (sequence of Tensor, callable), optional
        Each is called in every run as soon as all of its values are complete, while later statements still have to
        run: gradients can be sent on their way. They are called in this order.

    Raises
    ------
    BackendError
        If the program was captured on another backend.
    ArgumentError
        If it is no program, has no statements, or uses a symbol that is not declared; or a name or a pause is none.
    MemoryModeError
        If a routine computes part of it already, or decisions about values conflict.
    """
    _refuse_other("to_routine", program)
    _refuse_unnamed("to_routine", name)
    recorder = program.recorder
    if recorder is None:
        raise ArgumentError(f"program {program.name!r} is for reading only: to_routine needs what a capture recorded")
    if backend is not None and recorder.backend is not None and get_backend(backend) is not recorder.backend:
        raise BackendError(
            f"program {program.name!r} was captured on backend {recorder.backend.name!r}, not on {backend!r}: capture "
            f"it with tensors that live on {backend!r}"
        )
    return Routine(joined([recorder]), (), name or program.name, bindings, pauses)


def _refuse_other(caller: str, part: object) -> None:
    if not isinstance(part, Program):
        raise ArgumentError(
            f"{caller} works on programs, such as those of forward, grad_update and sgd_update, and got "
            f"{type(part).__name__}"
        )


def _refuse_unnamed(caller: str, name: object) -> None:
    if name is not None and not isinstance(name, str):
        raise ArgumentError(f"{caller} got name={name!r}: a name is text")
