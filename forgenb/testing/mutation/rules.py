"""Where the backward rule of an op is written: the closures that its calls record, and the kernels that these launch.

Found by calling the op on its samples and walking what was recorded, then by name: a closure leads to private helpers
and kernels beside it, and to the `*_grad` ops that it calls. What the op's own forward uses too, and what other ops
share, is no part of the rule.

Imports the op table, the tape and samples; nothing here changes code.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from types import FunctionType
from typing import Any, NamedTuple

from ...backend import use
from ...creation import tensor
from ...errors import ForgeError
from ...kernel import Kernel
from ...ops import TABLE
from ...ops.steps import record_steps
from ..samples import call, differentiable, samples

BACKEND = "python"
"""Interprets kernels: nothing is compiled, and no index can leave its block of memory."""
GRADIENT = "_grad"
APART = ("check", "_check", "as_")
"""How helpers begin that only raise, or make tensors of what is none: tested with messages and operands."""


class Part(NamedTuple):
    """A piece of a rule: `node`, a function written in `tree`, the top-level function of the file at `path`."""

    function: Any
    tree: ast.FunctionDef
    node: ast.FunctionDef
    path: str

    @property
    def name(self) -> str:
        """The names of both, as Python writes them."""
        outer, inner = self.tree.name, self.node.name
        return outer if self.tree is self.node else f"{outer}.{inner}"


class Rule(NamedTuple):
    """The rule of one op: its parts, the `*_grad` ops among them, and the ops whose rules it takes from elsewhere."""

    parts: tuple[Part, ...]
    gradients: tuple[str, ...]
    borrowed: tuple[str, ...]


@functools.cache
def rule_of(name: str) -> Rule:
    """The rule of an op of the table; without parts where it has none."""
    owners: dict[object, str] = {row.function: label for label, row in TABLE.items()}
    parts: dict[tuple[str, str], Part] = {}
    gradients: list[str] = []
    borrowed: list[str] = []
    shared = _names_of_forward(TABLE[name].function)  # type: ignore[arg-type]
    for closure in _closures(name):
        outer = _outer(closure)
        owner = owners.get(outer, name)
        if owner != name:
            borrowed.append(owner)
            continue
        own = _names_of_forward(outer) | shared | {outer.__name__, name}
        for part in _follow(_part(outer, closure.__code__), own, gradients):
            parts.setdefault((part.path, part.name), part)
    return Rule(tuple(parts.values()), tuple(dict.fromkeys(gradients)), tuple(sorted(set(borrowed))))


def _closures(name: str) -> list[FunctionType]:
    """One closure of each piece of code that backward would run, over all samples."""
    found: dict[object, FunctionType] = {}
    with use(BACKEND):
        for sample in samples(name):
            for places in {tuple(differentiable(name, sample)), sample.reals}:
                operands = [tensor(a, requires_grad=p in places) for p, a in enumerate(sample.arrays)]
                try:
                    outputs = call(name, operands, sample)
                except ForgeError:  # one that has no gradient refuses to be tracked
                    continue
                for node in recorded(outputs):
                    closure = _steps(node.backward)
                    found.setdefault(closure.__code__, closure)
    return list(found.values())


def recorded(outputs) -> Iterator:
    """The nodes that tensors were recorded with, without leaves."""
    seen, waiting = set(), [t.node for t in outputs]
    while waiting:
        node = waiting.pop()
        if node is None or node.backward is None or node.number in seen:
            continue
        seen.add(node.number)
        yield node
        waiting.extend(parent[0] for parent in node.parents if parent is not None)


def _steps(closure: FunctionType) -> FunctionType:
    """The formulas that a closure of `record_steps` pulls back through; of any other, itself."""
    held = dict(zip(closure.__code__.co_freevars, closure.__closure__ or (), strict=True))
    return held["steps"].cell_contents if closure.__module__ == record_steps.__module__ else closure


def _outer(closure: FunctionType) -> FunctionType:
    """The top-level function that a closure was written in."""
    module: dict = closure.__globals__
    return module[closure.__code__.co_qualname.partition(".")[0]]


@functools.cache
def _trees(path: str) -> dict[str, ast.FunctionDef]:
    with open(path, encoding="utf-8") as file:
        return {node.name: node for node in ast.parse(file.read()).body if isinstance(node, ast.FunctionDef)}


def _part(outer: FunctionType, code=None) -> Part:
    """The whole of a top-level function, or the function inside it that `code` belongs to."""
    path = outer.__code__.co_filename
    tree = _trees(path)[outer.__name__ if outer.__name__ in _trees(path) else outer.__code__.co_name]
    inside = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))
    node = tree if code is None else next(n for n in inside if n.lineno == code.co_firstlineno)
    return Part(outer, tree, node, path)


def _follow(part: Part, shared: set[str], gradients: list[str]) -> Iterator[Part]:
    """`part` and all that it leads to."""
    yield part
    for name in sorted(names_in(part.node) - shared):
        value = part.function.__globals__.get(name)
        if isinstance(value, Kernel) and (GRADIENT in name or value.body.__module__ == part.function.__module__):
            yield from _follow(_part(value.body), shared | {name}, gradients)
        elif _leads_on(part, value):
            if value.__name__ in TABLE:
                gradients.append(value.__name__)
            yield from _follow(_part(value), shared | {name}, gradients)


def _leads_on(part: Part, value: object) -> bool:
    """Whether a function that a rule calls is part of it: a private one of the same file, or a gradient op."""
    if not isinstance(value, FunctionType) or not value.__module__.startswith("forgenb.ops."):
        return False
    table = [label for label, row in TABLE.items() if row.function is value]
    if table:
        return GRADIENT in table[0]
    return value.__module__ == part.function.__module__ and not value.__name__.startswith(APART)


def names_in(node: ast.FunctionDef) -> set[str]:
    """Names that a function reads, without those of the closures inside it."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, ast.FunctionDef):
            continue
        if isinstance(inner, ast.Name):
            found.add(inner.id)
        waiting.extend(ast.iter_child_nodes(inner))
    return found


def _names_of_forward(function: FunctionType) -> set[str]:
    """What an op's forward reads, and what the functions of its file that it calls read."""
    found: set[str] = set()
    waiting = [function]
    while waiting:
        outer = waiting.pop()
        trees = _trees(outer.__code__.co_filename)
        tree = trees.get(outer.__name__, trees.get(outer.__code__.co_name))
        for name in names_in(tree) - found if tree is not None else ():
            found.add(name)
            value = outer.__globals__.get(name)
            value = value.body if isinstance(value, Kernel) else value
            if isinstance(value, FunctionType) and value.__code__.co_filename == outer.__code__.co_filename:
                waiting.append(value)
    return found
