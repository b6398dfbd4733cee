"""Edits of a syntax tree, each of which a person could make by mistake: operator, sign, constant, term, index, order.

``edits(function)`` yields every edit of one function as (what is edited, its new form, the kind of mistake). None is
made here.

Imports `ast` alone. An edit of something that only messages or compiled targets see does not belong here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import NamedTuple


class Edit(NamedTuple):
    """Put `new` where `old` is: field `field` of `owner`, or its item number `place`."""

    kind: str
    owner: ast.AST
    field: str
    place: int | None
    old: ast.AST
    new: ast.AST

    def put(self, node: ast.AST) -> None:
        """Put `node` into the place of the edit."""
        if self.place is None:
            setattr(self.owner, self.field, node)
        else:
            getattr(self.owner, self.field)[self.place] = node


OTHER: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
INVERSE: dict[type, type] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
BOUNDARY: dict[type, type] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
COMMUTATIVE = {"accumulate", "add", "equal", "fma", "max", "maximum", "min", "minimum", "mul", "multiply", "not_equal"}
SILENT = {
    "count", "detach", "float", "int", "lane_barrier", "lane_max", "lane_sum", "lanes", "list", "range", "real",
    "record", "record_steps", "tuple",
}  # fmt: skip
"""Calls that mean nothing on one lane or off the tape, or without which nothing else changes than a type."""
FACTS = {"backend", "contiguous", "dtype", "ndim", "shape"}
"""What is asked of an operand that is no number of it; that operands agree in these is checked with the messages."""
REFUSALS = ("check", "_check", "refuse", "one_float", "same_backend", "floats_only")
"""How functions begin that only raise."""


def edits(function: ast.FunctionDef) -> Iterator[Edit]:
    """Every edit of a function, without those of the closures inside it."""
    names = [a.arg for a in function.args.args]
    for owner, field, place, node in places(function):
        for change in CHANGES:
            for kind, new in change(node):
                yield Edit(kind, owner, field, place, node, new)
        if function.name == "backward":
            for kind, new in _all_results(node):
                yield Edit(kind, owner, field, place, node, new)
        if isinstance(node, ast.Name) and node.id in names and len(names) > 1 and not _asked_for_fact(owner):
            other = names[(names.index(node.id) + 1) % len(names)]
            yield Edit("wrong argument", owner, field, place, node, ast.Name(other, ast.Load()))


def places(function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Every node of a function's body with where it hangs, except those that are `_left_alone`."""
    waiting: list[ast.AST] = [function]
    while waiting:
        owner = waiting.pop()
        for field, value in ast.iter_fields(owner):
            if owner is function and field != "body":
                continue
            listed = isinstance(value, list)
            recorded = field == "args" and _called(owner) in ("record", "record_steps")
            for place, node in enumerate(value[:1] if recorded else value if listed else [value]):
                if isinstance(node, ast.AST) and not _left_alone(node):
                    yield owner, field, place if listed else None, node
                    waiting.append(node)


def _left_alone(node: ast.AST) -> bool:
    """Closures, docstrings, refusals, names that are written, and settings that change no number."""
    if isinstance(node, ast.If):
        return isinstance(node.body[-1], ast.Raise)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or _called(node.value).startswith(REFUSALS)
    if isinstance(node, ast.keyword):
        return node.arg in ("work", "dtype", "strict")
    written = isinstance(node, (ast.Name, ast.Tuple)) and isinstance(node.ctx, ast.Store)
    return written or isinstance(node, (ast.FunctionDef, ast.Raise, ast.ImportFrom, ast.Import, ast.expr_context))


def _asked_for_fact(owner: ast.AST) -> bool:
    """Whether something asks its operand for what all operands share, so that any of them would do."""
    return isinstance(owner, ast.Attribute) and owner.attr in FACTS


def _called(node: ast.AST) -> str:
    """The name of what a call calls, or nothing."""
    if not isinstance(node, ast.Call):
        return ""
    return (
        node.func.id
        if isinstance(node.func, ast.Name)
        else node.func.attr
        if isinstance(node.func, ast.Attribute)
        else ""
    )


