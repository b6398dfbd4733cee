"""The tape: one node per op, holding the closure that maps the output's gradient to the inputs'.

Nodes are numbered as they are made, so the backward sweep is a loop over falling numbers. A node knows
its parents and never its output, so a graph lives exactly as long as the tensors that need it, without
reference cycles. Closures take and return tensors and are written in ops; what they capture is what is
saved for backward, with the version it had.

This module knows tensors only by what it is handed; ops, kernels and backends must not be named here.
"""

from __future__ import annotations

import functools
import heapq
import inspect
import itertools
import weakref
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .backend import seam
from .errors import TapeError
from .tensor import Layout, Tensor

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
        self._blocks: list = []

    def __enter__(self) -> None:
        block = recording(False)
        block.__enter__()
        self._blocks.append(block)

    def __exit__(self, *error) -> None:
        self._blocks.pop().__exit__(*error)

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
        for tensor in inputs:
            if tensor.node is not None:
                return _recorded(outputs, inputs, backward, save_output)
    for tape in _LISTENERS.get():
        tape.passed_by()
    return outputs


def _recorded(outputs, inputs: Sequence[Tensor], backward: Callable, save_output: bool):
    several = outputs if type(outputs) is tuple else (outputs,)
    layouts, parents = [], []
    for tensor in several:
        layouts.append(tensor.layout)
        if tensor.node is not None:
            raise TapeError(
                f"{_op_name(backward.__qualname__)} returned a tensor of shape {tensor.shape} that is on "
                "the tape already, perhaps its own input: return a new tensor, such as a view of it"
            )
    for tensor in inputs:
        parents.append(None if tensor.node is None else (tensor.node, tensor.index))
    node = Node(backward.__qualname__, layouts, parents, backward)
    node.saved = saved = _captured(backward)
    if save_output:
        node.output = output = several[0].detach()
        saved.append((output, output.memory.version))
    for index, tensor in enumerate(several):
        tensor.node, tensor.index = node, index
    for tape in _LISTENERS.get():
        tape.note(node)
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


def sweep(root: Tensor, seed: Tensor, retain_graph: bool, create_graph: bool, watch=None) -> list:
    """Carry `seed` from `root` back to the leaves. See `Tensor.backward`.

    Returns what this sweep found, as (node, output index, gradient): of leaves, and of inner tensors that
    asked for theirs. `watch` is the `Tape` that times it, by default the one that is active.
    """
    _check_seed(root, seed)
    run = _Sweep(retain_graph or create_graph, create_graph, watch)
    run.arrive(root.node, root.index, seed, borrowed=True)
    with recording(create_graph):
        while run.heap:
            run.step(*run.latest())
    run.commit()
    return run.finished


def gradients(root: Tensor, seed: Tensor, targets: Sequence[Tensor], create_graph: bool) -> list[Tensor | None]:
    """Gradients of `root` with respect to `targets`, given back and left nowhere.

    The sweep ends at the targets: what they were computed from is neither visited nor consumed, and no
    leaf's ``grad`` changes. A target that `root` does not depend on has None.
    """
    _check_seed(root, seed)
    found: dict[tuple[int, int], Tensor] = {}
    ends = {t.node.number for t in targets}
    run = _Sweep(create_graph, create_graph, None)
    run.arrive(root.node, root.index, seed, borrowed=True)
    with recording(create_graph):
        while run.heap and -run.heap[0] >= min(ends):
            node, entries = run.latest()
            if node.number not in ends:
                run.step(node, entries)
                continue
            for index, entry in enumerate(entries):
                if entry is not None:
                    grad, borrowed = entry
                    found[node.number, index] = grad.copy() if borrowed else grad
    return [found.get((t.node.number, t.index)) for t in targets]


def _check_seed(root: Tensor, seed: Tensor) -> None:
    if root.node is None:
        raise TapeError(
            f"backward from a tensor of shape {root.shape} that is not tracked: create what it depends on with "
            "requires_grad=True, and compute it outside no_grad"
        )
    if not isinstance(seed, Tensor):
        raise TapeError(
            f"the seed gradient of {root.node.name} must be a tensor of shape {root.shape}, got "
            f"{type(seed).__name__}: make one with fnb.tensor"
        )
    if not _fits(seed.layout, root.layout):
        raise TapeError(
            f"the seed gradient of {root.node.name} must have the root's shape {root.shape}, dtype {root.dtype.name} "
            f"and backend {root.backend.name}, got {seed.shape}, {seed.dtype.name} and {seed.backend.name}"
        )


def _fits(grad: Layout, wanted: Layout) -> bool:
    """Whether a gradient of one layout belongs to a tensor of the other: its strides do not matter."""
    return (grad.shape, grad.dtype, grad.backend) == (wanted.shape, wanted.dtype, wanted.backend)


