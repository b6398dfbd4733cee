"""A fault and how it is planted: one edit, compiled, in place of the code of the function that it is in.

The function stays the same object, so the table, methods and other modules run the fault too. A kernel that reaches
the function is replaced by one that no cache knows, wherever a module of ops holds it.

Imports kernels, edits and rules; whether a fault is found is not decided here.
"""

from __future__ import annotations
import __future__ as futures

import ast
import contextlib
import dataclasses
import functools
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import NamedTuple

from ...kernel import Kernel
from ...kernel.binding import global_names
from .edits import Edit, edits
from .rules import Part, Rule

PACKAGE = "forgenb."


class Fault(NamedTuple):
    """One edit of one part of a rule; `number` tells edits of equal statements of one function apart."""

    part: Part
    edit: Edit
    statement: ast.stmt
    before: str
    after: str
    number: int = 0

    @property
    def key(self) -> str:
        """What it is known by as long as its function says the same."""
        repeated = f" [{self.number}]" if self.number else ""
        return f"{self.rule} => {self.after}{repeated}"

    @property
    def rule(self) -> str:
        """The statement that it changes: file, function and text."""
        return f"{Path(self.part.path).stem}.{self.part.name}: {self.before}"

    @property
    def place(self) -> str:
        """File and line."""
        return f"{Path(self.part.path).name}:{self.statement.lineno}"

    def code(self) -> CodeType:
        """The code of the whole top-level function with the fault in it."""
        with _edited(self.edit):
            tree = deepcopy(self.part.tree)
        tree.decorator_list = []
        module = ast.fix_missing_locations(ast.Module([tree], []))
        compiled = compile(module, self.part.path, "exec", futures.annotations.compiler_flag, dont_inherit=True)
        return next(c for c in compiled.co_consts if isinstance(c, CodeType) and c.co_name == tree.name)


@contextlib.contextmanager
def _edited(edit: Edit) -> Iterator[None]:
    edit.put(edit.new)
    try:
        yield
    finally:
        edit.put(edit.old)


def faults(rule: Rule) -> list[Fault]:
    """Every fault of a rule, without those that read the same."""
    found: dict[str, Fault] = {}
    for part in rule.parts:
        statements = _statements(part.node)
        for edit in edits(part.node):
            statement = statements[id(edit.old)]
            before = _line(statement)
            with _edited(edit):
                after = _line(edit.new if edit.old is statement else statement)
            fault = Fault(part, edit, statement, before, after)
            while before != after and found.get(fault.key, fault).statement is not statement:
                fault = fault._replace(number=fault.number + 1)
            if before != after:
                found.setdefault(fault.key, fault)
    return list(found.values())


def _statements(function: ast.FunctionDef) -> dict[int, ast.stmt]:
    """For every node of a function the innermost statement that it is in."""
    found: dict[int, ast.stmt] = {}
    waiting: list[tuple[ast.AST, ast.stmt]] = [(node, node) for node in function.body]
    while waiting:
        node, statement = waiting.pop()
        statement = node if isinstance(node, ast.stmt) else statement
        found[id(node)] = statement
        waiting.extend((inner, statement) for inner in ast.iter_child_nodes(node))
    return found


def _line(node: ast.AST) -> str:
    """A statement as text; of one with a block of its own, the first line."""
    return ast.unparse(ast.fix_missing_locations(deepcopy(node))).partition("\n")[0]


@contextlib.contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """The fault in place, and gone at the end."""
    function = fault.part.function
    original, code = function.__code__, fault.code()
    replaced = [(module, name, kernel) for module, name, kernel in _kernels() if function in _reach(kernel)]
    fresh = {kernel: dataclasses.replace(kernel) for _, _, kernel in replaced}
    function.__code__ = code
    for module, name, kernel in replaced:
        setattr(module, name, fresh[kernel])
    try:
        yield
    finally:
        function.__code__ = original
        for module, name, kernel in replaced:
            setattr(module, name, kernel)


@functools.cache
def _kernels() -> list[tuple[ModuleType, str, Kernel]]:
    """(module, name, kernel) for every kernel that a module of the package holds."""
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith(PACKAGE)]
    return [(m, name, value) for m in modules for name, value in vars(m).items() if isinstance(value, Kernel)]


@functools.cache
def _reach(kernel: Kernel) -> frozenset[FunctionType]:
    """The functions that a kernel's body is made of."""
    found, waiting = set(), [kernel.body]
    while waiting:
        function = waiting.pop()
        found.add(function)
        values = (function.__globals__.get(name) for name in global_names(function.__code__))
        waiting.extend(v for v in values if isinstance(v, FunctionType) and v not in found)
    return frozenset(found)
