"""The code of an op as it stands in the source: what computes its values, and what computes its gradients.

Which parts belong to a rule is what the mutation score found: see `forgenb.testing.mutation.rules`.
"""

import ast
import inspect
from textwrap import dedent
from types import FunctionType
from typing import NamedTuple

from forgenb.kernel import Kernel
from forgenb.ops import TABLE
from forgenb.testing.mutation.rules import APART, names_in, rule_of

INNER = ("backward", "steps")
"""The closures of an op, which are shown as its rule."""


class Piece(NamedTuple):
    """A function: its name, its text, and whether it is an op, kernel or closure, and no helper of one."""

    name: str
    code: str
    main: bool = True


def forward(name: str) -> list[Piece]:
    """The kernels that an op launches, the op, and the helpers of its file that it calls."""
    pieces: dict[str, Piece] = {}
    _follow(TABLE[name].function, pieces)
    return sorted(pieces.values(), key=lambda piece: (not piece.main, piece.name == TABLE[name].function.__name__))


def backward(name: str) -> list[Piece]:
    """The closure that an op records, and what it calls: gradient kernels and helpers."""
    rule = rule_of(name)
    pieces = []
    for part in rule.parts:
        whole = part.tree is part.node
        kernel = whole and isinstance(part.function.__globals__.get(part.tree.name), Kernel)
        lines = inspect.getsource(inspect.getmodule(part.function)).splitlines()
        code = _text(lines, part.node, decorated=kernel, inner=not whole)
        pieces.append(Piece(part.name, code, kernel or not whole or part.tree.name in rule.gradients))
    return pieces


def _follow(function: FunctionType, pieces: dict[str, Piece], decorated: bool = False) -> None:
    """Add a function and what it calls of its own file; other ops have pages of their own."""
    lines = inspect.getsource(inspect.getmodule(function)).splitlines()
    tree = _tree(function)
    pieces[tree.name] = Piece(tree.name, _text(lines, tree, decorated), decorated or _has_page(function))
    for found in sorted(names_in(tree)):
        value = function.__globals__.get(found)
        body = value.body if isinstance(value, Kernel) else value
        inside = isinstance(body, FunctionType) and body.__module__ == function.__module__
        if inside and body.__name__ not in pieces and not found.startswith(APART) and not _has_page(body):
            _follow(body, pieces, isinstance(value, Kernel))


def _has_page(function: FunctionType) -> bool:
    return any(row.function is function for row in TABLE.values())


def _tree(function: FunctionType) -> ast.FunctionDef:
    body = ast.parse(inspect.getsource(inspect.getmodule(function))).body
    line = function.__code__.co_firstlineno
    return next(n for n in body if isinstance(n, ast.FunctionDef) and _first(n, True) <= line <= n.lineno)


def _first(node: ast.FunctionDef, decorated: bool) -> int:
    return min([node.lineno, *(d.lineno for d in node.decorator_list if decorated)])


def _text(lines: list[str], node: ast.FunctionDef, decorated: bool, inner: bool = False) -> str:
    """A function's lines without an op's docstring, or any of several lines, and without closures shown elsewhere."""
    left_out: set[int] = set()
    first = node.body[0]
    if ast.get_docstring(node) and (first.end_lineno > first.lineno or (node.decorator_list and not decorated)):
        left_out |= set(range(first.lineno, first.end_lineno + 1))
    for closure in node.body if not inner else ():
        if isinstance(closure, ast.FunctionDef) and closure.name in INNER:
            left_out |= set(range(closure.lineno, closure.end_lineno + 2))
    kept = [n for n in range(_first(node, decorated), node.end_lineno + 1) if n not in left_out]
    return dedent("\n".join(lines[n - 1] for n in kept)).replace("\n\n\n", "\n\n")
