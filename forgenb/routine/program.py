"""The readable form of a recorded step: numbered statements with scopes and shapes, as text and as a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .statements import Launch, Product

if TYPE_CHECKING:
    from .recorder import Recorder

LETTERS = {"stored": "s", "scratch": "t", "constant": "c", "undecided": "v"}
KINDS = "v: not planned yet, t: scratch, s: stored, c: constant, p: from outside"


class Program:
    """An ordered list of named statements. Print it to read the step; `fnb.train.to_routine` makes it run.

    Attributes
    ----------
    name : str
    statements : list
    recorder : Recorder or None
        What else belongs to the step: checks, counters, constants.
    """

    def __init__(self, statements: list[Launch | Product], name: str, recorder: Recorder | None = None):
        self.statements, self.name, self.recorder = statements, name, recorder

    def __len__(self) -> int:
        return len(self.statements)

    def __iter__(self) -> Iterator[Launch | Product]:
        return iter(self.statements)

    def __repr__(self) -> str:
        return f"<Program {self.name!r}: {len(self)} statements>"

    def __str__(self) -> str:
        label = _Labels()
        lines, scope = [f"routine {self.name}: {len(self)} statements   ({KINDS})"], ""
        for position, statement in enumerate(self.statements):
            if statement.scope != scope:
                scope = statement.scope
                lines.append(f"  {scope or '(no scope)'}:")
            outs = ", ".join(map(label, statement.writes))
            ins = ", ".join(map(label, statement.reads))
            lines.append(f"  {position:4d}  {outs} = {statement.name}({ins})  {_shapes(statement)}")
        return "\n".join(lines)

    def labels(self) -> dict[int, str]:
        """How the printed program calls each block of memory, by its id."""
        label = _Labels()
        for statement in self.statements:
            for memory in (*statement.writes, *statement.reads):
                label(memory)
        return label.names

    def graph(self) -> str:
        """The program as a directed graph in the DOT language, as text; no Graphviz is needed to make it.

        A box is a statement, grouped by scope; an arrow leads from the statement that wrote a value last to the one
        that uses it. Ellipses are values from outside and constants.
        """
        label = _Labels()
        boxes: dict[str, list[str]] = {}
        edges: dict[str, None] = {}
        writer: dict[int, str] = {}
        for position, statement in enumerate(self.statements):
            text = f"{position} {statement.name}\\n{_shapes(statement)}"
            boxes.setdefault(statement.scope, []).append(f'n{position} [shape=box, label="{text}"];')
            for memory in statement.reads:
                if id(memory) not in writer:
                    name = label(memory)
                    boxes.setdefault("", []).append(f'{name} [shape=ellipse, label="{name}"];')
                    writer[id(memory)] = name
                edges[f"{writer[id(memory)]} -> n{position};"] = None
            for memory in statement.writes:
                writer[id(memory)] = f"n{position}"
        lines = [f'digraph "{_escaped(self.name)}" {{', "  rankdir=TB;"]
        for number, (scope, inside) in enumerate(boxes.items()):
            if scope:
                lines.append(f'  subgraph cluster_{number} {{ label="{_escaped(scope)}";')
            lines += [f"    {line}" for line in inside]
            if scope:
                lines.append("  }")
        return "\n".join([*lines, *(f"  {edge}" for edge in edges), "}"])


class _Labels:
    """A short name for each block of memory: a letter for its kind and a number."""

    def __init__(self):
        self.names: dict[int, str] = {}

    def __call__(self, memory) -> str:
        letter = LETTERS.get(getattr(memory, "mode", ""), "p")
        return self.names.setdefault(id(memory), f"{letter}{len(self.names)}")


def _shapes(statement: Launch | Product) -> str:
    return " ".join("x".join(map(str, s)) or "()" for s in statement.shapes)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
