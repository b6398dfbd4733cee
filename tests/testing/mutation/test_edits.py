"""Each kind of edit, as the text that it leaves."""

import ast

import pytest

from forgenb.testing.mutation.edits import edits


def after(source, kind):
    """The bodies that the edits of one kind leave."""
    function = ast.parse(source).body[0]
    found = []
    for edit in edits(function):
        if edit.kind == kind:
            edit.put(edit.new)
            found.append(
                "; ".join(ast.unparse(ast.fix_missing_locations(s)).replace("\n    ", " ") for s in function.body)
            )
            edit.put(edit.old)
    assert ast.unparse(function) == ast.unparse(ast.parse(source))
    return found


@pytest.mark.parametrize(
    ("body", "kind", "wanted"),
    [
        ("d = a - b", "operator", ["d = a + b"]),
        ("d = a // b", "operator", ["d = a * b"]),
        ("d += a", "operator", ["d -= a"]),
        ("d = a if a and b else b", "operator", ["d = a if a or b else b"]),
        ("d = a + b", "term dropped", ["d = a", "d = b"]),
        ("d = a - b", "term dropped", ["d = a", "d = -b"]),
        ("d = a * b", "factor dropped", ["d = a", "d = b"]),
        ("d = a / b", "factor dropped", ["d = a"]),
        ("d = -a", "sign", ["d = a"]),
        ("d = f(2.0, x=3)", "constant", ["d = f(3.0, x=3)", "d = f(2.0, x=4)"]),
        ("d = f(x=True, y=None)", "constant", ["d = f(x=False, y=None)"]),
        ("d = a < b", "comparison", ["d = a >= b"]),
        ("d = a < b", "boundary", ["d = a <= b"]),
        ("d = a if b else c", "branches", ["d = c if b else a"]),
        ("if a is None: d = 1", "branches", ["if not a is None: d = 1"]),
        ("d = sum_to(a, shape)", "call dropped", ["d = a"]),
        ("d = f(a, b)", "arguments swapped", ["d = f(b, a)"]),
        ("d = mul(a, b)", "arguments swapped", []),
        ("d = f(a, axis=0)", "argument dropped", ["d = f(a)"]),
        ("s = accumulate(s, v)", "accumulation dropped", ["s = v"]),
        ("d += a", "accumulation dropped", ["d = a"]),
        ("d = a[i]", "index", ["d = a[0]"]),
        ("d = a[i, j]", "index", ["d = a[j, i]"]),
        ("put(d, i, a)", "statement dropped", ["pass"]),
        ("return (a, None)", "gradient dropped", ["return (None, None)"]),
        ("return (a, b)", "gradients swapped", ["return (b, a)"]),
        ("return (a,)", "factor", ["return (a * 1.01,)", "return (a * 0.0,)"]),
        ("return (a if b else None,)", "sign", ["return (-a if b else None,)"]),
    ],
)  # fmt: skip
def test_an_edit(body, kind, wanted):
    assert sorted(after(f"def f():\n    {body}", kind)) == sorted(wanted)


def test_gradients_that_another_function_gives():
    source = "def backward(dout): return f(dout)"
    assert "return tuple((None if g is None else -g for g in f(dout)))" in after(source, "sign")
    assert after(source.replace("backward", "helper"), "sign") == []


def test_a_parameter_is_taken_for_the_next_one():
    assert after("def f(x, dout): return x * dout", "wrong argument") == ["return dout * dout", "return x * x"]
    assert after("def f(x, dout): return x.shape", "wrong argument") == []


@pytest.mark.parametrize(
    "body",
    [
        "'''1 + 1'''", "if a < 1: raise E", "check(a + 1, 2)", "refuse_tracked(1, 2)", "def g(): return 1 + 1",
        "d = run(work=1 + 1, dtype=a or b)", "record(f, 1 + 1)", "raise E(1 + 1)", "lane_barrier()",
    ],
)  # fmt: skip
def test_what_only_messages_targets_or_the_tape_see_is_left_alone(body):
    assert list(edits(ast.parse(f"def f():\n    {body}").body[0])) == []