def _misfit(node: Node, results: tuple) -> TapeError:
    for number, (parent, grad) in enumerate(zip(node.parents, results, strict=True)):
        if parent is not None and grad is not None:
            found, wanted = grad.layout, parent[0].layouts[parent[1]]
            if not _fits(found, wanted):
                break
    return TapeError(
        f"the backward of {node.name} gave input {number} a gradient of shape {found.shape} and dtype "
        f"{found.dtype.name} on {found.backend.name!r}; the input has shape {wanted.shape} and dtype "
        f"{wanted.dtype.name} on {wanted.backend.name!r}"
    )


Entry = tuple[Tensor, bool] | None
"""A gradient that waits for its node, and whether it is borrowed."""


class _Sweep:
    """One backward pass: gradients that wait for their node, and those that leaves will get."""

    def __init__(self, retain: bool, create_graph: bool, watch):
        active = _LISTENERS.get()
        self.watch = watch or (active[-1] if active else None)
        self.retain = retain
        self.create_graph = create_graph
        self.heap: list[int] = []
        self.waiting: dict[int, tuple[Node, list[Entry]]] = {}
        self.finished: list[tuple[Node, int, Tensor]] = []

    def latest(self) -> tuple[Node, list[Entry]]:
        """Take out the node of the highest number, whose gradients are complete, with one entry per output."""
        return self.waiting.pop(-heapq.heappop(self.heap))

    def arrive(self, node: Node, index: int, grad: Tensor, borrowed: bool) -> None:
        """Add a contribution; `borrowed` means that it must not be added to in place.

        Someone else may hold the same memory, or its own elements may share some (a broadcast view).
        """
        number = node.number
        if number in self.waiting:
            entries = self.waiting[number][1]
        else:
            entries = [None] * len(node.layouts)
            self.waiting[number] = node, entries
            heapq.heappush(self.heap, -number)
        known = entries[index]
        if known is None:
            entries[index] = grad, borrowed
        elif self.create_graph or known[1]:
            entries[index] = known[0] + grad, False
        else:
            known[0].add_in_place(grad)

    def step(self, node: Node, entries: list[Entry]) -> None:
        """Consume one node: its gradients are complete, since all later nodes have been visited."""
        if node.backward is None or node.kept:
            self.finish(node, entries)
            if node.leaf:
                return
            self.refuse_consumed(node)
        if self.watch is None:
            self.carry(node, entries)
        else:
            with self.watch.sweeping(node):
                self.carry(node, entries)

    def finish(self, node: Node, entries: list[Entry]) -> None:
        """Keep what a leaf gets, and what an inner tensor asked for."""
        for index, entry in enumerate(entries):
            if entry is not None and (node.leaf or index in node.kept):
                grad, borrowed = entry
                self.finished.append((node, index, grad if node.leaf and not borrowed else grad.copy()))

    def refuse_consumed(self, node: Node) -> None:
        if node.consumed:
            raise TapeError(
                f"backward reached {node.name} (output shape {node.layouts[0].shape}), whose graph was consumed by an "
                "earlier backward: pass retain_graph=True to that one to sweep twice"
            )

    def carry(self, node: Node, entries: list[Entry]) -> None:
        """Call a node's closure and pass on what it returns."""
        grads, shared = [], []
        for entry in entries:
            if entry is None:
                grads.append(None)
            else:
                grads.append(entry[0])
                shared.append(entry[0].memory)
        for tensor, version in node.saved:
            memory = tensor.memory
            shared.append(memory)
            if memory.version != version:
                raise TapeError(
                    f"{node.name} saved a tensor of shape {tensor.shape} for backward, and it was changed in place "
                    f"afterwards (version {version} became {memory.version}): change a copy instead"
                )
        if node.output is not None:
            grads.append(self.output_of(node))
        results = node.backward(*grads)
        if len(results) != len(node.parents):
            raise TapeError(
                f"the backward of {node.name} returned {len(results)} gradients for {len(node.parents)} inputs"
            )
        for parent, grad in zip(node.parents, results):
            if parent is None or grad is None:
                continue
            source, index = parent
            layout, wanted, memory = grad.layout, source.layouts[index], grad.memory
            if layout is not wanted and not _fits(layout, wanted):
                raise _misfit(node, results)
            borrowed = memory in shared or not layout.contiguous
            shared.append(memory)
            self.arrive(source, index, grad, borrowed)
        if not self.retain:
            node.backward, node.saved, node.output, node.parents, node.consumed = None, (), None, (), True

    def output_of(self, node: Node) -> Tensor:
        """The output that a node keeps, on the tape where the sweep itself is recorded."""
        output: Any = node.output
        if self.create_graph:
            output = output.detach()
            output.node, output.index = node, 0
        return output

    def commit(self) -> None:
        """Hand the finished gradients out, all of them or, where the sweep raised, none."""
        recorder = seam.RECORDER.get()
        with recording(self.create_graph):
            for node, index, grad in self.finished:
                if recorder is not None and node.leaf:
                    recorder.gradients.append((node, index))
                before = node.grads.get(index)
                node.grads[index] = grad if before is None or not node.leaf else before + grad
