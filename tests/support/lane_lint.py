"""What a row body must not do where many lanes run it: a look at its syntax tree.

A name is *variant* where lanes may hold different values: indices of ``lanes``, what is computed from them, and what is
accumulated in such a loop until a reduction makes it uniform again.
"""

import ast
import inspect
import textwrap
from types import FunctionType

MEETINGS = {"lane_sum", "lane_max", "lane_barrier", "syncthreads", "syncwarp"}
OBJECTS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)
OBJECTS += (ast.JoinedStr, ast.Lambda, ast.Try, ast.With, ast.Raise, ast.Yield)


def faults(function):
    """Messages about `function` and the plain functions that it calls."""
    found = []
    for one in called(function, []):
        tree = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0]
        found += [f"{one.__name__}: {message}" for message in Lint(tree, one.__globals__).messages]
    return found


def called(function, known):
    """`function` and the functions of the package that it calls, each once."""
    if function in known:
        return known
    known.append(function)
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType):
            called(value, known)
    return known


def call_name(node):
    """The name that a call uses, without its module."""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def literal(node):
    """Whether a size is a number or a tuple of numbers."""
    return all(isinstance(n, (ast.Constant, ast.Tuple)) for n in ast.walk(node) if isinstance(n, ast.expr))


class Lint:
    """One function's faults."""

    def __init__(self, tree, scope):
        self.scope, self.variant, self.messages = scope, set(), []
        self.meetings = [node for node in ast.walk(tree) if self.meets(node)]
        for node in ast.walk(tree):
            if isinstance(node, OBJECTS):
                self.say(node, f"a {type(node).__name__} is no value of a kernel")
            array = isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("shared.array", "local.array"))
            if array and not literal(node.args[0]):
                self.say(node, "the size of an array must be literal")
        self.block(tree.body, alone=False, split=False)

    def say(self, node, text):
        """Note a fault once."""
        message = f"line {node.lineno}: {text}"
        if message not in self.messages:
            self.messages.append(message)

    def meets(self, node):
        """Whether `node` is a call at which lanes wait for each other."""
        if not isinstance(node, ast.Call):
            return False
        target = self.scope.get(call_name(node))
        inner = called(target, []) if isinstance(target, FunctionType) else []
        return call_name(node) in MEETINGS or any(MEETINGS & set(f.__code__.co_names) for f in inner)

    def varies(self, node):
        """Whether lanes may hold different values of an expression."""
        if isinstance(node, ast.Call) and call_name(node) in ("lane_sum", "lane_max"):
            return False
        if isinstance(node, ast.Name):
            return node.id in self.variant
        if isinstance(node, ast.Attribute) and ast.unparse(node).endswith("threadIdx.x"):
            return True
        return any(self.varies(child) for child in ast.iter_child_nodes(node))

    def block(self, statements, alone, split):
        """Statements in order; `alone` inside a loop over lanes, `split` where lanes may have parted."""
        for statement in statements:
            self.statement(statement, alone, split)

    def statement(self, node, alone, split):
        if isinstance(node, ast.For):
            own = isinstance(node.iter, ast.Call) and call_name(node.iter) == "lanes"
            parted = split or own or self.varies(node.iter)
            self.mark(node.target, own or self.varies(node.iter))
            if own and self.constant(node.iter):
                return self.checks(node, parted)
            for _ in range(2):
                self.block(node.body, alone or own, parted)
            return None
        if isinstance(node, (ast.If, ast.While)):
            self.expression(node.test, split)
            parted = split or self.varies(node.test)
            for _ in range(2):
                self.block([*node.body, *node.orelse], alone, parted)
            return None
        if isinstance(node, ast.Return) and any(m.lineno > node.lineno for m in self.meetings):
            self.say(node, "return before lanes meet")
        if isinstance(node, (ast.Break, ast.Continue)) and split and any(m.lineno > node.lineno for m in self.meetings):
            self.say(node, "break or continue of some lanes before lanes meet")
        self.checks(node, split)
        return self.writes(node, alone)

    def constant(self, call):
        """Whether it is ``lanes(1)``, whose body only one lane runs."""
        return isinstance(call.args[0], ast.Constant) and call.args[0].value == 1

    def checks(self, node, split):
        """Meetings anywhere in a statement."""
        for child in ast.walk(node):
            self.expression(child, split)

    def expression(self, node, split):
        if split and self.meets(node):
            self.say(node, f"{call_name(node)} where only some lanes may come")

    def mark(self, target, varies):
        for name in (n.id for n in ast.walk(target) if isinstance(n, ast.Name)):
            (self.variant.add if varies else self.variant.discard)(name)

    def writes(self, node, alone):
        """Assignments to names and to elements."""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and call_name(node.value) == "put":
            array, index, value = node.value.args
            self.element(node, ast.unparse(array), index, value, False)
        elif isinstance(node, ast.AugAssign):
            if isinstance(node.target, ast.Subscript):
                self.element(node, ast.unparse(node.target.value), node.target.slice, node.value, True)
            elif alone or self.varies(node.value):
                self.mark(node.target, True)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript):
                    self.element(node, ast.unparse(target.value), target.slice, node.value, False)
                else:
                    self.mark(target, self.varies(node.value) or (alone and self.reads(node.value)))

    def reads(self, value):
        """Whether a value inside a loop over lanes depends on a name that the loop carries; calls may."""
        return any(isinstance(n, ast.Call) and call_name(n) not in ("lane_sum", "lane_max") for n in ast.walk(value))

    def element(self, node, array, index, value, adding):
        """A write to one element: its place must tell lanes apart, or all must write the same."""
        if self.varies(index) or array in self.variant:
            return
        if self.varies(value):
            self.say(node, f"lanes write different values to one element of {array}")
        again = any(isinstance(n, ast.Subscript) and ast.unparse(n.value) == array for n in ast.walk(value))
        if adding or again:
            self.say(node, f"every lane reads and writes one element of {array}")
