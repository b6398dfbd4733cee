"""One line of a tape: `Entry`, which is all that the table, the picture and the page know of what was recorded.

Imports nothing; what a tape does with its entries is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Entry:
    """One line of a tape: an op that was recorded, or a leaf.

    Attributes
    ----------
    number : int
        The place on this tape.
    op : str
        The op's name; a leaf's own name, or ``"leaf"``. What cannot be printed is escaped, and long names are cut.
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

    @property
    def name(self) -> str:
        """The op and the number."""
        return f"{self.op}#{self.number}"

    @property
    def title(self) -> str:
        """The name, and the shapes."""
        return f"{self.name} {', '.join(map(str, self.shapes))}"
