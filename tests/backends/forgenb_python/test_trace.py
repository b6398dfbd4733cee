"""Traces: every assignment of one row, helpers indented, and a clear word where nothing can be traced."""

import sys

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError, BackendBroken, BackendError
from forgenb.kernel import map_kernel, row_kernel
from forgenb.kernel.primitives import accumulate, lanes, put, real
from forgenb.ops.apply import run_map, run_rows


def square(v):
    w = v * v
    return w * 1.0


@row_kernel("x[rows,n] -> out[rows,n] total[rows]")
def sums_kernel(row, x, out, total):
    s = real(0)
    for j in lanes(x.shape[1]):
        put(out, (row, j), square(x[row, j]))
        s = accumulate(s, out[row, j])
    low, high = s, s + 1.0
    total[row] = low
    total[row] += high - s


def launch(array):
    rows, n = array.shape
    x, out, total = (fnb.tensor(np.asarray(a, "float32")) for a in (array, array, np.zeros(rows)))
    run_rows(sums_kernel, (rows, n), (x, out, total))
    return total


@pytest.fixture
def python():
    with fnb.use("python"):
        yield


ROW = [
    ("row", 1), ("x", None), ("out", None), ("total", None), ("s", 0.0),
    ("j", 0), ("v", 3.0), ("w", 9.0), ("return", 9.0), ("out[1, 0]", 9.0), ("s", 9.0),
    ("j", 1), ("v", 4.0), ("w", 16.0), ("return", 16.0), ("out[1, 1]", 16.0), ("s", 25.0),
    ("high", 26.0), ("low", 25.0), ("total[1]", 25.0), ("total[1]", 26.0),
]  # fmt: skip


@pytest.mark.usefixtures("python")
def test_every_assignment_of_the_row_is_there():
    with fnb.trace("sums_kernel", row=1) as table:
        launch(np.array([[1, 2], [3, 4], [5, 6]]))
    found = [(s.variable, None if isinstance(s.value, np.ndarray) else s.value) for s in table]
    assert sorted(found[17:19]) == ROW[17:19]  # a pair is unpacked in the order that the compiler likes
    assert found[:17] + found[19:] == ROW[:17] + ROW[19:]
    assert {s.depth for s in table if s.variable in "vw"} == {1}
    first = sums_kernel.body.__code__.co_firstlineno
    assert [s.line - first for s in table if s.variable == "s"] == [2, 5, 5]
    assert next(s.source for s in table if s.variable == "w") == "w = v * v"


@pytest.mark.usefixtures("python")
def test_depth_leaves_helpers_out():
    with fnb.trace("sums_kernel", depth=0) as table:
        launch(np.ones((1, 1)))
    assert "w" not in {s.variable for s in table}
    assert {s.depth for s in table} == {0}


@pytest.mark.usefixtures("python")
def test_it_prints_as_a_table():
    with fnb.trace(sums_kernel, row=1) as table:
        launch(np.array([[1, 2], [3, 4]]))
    head, names, rule, *lines = str(table).splitlines()
    assert head == f"sums_kernel, row 1 ({__file__})"
    assert names.split() == ["line", "source", "variable", "value"]
    assert set(rule) == {"-", " "}
    assert len(lines) == len(table)
    column = names.index("variable")
    assert any(line[6:].startswith("    w = v * v") and line[column:].split() == ["w", "9.0"] for line in lines)
    assert any("float32[2, 2]" in line for line in lines)
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.usefixtures("python")
def test_an_element_of_a_map_is_its_flat_index():
    with fnb.trace("mul_kernel", row=4) as table:
        fnb.tensor(np.arange(6.0).reshape(2, 3)) * 2
    assert [(s.variable, s.value) for s in table] == [("x", 4.0), ("y", 2.0), ("return", 8.0)]


@pytest.mark.usefixtures("python")
def test_a_later_launch_can_be_chosen():
    with fnb.trace("mul_kernel", launch=2) as table:
        for factor in (1.0, 2.0, 3.0, 4.0):
            fnb.tensor([5.0]) * factor
    assert table[len(table) - 1].value == 15.0


@pytest.mark.usefixtures("python")
def test_products_can_be_traced():
    with fnb.trace("product_kernel", row=1, depth=0) as table:
        fnb.tensor([[1.0, 2.0], [3.0, 4.0]]) @ fnb.tensor([[1.0], [1.0]])
    assert [s.value for s in table if s.variable == "value"] == [7.0]


@pytest.mark.usefixtures("python")
def test_results_are_the_same_and_tracing_ends():
    array = np.random.default_rng(0).normal(size=(3, 5))
    plain = launch(array).numpy().copy()
    before = sys.gettrace()
    with fnb.trace("sums_kernel", row=2):
        np.testing.assert_array_equal(launch(array).numpy(), plain)
    assert sys.gettrace() is before


@pytest.mark.usefixtures("python")
def test_a_body_that_no_file_holds_runs_and_is_traced():
    scope = {}
    exec("def typed_kernel(x):\n    y = x * 2.0\n    return y\n", scope)
    kernel = map_kernel("x -> out")(scope["typed_kernel"])
    with fnb.trace(kernel) as table:
        assert run_map(kernel, (fnb.tensor([1.5]),)).tolist() == [3.0]
    assert [(s.variable, s.value, s.line) for s in table] == [("x", 1.5, 1), ("y", 3.0, 2), ("return", 3.0, 3)]
    assert "not written in a file" in kernel.source("python")


@pytest.mark.usefixtures("python")
def test_two_traces_at_once():
    with fnb.trace("mul_kernel") as one, fnb.trace("mul_kernel", row=1, launch=1) as two:
        fnb.tensor([1.0, 2.0]) * 3
        fnb.tensor([1.0, 2.0]) * 5
    assert (one[2].value, two[2].value) == (3.0, 10.0)


def test_what_runs_elsewhere_cannot_be_traced():
    with (
        pytest.raises(BackendError, match=r"launched it 0 times here.*these kernels: none.*fnb.use\('python'\)"),
        fnb.trace("gelu_kernel"),
    ):
        fnb.ops.gelu(fnb.tensor([1.0]))


@pytest.mark.usefixtures("python")
def test_a_kernel_that_did_not_run_names_those_that_did():
    with pytest.raises(BackendError, match="It ran these kernels: add_kernel"), fnb.trace("gelu_kernle"):
        fnb.tensor([1.0]) + 1.0


@pytest.mark.usefixtures("python")
def test_a_row_that_is_not_there():
    with pytest.raises(ArgumentError, match="ran with 2 rows, there is no row 2"), fnb.trace("sums_kernel", row=2):
        launch(np.ones((2, 2)))


@pytest.mark.parametrize("numbers", [{"row": -1}, {"launch": -1}])
def test_numbers_count_from_0(numbers):
    with pytest.raises(ArgumentError, match="count from 0"), fnb.trace("gelu_kernel", **numbers):
        pass


@pytest.mark.usefixtures("python")
def test_an_error_in_the_block_is_the_one_that_is_seen():
    with pytest.raises(ZeroDivisionError), fnb.trace("gelu_kernel"):
        1 / 0  # noqa: B018


def test_without_the_plugin_it_says_why(monkeypatch):
    slot = fnb.backend.registry._SLOTS["python"]
    monkeypatch.setattr(slot, "reason", "uninstalled")
    with pytest.raises(BackendBroken, match="uninstalled"), fnb.trace("gelu_kernel"):
        pass
