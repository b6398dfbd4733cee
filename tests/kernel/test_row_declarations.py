"""Row kernels keep to what their declaration says: an operand that follows the extent is touched at `row` alone.

Stages of a routine rest on it: shares of a batch run side by side where the declared rows do not meet.
"""

import ast
import inspect
import textwrap

import pytest

from forgenb.kernel import row_kernel
from forgenb.kernel.primitives import lanes, put
from forgenb.testing.declared import all_kernels

ROWS = {name: kernel for name, kernel in all_kernels().items() if kernel.form == "row"}


def offences(kernel):
    """Uses of an operand whose first dimension is the extent, other than ``x[row]``, ``x[row, ...]`` and its shape."""
    own = {operand.name for operand in kernel.operands if operand.dims[:1] == kernel.symbols[:1]}
    tree = ast.parse(textwrap.dedent(inspect.getsource(kernel.body)))
    fine = {id(use) for node in ast.walk(tree) for use in _uses_at_row(node)}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in own]
    return [f"line {node.lineno}: {node.id}" for node in names if id(node) not in fine]


def _uses_at_row(node):
    if isinstance(node, ast.Call):
        if getattr(node.func, "id", "") == "put" and _begins_with_row(node.args[1]):
            yield node.args[0]
    elif (isinstance(node, ast.Attribute) and node.attr == "shape") or (
        isinstance(node, ast.Subscript) and _begins_with_row(node.slice)
    ):
        yield node.value


def _begins_with_row(index):
    first = index.elts[0] if isinstance(index, ast.Tuple) else index
    return isinstance(first, ast.Name) and first.id == "row"


@pytest.mark.parametrize("name", ROWS)
def test_what_follows_the_extent_is_touched_at_the_row(name):
    assert offences(ROWS[name]) == []


@row_kernel("x[rows,n] -> out[rows,n]")
def shifted(row, x, out):
    for j in lanes(x.shape[1]):
        put(out, (row, j), x[row - 1, j] + x[row, j])


def test_a_body_that_looks_at_another_row_is_found():
    assert offences(shifted) == ["line 4: x"]
