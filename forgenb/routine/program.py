"""The readable form of a recorded step: numbered statements with scopes and shapes."""

from __future__ import annotations

from .statements import Launch, Product


class Program:
    """An ordered list of named statements. Print it to read the step."""

    def __init__(self, statements: list[Launch | Product], name: str):
        self.statements, self.name = statements, name

    def __len__(self) -> int:
        return len(self.statements)

    def __str__(self) -> str:
        names: dict[int, str] = {}

        def label(memory) -> str:
            letter = {"stored": "s", "scratch": "t", "constant": "c"}.get(getattr(memory, "mode", ""), "p")
            return names.setdefault(id(memory), f"{letter}{len(names)}")

        lines, scope = [f"routine {self.name}: {len(self)} statements"], ""
        for position, statement in enumerate(self.statements):
            if statement.scope != scope:
                scope = statement.scope
                lines.append(f"  {scope or '(no scope)'}:")
            outs = ", ".join(label(m) for m in statement.writes)
            ins = ", ".join(label(m) for m in statement.reads)
            shapes = " ".join("x".join(map(str, s)) or "()" for s in statement.shapes)
            lines.append(f"  {position:4d}  {outs} = {statement.name}({ins})  {shapes}")
        return "\n".join(lines)
