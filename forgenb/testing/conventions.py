"""What ops give where mathematics leaves a choice: ties, kinks, zeros, infinities, NaN and nothing at all. As data.

Every row is a call of one op of the table with its value and its gradients, the seed being one everywhere. The tests
run all of them on every backend, eagerly and in a routine; the page is written by
``python -m forgenb.testing.conventions > docs/conventions.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..creation import tensor
from ..ops import TABLE
from ..tensor import Tensor
from .conventions_table import SECTIONS
from .markdown import table

CLOSE = 2e-6
"""Relative difference in float32 that is still the same number."""


@dataclass(frozen=True)
class Convention:
    """One row: ``op(*operands, **keywords)`` is `value`, or raises where that is a string.

    `gradients` are those of the operands that hold floats, in order, and empty where the op has none.
    """

    section: str
    op: str
    operands: tuple[Any, ...]
    value: Any
    gradients: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)

    @property
    def refused(self) -> bool:
        """Whether the call raises an `ArgumentError` with `value` in its text."""
        return isinstance(self.value, str)

    def arrays(self) -> list[np.ndarray]:
        """The operands; floats are float32, numbers that are whole stay so."""
        found = [np.asarray(operand) for operand in self.operands]
        return [a.astype("float32") if a.dtype.kind == "f" else a for a in found]

    @property
    def call(self) -> str:
        """The row as it would be written."""
        settings = [f"{name}={value!r}" for name, value in self.keywords.items()]
        return f"{self.op}({', '.join([*map(_shown, self.operands), *settings])})"


def conventions() -> Iterator[Convention]:
    """All rows, section by section."""
    for section, (_, rows) in SECTIONS.items():
        yield from (Convention(section, *row) for row in rows)


def results(row: Convention, seed: Any, operands: Sequence[Tensor]) -> list[Tensor | None]:
    """The value of a row's call and the gradients of its operands that have one, for `seed`."""
    floats = [t for t in operands if t.dtype.kind == "f"] if row.gradients else []
    leaves = {id(t): t.detach() for t in floats}
    for leaf in leaves.values():
        leaf.requires_grad = True
    out = TABLE[row.op].function(*(leaves.get(id(t), t) for t in operands), **row.keywords)
    if row.gradients:
        out.backward(seed.astype(out.dtype))
    return [out, *(leaf.grad for leaf in leaves.values())]


def differences(row: Convention, found: Sequence[Tensor | None], seed: float = 1.0) -> list[str]:
    """What is not as the row says in the `results` of its call, for a seed of `seed` everywhere."""
    wanted = [row.value, *(np.multiply(seed, g) for g in row.gradients)]
    names = ["value", *(f"gradient {number}" for number in range(len(row.gradients)))]
    if len(found) != len(wanted):
        return [f"{row.call} gives {len(found) - 1} gradients, not {len(row.gradients)}"]
    return [
        f"{name} of {row.call} is {None if t is None else t.tolist()}, not {value}"
        for name, t, value in zip(names, found, wanted, strict=True)
        if t is None or t.shape != np.shape(value) or not np.allclose(t.numpy(), value, CLOSE, 0, equal_nan=True)
    ]


def seed_of(row: Convention, seed: float = 1.0) -> Tensor:
    """That number in the shape of a row's value."""
    return tensor(np.full(np.shape(row.value), seed, "float32"))


HEAD = """\
# Conventions

What ops give where mathematics leaves a choice, the same on every backend, eagerly and in a routine. Gradients are for
a seed of one. NaN is an answer like any other: it stays NaN through `relu`, `clip`, `max` and `maximum`, and
comparisons with it are false. Nothing warns and nothing raises where a float has an answer.
"""


def page() -> str:
    """The page."""
    parts = [HEAD]
    for section, (text, _) in SECTIONS.items():
        rows = [_cells(row) for row in conventions() if row.section == section]
        parts.append(f"## {section}\n\n{text}\n\n{table(('call', 'value', 'gradients'), rows)}\n")
    return "\n".join([*parts, "Written by `python -m forgenb.testing.conventions`.\n"])


def _cells(row: Convention) -> tuple[str, str, str]:
    value = f"raises: {row.value}" if row.refused else _shown(row.value)
    return f"`{row.call}`", value, ", ".join(map(_shown, row.gradients)) or "-"


def _shown(value: Any) -> str:
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_shown, value))}]"
    return f"{value:.7g}" if isinstance(value, float) and not isinstance(value, bool) else str(value)


if __name__ == "__main__":
    print(page(), end="")
