"""The backward sweep: gradients go from a root to the leaves, from the node made last to the one made first.

A node's number is larger than those of its inputs, so all of its gradient has arrived when its turn comes. A small
op spends most of its backward here, which is why `carry` is one long function.

Imports the tape, tensors and the seam; no op is named here.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from .backend import seam
from .errors import MisfitError, TapeError
from .layout import Layout
from .tape import _LISTENERS, Node, recording
from .tensor import Tensor, full_like


def sweep(root: Tensor, seed: Tensor | None, retain_graph: bool, create_graph: bool, watch=None) -> list:
    """Carry `seed` from `root` back to the leaves. See `Tensor.backward`.

    Returns what this sweep found, as (node, output index, gradient): of leaves, and of inner tensors that
    asked for theirs. `watch` is the `Tape` that times it, by default the one that is active.
    """
    seed = _one(root) if seed is None else seed
    _check_seed(root, seed)
    run = _Sweep(retain_graph or create_graph, create_graph, watch)
    run.arrive(root.node, root.index, seed, borrowed=True)
    with recording(create_graph):
        while run.heap:
            run.step(*run.latest())
    run.commit()
    return run.finished


def gradients(
    roots: Sequence[Tensor],
    seeds: Sequence[Tensor | None],
    targets: Sequence[Tensor],
    create_graph: bool,
    retain_graph: bool = False,
    since: int = 0,
) -> list[Tensor | None]:
    """Gradients of `roots`, each times its seed, with respect to `targets`, given back and left nowhere.

    The sweep ends at the targets: what they were computed from is neither visited nor consumed, and no
    leaf's ``grad`` changes. A target that no root depends on has None; a root without a node or a seed adds nothing.
    Nodes before the number `since` are passed by, but for targets.
    """
    found: dict[tuple[int, int], Tensor] = {}
    ends = {t.node.number for t in targets}
    run = _Sweep(retain_graph or create_graph, create_graph, None)
    for root, seed in zip(roots, seeds, strict=True):
        if root.node is not None and seed is not None:
            _check_seed(root, seed)
            run.arrive(root.node, root.index, seed, borrowed=True)
    with recording(create_graph):
        while ends and run.heap and -run.heap[0] >= min(ends):
            node, entries = run.latest()
            if node.number not in ends:
                if node.number >= since:
                    run.step(node, entries)
                continue
            for index, entry in enumerate(entries):
                if entry is not None:
                    grad, borrowed = entry
                    found[node.number, index] = grad.copy() if borrowed else grad
            run.tell(node, entries)
    return [found.get((t.node.number, t.index)) for t in targets]


def _one(root: Tensor) -> Tensor:
    """The seed of a root of one element."""
    if root.size != 1:
        raise TapeError(f"backward from shape {root.shape} needs a seed gradient of that shape")
    return full_like(root, 1)


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


def _refuse_misfit(node: Node, results: tuple) -> None:
    for number, (parent, grad) in enumerate(zip(node.parents, results, strict=True)):
        if parent is None or grad is None:
            continue
        found, wanted = grad.layout, parent[0].layouts[parent[1]]
        if not _fits(found, wanted):
            raise MisfitError(
                f"the backward of {node.name} gave input {number} a gradient of shape {found.shape} and dtype "
                f"{found.dtype.name} on {found.backend.name!r}; the input has shape {wanted.shape} and dtype "
                f"{wanted.dtype.name} on {wanted.backend.name!r}",
                found=found.shape,
                wanted=wanted.shape,
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
        return self.waiting.pop(-heappop(self.heap))

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
            heappush(self.heap, -number)
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
                self.tell(node, entries)
                return
            self.refuse_consumed(node)
        if self.watch is None:
            self.carry(node, entries)
        else:
            with self.watch.sweeping(node):
                self.carry(node, entries)

    def tell(self, node: Node, entries: list[Entry], results: Sequence = ()) -> None:
        """Show a tape that watches what arrived at a node and what its closure returned."""
        if self.watch is not None:
            self.watch.carried(node, entries, results)

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
        grads: list[Tensor | None] = []
        shared = []
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
        if self.watch is not None:
            self.watch.carried(node, entries, results)
        for parent, grad in zip(node.parents, results):
            if parent is None or grad is None:
                continue
            source, index = parent
            layout, wanted, memory = grad.layout, source.layouts[index], grad.memory
            if layout is not wanted and not _fits(layout, wanted):
                _refuse_misfit(node, results)
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
