"""Which lines of the kernels' bodies and their helpers ran, counted by Python's own tracing."""

import ast
import inspect
import sys
import textwrap
from types import FunctionType

from forgenb.kernel.binding import global_names
from forgenb.kernel.primitives import ByDtype


def functions_of(kernels):
    """Every body and every helper that a body reaches, both dtypes of those that have two."""
    found, waiting = {}, [kernel.body for kernel in kernels]
    while waiting:
        function = waiting.pop()
        if function.__code__ in found:
            continue
        found[function.__code__] = function
        for name in global_names(function.__code__):
            value = function.__globals__.get(name)
            if isinstance(value, FunctionType):
                waiting.append(value)
            elif isinstance(value, ByDtype):
                waiting += value.variants.values()
    return list(found.values())


def statements(function):
    """The lines on which a statement of the function begins, its docstring left out."""
    text, first = inspect.getsourcelines(function)
    (tree,) = ast.parse(textwrap.dedent("".join(text))).body
    body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    found = set()
    for statement in body:
        found |= {first + n.lineno - 1 for n in ast.walk(statement) if isinstance(n, ast.stmt)}
    return {(function.__code__.co_filename, line): function.__name__ for line in found}


class Lines:
    """Collects lines inside a ``with`` block; a function all of whose lines ran is not watched any more."""

    def __init__(self, functions):
        self.missing = {}
        for function in functions:
            self.missing |= statements(function)
        self.owners = {(f.__code__.co_filename, f.__code__.co_firstlineno) for f in functions}

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)

    def _call(self, frame, event, argument):
        code = frame.f_code
        if (code.co_filename, code.co_firstlineno) in self.owners:
            if any(place in self.missing for place in ((code.co_filename, n) for *_, n in code.co_lines())):
                return self._line
            self.owners.remove((code.co_filename, code.co_firstlineno))
        return None

    def _line(self, frame, event, argument):
        if event == "line":
            self.missing.pop((frame.f_code.co_filename, frame.f_lineno), None)
        return self._line
