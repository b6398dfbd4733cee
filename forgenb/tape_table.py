"""A list of what was recorded: `Tape` notes every op inside a ``with`` block, to print, draw, sweep and step through.

Recording needs no `Tape`; this one only listens. Times are those of the kernels that were launched, as
the host sees them, so that what a program does between two ops does not count.

Imports the tape, tensors, the seam's trace, pictures and the explorer; it must not change what is recorded, and no op
is named here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from . import tape_print
from .backend import seam
from .errors import ArgumentError, TapeError
from .explorer.known import Known
from .explorer.page import Page, page
from .interop.display import escaped
from .picture.drawing import Box, Drawing, drawing
from .storage.opening import StrPath
from .sweep import sweep
from .tape import _LISTENERS, Node
from .tape_entry import Entry
from .tensor import Tensor

LONGEST = 80
"""Letters of a name; of a longer one the first are shown."""


class Tape:
    """Notes the ops that are recorded inside a ``with`` block, and the leaves that they use.

    ``print(tape)`` shows a table, `draw` a picture, and `explore` a page to step through. The tape keeps what its
    entries keep for backward, until a sweep frees it. Tapes nest: the outer one notes what the inner one does.

    Parameters
    ----------
    keep : bool
        Whether to look at each value and gradient as it comes by, in sweeps inside the block too, for `draw` and
        `explore`. Of each array at most 64 numbers and the range are kept, so memory grows with the number of steps
        alone; but every array is read, which on a device waits for it.

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

    def __init__(self, keep: bool = False) -> None:
        self.entries: list[Entry] = []
        self._known = Known(keep)
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
        ArgumentError
            If `root` is no tensor.
        TapeError
            If `root` is not on this tape, the seed does not fit, or the graph was consumed.
        """
        if not isinstance(root, Tensor):
            raise ArgumentError(f"tape.backward starts from a tensor, got {type(root).__name__}: give the result")
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

    def note(self, node: Node, outputs: Sequence[Tensor], events: list | None = None) -> None:
        """Add a recorded node; `events` are its (kernel, seconds), by default those since the last."""
        events = self._taken() if events is None else events
        inputs = []
        for parent in node.parents:
            known = parent is not None and (parent[0].leaf or parent[0].number in self._places)
            inputs.append(self._place(parent[0]) if known else None)
        entry = self.entries[self._place(node, outputs)]
        entry.inputs = tuple(inputs)
        entry.saved = sum({id(t.memory): t.size * t.dtype.itemsize for t, _ in node.saved}.values())
        entry.kernels = [name for name, _ in events]
        entry.forward = sum(seconds for _, seconds in events)
        if self._outer is not None:
            self._outer.note(node, outputs, events)

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
            self._known.swept(place)
        if self._outer is not None:
            self._outer._swept(node, seconds)

    def carried(self, node: Node, arriving: Sequence, results: Sequence) -> None:
        """Look at the gradients that arrive at a node and that its closure returned, before anyone adds to them."""
        place = self._places.get(node.number)
        if place is not None:
            self._known.carried(place, arriving, results, self._places.get)
        if self._outer is not None:
            self._outer.carried(node, arriving, results)

    def _taken(self) -> list:
        events = seam.take_trace()
        self._spent += sum(seconds for _, seconds in events)
        return events

    def _place(self, node: Node, outputs: Sequence[Tensor] = ()) -> int:
        place = self._places.get(node.number)
        if place is None:
            place = self._places[node.number] = len(self.entries)
            shapes = tuple(layout.shape for layout in node.layouts)
            name = escaped(str(node.name))
            name = name if len(name) <= LONGEST else f"{name[:LONGEST]}..."
            self.entries.append(Entry(place, name, (), shapes, node.layouts[0].dtype.name, leaf=node.leaf))
            self._known.add(node, outputs)
        self._known.used(place)
        return place

    def __repr__(self) -> str:
        return tape_print.table(self.entries)

    def text(self) -> str:
        """The graph as text: one line per entry, with what it reads, in the order of recording."""
        return tape_print.graph(self.entries)

    def draw(self, graphviz: bool | None = None) -> Drawing:
        """The graph as an SVG picture, with values and gradients.

        Each entry is a box below those that it reads, with a line for each result's value and one for its gradient: the
        numbers where they are few, else their range. Leaves are tinted. A gradient that is not there is said to be
        ``none``, in a dashed frame; what was there and is held by nothing any more is said to be ``freed``. A tape that
        was made with ``keep=True`` has the values and gradients that came by. Constants and what was recorded before
        this tape are not drawn. Values are read now; nothing is recorded, and no other program is needed.

        Parameters
        ----------
        graphviz : bool, optional
            Whether Graphviz's ``dot`` places the boxes: by default where it is on PATH and answers. The drawing is the
            same otherwise.

        Returns
        -------
        Drawing
            ``str()`` is its text, ``save(path)`` writes it, and notebooks show it. They show the tape itself in the
            same way.

        Raises
        ------
        ArgumentError
            With ``graphviz=True``, if ``dot`` is not there or fails.

        Examples
        --------
        >>> import forgenb as fnb
        >>> with fnb.Tape() as tape:
        ...     x = tape.leaf(fnb.tensor(3.0, name="x"))
        ...     (x * x).backward()
        >>> "grad: 6" in str(tape.draw(graphviz=False))
        True
        """
        known = self._known
        boxes = [Box(e.title, e.inputs, e.leaf, known.values(e.number), known.grads(e.number)) for e in self.entries]
        return drawing(boxes, f"A tape of {len(boxes)} entries", graphviz)

    def _repr_svg_(self) -> str:
        return str(self.draw())

    def explore(self, path: StrPath | None = None) -> Page:
        """A page that steps through the computation, forward and backward, in one file that needs no network.

        Each step shows the op, shapes, values, the gradients that arrive and leave, and the source of the closure. A
        tape that was made with ``keep=True`` has noted them as they came by, sweeps too. Without, the page has the
        forward steps, with those values that something still holds. Of large arrays it has the ends and the range.

        Parameters
        ----------
        path : str or path, optional
            Where the page is written to, whole or not at all.

        Returns
        -------
        Page
            ``str()`` is its text, ``save(path)`` writes it, and notebooks show it in a frame.

        Raises
        ------
        ArgumentError
            If `path` is none.
        CheckpointError
            If the file cannot be written; what was there before is unchanged.
        """
        steps = self._known.steps()
        made = page(self.entries, steps, self._known.rules(), self._known.journal is not None)
        if path is not None:
            made.save(path)
        return made