def _operator(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in OTHER:
        new = deepcopy(node)
        new.op = OTHER[type(node.op)]()
        yield "operator", new


def _term(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield "term dropped", node.left
        yield "term dropped", node.right if isinstance(node.op, ast.Add) else ast.UnaryOp(ast.USub(), node.right)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        yield "factor dropped", node.left
        if isinstance(node.op, ast.Mult):
            yield "factor dropped", node.right


def _sign(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign", node.operand
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "comparison", node.operand


def _constant(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool):
        yield "constant", ast.Constant(not value)
    elif isinstance(value, int):
        yield "constant", ast.Constant(value + 1)
    elif isinstance(value, float):
        yield "constant", ast.Constant(value * 1.5 if value else 1.0)


def _comparison(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for kind, table in (("comparison", INVERSE), ("boundary", BOUNDARY)):
            if type(node.ops[0]) in table:
                new = deepcopy(node)
                new.ops = [table[type(node.ops[0])]()]
                yield kind, new
    if isinstance(node, ast.IfExp):
        yield "branches", ast.IfExp(node.test, node.orelse, node.body)
    if isinstance(node, ast.If):
        yield "branches", ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)


def _call(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if not isinstance(node, ast.Call) or _called(node) in SILENT:
        return
    if node.args and not isinstance(node.args[0], ast.Starred):
        yield "call dropped", node.args[0]
    if isinstance(node.func, ast.Attribute) and not node.args and not node.keywords:
        yield "call dropped", node.func.value
    if len(node.args) > 1 and _called(node) not in COMMUTATIVE and not any(map(_of_message, node.args[:2])):
        yield "arguments swapped", _with_arguments(node, [node.args[1], node.args[0], *node.args[2:]])
    if _called(node) == "accumulate":
        yield "accumulation dropped", node.args[1]
    for gone in (word for word in node.keywords if not _left_alone(word)):
        new = ast.Call(node.func, node.args, [word for word in node.keywords if word is not gone])
        yield "argument dropped", new


def _of_message(argument: ast.expr) -> bool:
    """Whether an argument is a name for messages."""
    return (isinstance(argument, ast.Constant) and isinstance(argument.value, str)) or getattr(
        argument, "id", ""
    ) == "name"


def _with_arguments(node: ast.Call, arguments: list[ast.expr]) -> ast.Call:
    return ast.Call(node.func, arguments, node.keywords)


def _index(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name):
        yield "index", ast.Subscript(node.value, ast.Constant(0), node.ctx)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) > 1:
        swapped = ast.Tuple([*node.slice.elts[1::-1], *node.slice.elts[2:]], ast.Load())
        yield "index", ast.Subscript(node.value, swapped, node.ctx)


def _statement(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.AugAssign):
        target = deepcopy(node.target)
        yield "accumulation dropped", ast.Assign([target], node.value, lineno=node.lineno)
        if type(node.op) in OTHER:
            yield "operator", ast.AugAssign(node.target, OTHER[type(node.op)](), node.value)
    if isinstance(node, ast.Expr) and _called(node.value) not in SILENT:
        yield "statement dropped", ast.Pass()


def _result(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Gradients that a rule returns: each of the other sign, a little too large, doubled, none; two change places."""
    if not isinstance(node, ast.Return) or not isinstance(node.value, ast.Tuple):
        return
    found = node.value.elts
    for number, gradient in enumerate(found):
        if isinstance(gradient, (ast.Constant, ast.Starred)):
            continue
        for kind, new in _spoiled(gradient):
            yield kind, ast.Return(ast.Tuple([*found[:number], new, *found[number + 1 :]], ast.Load()))
    if len(found) > 1:
        yield "gradients swapped", ast.Return(ast.Tuple([found[1], found[0], *found[2:]], ast.Load()))


def _all_results(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """All gradients that a rule returns as another function gives them: of the other sign, too large, nothing."""
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
        for kind, spoiled in (("sign", "-g"), ("factor", "g * 1.01"), ("factor", "g * 0.0")):
            text = f"tuple(None if g is None else {spoiled} for g in {ast.unparse(node.value)})"
            yield kind, ast.Return(ast.parse(text, mode="eval").body)


def _spoiled(gradient: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(gradient, ast.IfExp):
        for kind, new in _spoiled(gradient.body):
            yield kind, ast.IfExp(gradient.test, new, gradient.orelse)
        return
    yield "sign", ast.UnaryOp(ast.USub(), gradient)
    yield "factor", ast.BinOp(gradient, ast.Mult(), ast.Constant(1.01))
    yield "factor", ast.BinOp(gradient, ast.Mult(), ast.Constant(0.0))
    yield "gradient dropped", ast.Constant(None)


Change = Callable[[ast.AST], Iterator[tuple[str, ast.AST]]]
CHANGES: tuple[Change, ...] = (
    _operator, _term, _sign, _constant, _comparison, _call, _index, _statement, _result,
)  # fmt: skip
