"""A list of what was recorded: `Tape` notes every op inside a ``with`` block, to print, draw and sweep.

Recording needs no `Tape`; this one only listens. Times are those of the kernels that were launched, as
the host sees them, so that what a program does between two ops does not count.

Imports the tape, tensors and the seam's trace; it must not change what is recorded, and no op is named here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from .backend import seam
from .errors import ArgumentError, TapeError
from .sweep import sweep
from .tape import _LISTENERS, Node
from .tape_drawing import svg
from .tensor import Tensor

_CAPS = {
    "#": 5,
    "op": 14,
    "inputs": 11,
    "output": 17,
    "dtype": 8,
    "saved": 7,
    "kernels": 15,
    "fwd us": 7,
    "bwd us": 7,
}


@dataclass
class Entry:
    """One line of a tape: an op that was recorded, or a leaf.

    Attributes
    ----------
    number : int
        The place on this tape.
    op : str
        The op's name; a leaf's own name, or ``"leaf"``.
    inputs : tuple of (int or None)
        Entry numbers of what the op read; None for constants and for what was recorded before this tape.
    shapes, dtype
        Of the outputs, and of the first of them.
    saved : int
        Bytes of the distinct tensors that are kept for backward. Inputs that live anyway count too.
    kernels : list of str
        Names of the kernels launched by the forward, in order.
    forward, backward : float
        Seconds in the forward's kernels, and in those of all sweeps through the entry.
    """

    number: int
    op: str
    inputs: tuple[int | None, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtype: str
    saved: int = 0
    kernels: list[str] = field(default_factory=list)
    forward: float = 0.0
    backward: float = 0.0
    leaf: bool = False


class Tape:
    """Notes the ops that are recorded inside a ``with`` block, and the leaves that they use.

    ``print(tape)`` shows a table. The tape keeps what its entries keep for backward, until a sweep frees it.
    Tapes nest: the outer one notes what the inner one does.

    Examples
    --------
    >>> import forgenb as fnb
    >>> with fnb.Tape() as tape:
    ...     x = tape.leaf(fnb.tensor([1.0, 2.0]))
    ...     y = (x * x).sum()
    >>> [entry.op for entry in tape.entries]
    ['leaf', 'mul', 'sum']
    >>> tape.backward(y)[0].tolist()
    [2.0, 4.0]
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._nodes: list[Node] = []
        self._places: dict[int, int] = {}
        self._spent = 0.0
        self._outer: Tape | None = None
        self._undo: list[tuple] = []

    def __enter__(self) -> Tape:
        if self._undo:
            raise TapeError("this tape is active already: make another fnb.Tape() for an inner with block")
        outer = _LISTENERS.get()
        self._outer = outer[-1] if outer else None
        self._undo.append((_LISTENERS.set((self,)), seam.start_trace()))
        return self

    def __exit__(self, *_: object) -> None:
        token, trace = self._undo.pop()
        seam.stop_trace(trace)
        _LISTENERS.reset(token)
        self._outer = None

    def __len__(self) -> int:
        return len(self.entries)

    def leaf(self, tensor: Tensor) -> Tensor:
        """Register `tensor` as a leaf, which makes it require a gradient; returns it.

        Raises
        ------
        DTypeError
            If it does not hold floats.
        TapeError
            If it is the result of a recorded op.
        """
        if not isinstance(tensor, Tensor):
            raise ArgumentError(f"tape.leaf needs a tensor, got {type(tensor).__name__}: make one with fnb.tensor")
        if tensor.node is not None and not tensor.node.leaf:
            raise TapeError(
                f"tape.leaf got the result of {tensor.node.name}, of shape {tensor.shape}: only a tensor "
                "that no op made is a leaf, use detach()"
            )
        tensor.requires_grad = True
        self._place(tensor.node)
        return tensor

    def backward(
        self, root: Tensor, seed: Tensor | None = None, retain_graph: bool = False, create_graph: bool = False
    ) -> list:
        """Sweep from `root` as `Tensor.backward` does, and list the gradients.

        Returns
        -------
        list
            By entry number: this sweep's gradient of a leaf or of a tensor that asked with ``retain_grad``;
            None where the sweep did not come or freed the gradient once it was consumed. An op with several
            outputs has a tuple. Leaves accumulate them in ``grad`` as always.

        Raises
        ------
        TapeError
            If `root` is not on this tape, the seed does not fit, or the graph was consumed.
        """
        if root.node is None or root.node.number not in self._places:
            made = "not tracked" if root.node is None else f"made by {root.node.name} elsewhere"
            raise TapeError(
                f"tape.backward from a tensor of shape {root.shape} that is not on this tape ({made}): "
                "compute it inside this tape's with block, from leaves"
            )
        known = len(self.entries)
        before = seam.start_trace()
        try:
            finished = sweep(root, seed, retain_graph, create_graph, self)
        finally:
            seam.stop_trace(before)
        return self._listed(finished, known)

    def _listed(self, finished: list, known: int) -> list:
        found: list = [None] * known
        for node, index, grad in finished:
            place = self._places.get(node.number)
            if place is None or place >= known:
                continue
            several = len(node.layouts)
            if several == 1:
                found[place] = grad
            else:
                row = list(found[place] or (None,) * several)
                row[index] = grad
                found[place] = tuple(row)
        return found

    def note(self, node: Node, events: list | None = None) -> None:
        """Add a recorded node; `events` are its (kernel, seconds), by default those since the last."""
        events = self._taken() if events is None else events
        inputs = []
        for parent in node.parents:
            known = parent is not None and (parent[0].leaf or parent[0].number in self._places)
            inputs.append(self._place(parent[0]) if known else None)
        entry = self.entries[self._place(node)]
        entry.inputs = tuple(inputs)
        entry.saved = sum({id(t.memory): t.size * t.dtype.itemsize for t, _ in node.saved}.values())
        entry.kernels = [name for name, _ in events]
        entry.forward = sum(seconds for _, seconds in events)
        if self._outer is not None:
            self._outer.note(node, events)

    def passed_by(self) -> None:
        """Forget the launches of an op that was not recorded."""
        self._taken()

    @contextmanager
    def sweeping(self, node: Node) -> Iterator[None]:
        """Time the backward of `node`, inside a ``with`` block."""
        self._taken()
        before = self._spent
        yield
        self._taken()
        self._swept(node, self._spent - before)

    def _swept(self, node: Node, seconds: float) -> None:
        place = self._places.get(node.number)
        if place is not None:
            self.entries[place].backward += seconds
        if self._outer is not None:
            self._outer._swept(node, seconds)

    def _taken(self) -> list:
        events = seam.take_trace()
        self._spent += sum(seconds for _, seconds in events)
        return events

    def _place(self, node: Node) -> int:
        place = self._places.get(node.number)
        if place is None:
            place = self._places[node.number] = len(self.entries)
            shapes = tuple(layout.shape for layout in node.layouts)
            self.entries.append(Entry(place, node.name, (), shapes, node.layouts[0].dtype.name, leaf=node.leaf))
            self._nodes.append(node)
        return place

    def __repr__(self) -> str:
        rows = [_cells(entry) for entry in self.entries]
        widths = [
            min(cap, max(len(title), *(len(row[i]) for row in rows), 0)) for i, (title, cap) in enumerate(_CAPS.items())
        ]
        lines = [_line(list(_CAPS), widths), " ".join("-" * width for width in widths)]
        lines += [_line(row, widths) for row in rows]
        saved, forward = sum(e.saved for e in self.entries), sum(e.forward for e in self.entries)
        backward, launches = sum(e.backward for e in self.entries), sum(len(e.kernels) for e in self.entries)
        lines.append(
            f"{len(self.entries)} entries, {_size(saved)} saved, {launches} launches, "
            f"forward {forward * 1e6:.0f} us, backward {backward * 1e6:.0f} us"
        )
        return "\n".join(lines)

    def draw(self) -> str:
        """The graph as text: one line per entry, with what it reads, in the order of recording."""
        lines = []
        for entry in self.entries:
            read = ", ".join("constant" if i is None else f"{self.entries[i].op}#{i}" for i in entry.inputs)
            shapes = ", ".join(map(str, entry.shapes))
            lines.append(f"{entry.op}#{entry.number} {shapes}" + (f" <- {read}" if read else ""))
        return "\n".join(lines)

    def svg(self) -> str:
        """The graph as an SVG picture: a box for each entry, below the boxes that it reads; leaves are tinted.

        The text is the whole file. Constants and what was recorded before this tape are not drawn. No Graphviz and no
        matplotlib is needed; notebooks show a tape this way by themselves.
        """
        return svg(self.entries)

    _repr_svg_ = svg


def _cells(entry: Entry) -> list[str]:
    return [
        str(entry.number),
        entry.op,
        " ".join("-" if i is None else str(i) for i in entry.inputs),
        " ".join("x".join(map(str, shape)) or "()" for shape in entry.shapes),
        entry.dtype,
        "" if entry.leaf else _size(entry.saved),
        " ".join(dict.fromkeys(name.removesuffix("_kernel") for name in entry.kernels)),
        "" if entry.leaf else f"{entry.forward * 1e6:.0f}",
        f"{entry.backward * 1e6:.0f}" if entry.backward else "",
    ]


def _line(cells: list[str], widths: list[int]) -> str:
    cut = [c if len(c) <= width else c[: width - 2] + ".." for c, width in zip(cells, widths)]
    return " ".join(c.ljust(width) for c, width in zip(cut, widths)).rstrip()


def _size(nbytes: float) -> str:
    for unit in ("B", "KB", "MB"):
        if nbytes < 1000:
            return f"{nbytes:.3g}{unit}"
        nbytes /= 1000
    return f"{nbytes:.3g}GB"
