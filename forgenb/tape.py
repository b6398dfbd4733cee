"""The tape: one node per op, holding the closure that maps the output's gradient to the inputs'.

Nodes are numbered as they are made, so the backward sweep is a loop over falling numbers. A node knows
its parents and never its output, so a graph lives exactly as long as the tensors that need it, without
reference cycles. Closures take and return tensors and are written in ops; what they capture is what is
saved for backward, with the version it had.

This module knows tensors only by what it is handed; ops, kernels and backends must not be named here.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import weakref
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import Any

from .errors import TapeError
from .layout import Layout
from .tensor import Tensor

_NUMBERS = itertools.count()
_NONE: frozenset[int] = frozenset()
_PLAIN = frozenset({int, bool, float, str, type(None)})
"""Types of what closures hold besides tensors; looking one up takes a third of what `isinstance` takes."""
_RECORDING: ContextVar[bool] = ContextVar("forgenb_recording", default=True)
_LISTENERS: ContextVar[tuple] = ContextVar("forgenb_tapes", default=())


class Node:
    """One recorded op (or a leaf, which has no closure).

    `layouts` are those of its outputs, and `label` is where `name` comes from, which few sweeps ask for.
    """

    __slots__ = (
        "backward", "consumed", "grads", "kept", "label", "layouts", "number", "output", "parents", "saved", "tensor",
    )  # fmt: skip

    def __init__(self, label: str, layouts: Sequence[Layout], parents: Sequence = (), backward: Callable | None = None):
        self.number = next(_NUMBERS)
        self.label = label
        self.layouts = layouts
        self.parents = parents
        self.backward: Any = backward
        self.saved: Sequence[tuple[Tensor, int]] = ()
        self.output: Tensor | None = None
        self.consumed = False
        self.kept: frozenset[int] = _NONE
        self.grads: dict[int, Tensor] = {}
        self.tensor: weakref.ref | None = None

    @property
    def name(self) -> str:
        """The op's name, or the leaf's own."""
        return self.label if self.leaf else _op_name(self.label)

    @property
    def leaf(self) -> bool:
        """True for a tensor that the user marked: its gradient accumulates until it is cleared."""
        return self.backward is None and not self.consumed


Parent = tuple[Node, int] | None
"""What an input came from, and which output of it; None for one that is not tracked."""


def next_number() -> int:
    """A number that is larger than that of every node so far, and less than that of the next."""
    return next(_NUMBERS)


def leaf_node(tensor: Tensor) -> Node:
    """The node of a tensor whose gradient the user wants; it refers back to the tensor without keeping it alive."""
    node = Node(tensor.name or "leaf", (tensor.layout,))
    node.tensor = weakref.ref(tensor)
    return node


def is_recording() -> bool:
    """Whether ops on tracked tensors are put on the tape now."""
    return _RECORDING.get()


@contextmanager
def recording(on: bool):
    """Switch recording on or off inside a ``with`` block."""
    token = _RECORDING.set(on)
    try:
        yield
    finally:
        _RECORDING.reset(token)


class _NoGrad:
    """What `no_grad` returns: a context that may be entered again and again, and a decorator."""

    def __init__(self):
        self._tokens: list[Token[bool]] = []

    def __enter__(self) -> None:
        self._tokens.append(_RECORDING.set(False))

    def __exit__(self, *error) -> None:
        _RECORDING.reset(self._tokens.pop())

    def __call__(self, function: Callable) -> Callable:
        if inspect.isgeneratorfunction(function):
            return _unrecorded_steps(function)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def waiting(*args, **keywords):
                with recording(False):
                    return await function(*args, **keywords)

            return waiting

        @functools.wraps(function)
        def quiet(*args, **keywords):
            with recording(False):
                return function(*args, **keywords)

        return quiet


def no_grad(function: Callable | None = None):
    """Run ops without recording them: ``with no_grad():``, or a decorator with or without brackets.

    A decorated generator records nothing in its own steps, and leaves recording alone between them.
    """
    return _NoGrad() if function is None else _NoGrad()(function)


def _unrecorded_steps(function: Callable) -> Callable:
    """A generator function whose every step runs without recording."""

    @functools.wraps(function)
    def steps(*args, **keywords):
        generator = function(*args, **keywords)
        step, value = generator.send, None
        while True:
            try:
                with recording(False):
                    found = step(value)
            except StopIteration as end:
                return end.value
            try:
                step, value = generator.send, (yield found)
            except GeneratorExit:
                with recording(False):
                    generator.close()
                raise
            except BaseException as error:
                step, value = generator.throw, error

    return steps


def refuse_tracked(name: str, inputs: Sequence[Tensor]) -> None:
    """Refuse tracked inputs of an op without a backward rule, such as another op's gradient kernel.

    Raises
    ------
    TapeError
        Naming the op.
    """
    if _RECORDING.get() and any(t.node is not None for t in inputs):
        raise TapeError(
            f"{name} has no backward rule, and one of its inputs is tracked: detach it, or leave out create_graph "
            "where a second derivative through it is not needed"
        )


def record(outputs, inputs: Sequence[Tensor], backward: Callable, save_output: bool = False):
    """Put one op on the tape, if anything it reads is tracked.

    Parameters
    ----------
    outputs : Tensor or tuple of Tensor
        Freshly computed results.
    inputs : sequence of Tensor
        What the gradients returned by `backward` belong to, in this order.
    backward : callable
        Maps one gradient per output (None for an output that was not used) to a tuple with one gradient,
        or None, per input. With `save_output` it also gets the op's (first) output as its last argument.

    Returns
    -------
    Tensor or tuple of Tensor
        `outputs`, tracked where an input is.

    Raises
    ------
    TapeError
        If an output is tracked already, as an input of the op would be: a tape has no cycles.
    """
    if _RECORDING.get():
        parents: list[Parent] = []
        tracked = False
        for tensor in inputs:
            node = tensor.node
            if node is None:
                parents.append(None)
            else:
                parents.append((node, tensor.index))
                tracked = True
        if tracked:
            return _recorded(outputs, parents, backward, save_output)
    for tape in _LISTENERS.get():
        tape.passed_by()
    return outputs


def _recorded(outputs, parents: list[Parent], backward: Callable, save_output: bool):
    several = outputs if type(outputs) is tuple else (outputs,)
    layouts = []
    for tensor in several:
        layouts.append(tensor.layout)
        if tensor.node is not None:
            raise TapeError(
                f"{_op_name(backward.__qualname__)} returned a tensor of shape {tensor.shape} that is on "
                "the tape already, perhaps its own input: return a new tensor, such as a view of it"
            )
    node = Node(backward.__qualname__, layouts, parents, backward)
    node.saved = saved = _captured(backward)
    if save_output:
        node.output = output = several[0].detach()
        saved.append((output, output.memory.version))
    for index, tensor in enumerate(several):
        tensor.node, tensor.index = node, index
    for tape in _LISTENERS.get():
        tape.note(node, several)
    return outputs


def _op_name(label: str) -> str:
    """The op that a closure is in; one that Python uses itself is written with an underscore after it."""
    return label.partition(".")[0].rstrip("_")


def _captured(backward: Callable) -> list[tuple[Tensor, int]]:
    """The tensors in the cells of a closure, each with the version that its memory has."""
    found: list[tuple[Tensor, int]] = []
    for cell in backward.__closure__ or ():
        content = cell.cell_contents
        if type(content) is not tuple:
            if type(content) not in _PLAIN and isinstance(content, Tensor):
                found.append((content, content.memory.version))
            continue
        for part in content:
            if type(part) not in _PLAIN and isinstance(part, Tensor):
                found.append((part, part.memory.version))
    return found
