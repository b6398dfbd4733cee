"""Bodies run as plain Python: with a debugger, with coverage, on any layout, inside the bounds of their arrays."""

import bdb
import gc
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from forgenb_python.memory import Space, cut

import forgenb as fnb
from forgenb.backend import seam
from forgenb.errors import BackendError
from forgenb.kernel import map_kernel, row_kernel
from forgenb.kernel.primitives import lanes, put, real, unit_from_bits
from forgenb.ops.apply import run_map, run_rows
from forgenb.tensor import empty

GELU = sys.modules["forgenb.ops.gelu"]


@pytest.fixture(autouse=True)
def _on_python():
    with fnb.use("python"):
        yield


class Debugger(bdb.Bdb):
    """Stops where it is told and writes down what it sees there."""

    def __init__(self, file, line):
        super().__init__()
        bdb.Breakpoint.clearBreakpoints()
        assert self.set_break(file, line) is None
        self.seen = []

    def run_call(self, function, *arguments):
        before = sys.gettrace()
        try:
            self.runcall(function, *arguments)
        finally:
            sys.settrace(before)
            self.clear_all_breaks()

    def user_line(self, frame):
        if self.break_here(frame):
            self.seen.append((frame.f_code.co_filename, frame.f_lineno, dict(frame.f_locals)))
        self.set_continue()


def line_of(file, text):
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line)


def test_a_breakpoint_in_the_ops_file_stops_inside_the_body():
    file = GELU.__file__
    line = line_of(file, "return select(x < -30.0, -0.0, x * gate(x))")
    debugger = Debugger(file, line)
    debugger.run_call(fnb.ops.gelu, fnb.tensor([0.5, -2.0]))
    assert [(f, n) for f, n, _ in debugger.seen] == [(debugger.canonic(file), line)] * 2
    assert [seen for _, _, seen in debugger.seen] == [{"x": np.float32(0.5)}, {"x": np.float32(-2)}]


def test_a_breakpoint_in_a_helper_stops_too():
    file = GELU.__file__
    line = line_of(file, "return 1.0 / (1.0 + exp(")
    debugger = Debugger(file, line)
    debugger.run_call(fnb.ops.gelu, fnb.tensor([0.25]))
    assert [n for _, n, _ in debugger.seen] == [line]


def test_coverage_lands_on_the_authors_lines():
    seen = set()

    def trace(frame, event, argument):
        if event == "line":
            seen.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    x, dout = fnb.tensor([0.5]), fnb.tensor([1.0])
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        fnb.ops.gelu_grad(x, dout)
    finally:
        sys.settrace(before)
    first = line_of(GELU.__file__, "near = absolute(x)")
    assert {(GELU.__file__, first + i) for i in range(5)} <= seen


@map_kernel("x -> out")
def failing_kernel(x):
    return x[0]


def test_an_error_in_a_body_shows_the_authors_line():
    with pytest.raises((TypeError, IndexError)) as caught:
        run_map(failing_kernel, (fnb.tensor([1.0]),))
    last = caught.traceback[-1]
    assert (last.name, str(last.path)) == ("failing_kernel", __file__)


@map_kernel("x -> out")
def kinds_kernel(x):
    """Fails where a literal or a word has another dtype than x."""
    for value in (0.5, real(3), unit_from_bits(7), x * 0.1):
        if type(value) is not type(x):
            return 0.0 * (x - x) / (x - x)
    return x + 0.5


@pytest.mark.parametrize(("stored", "seen"), [("float16", "float32"), ("float32", "float32"), ("float64", "float64")])
def test_literals_and_words_have_the_kernels_dtype(stored, seen):
    x = fnb.tensor(np.array([1.0, 2.0], stored))
    out = run_map(kinds_kernel, (x,))
    assert out.dtype.name == stored
    np.testing.assert_array_equal(out.numpy(), np.array([1.5, 2.5], stored))
    assert {launcher.real.name for launcher in x.backend.compiled() if launcher.kernel is kinds_kernel} >= {seen}


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("target", ["bool", "int32", "int64", "float16", "float32", "float64"])
def test_storage_is_converted_as_on_the_cpu(dtype, target):
    array = np.array([0, 1, 2, 3, 100.25, 0.5, -7]).astype(dtype)
    found, wanted = (fnb.tensor(array, backend=b).astype(target).numpy() for b in ("python", "cpu"))
    assert found.dtype == wanted.dtype == target
    np.testing.assert_array_equal(found, wanted)


def test_views_of_any_strides():
    array = np.arange(24.0).reshape(2, 3, 4)
    x = fnb.tensor(array)
    picked = x[1:, ::-1, ::2]
    np.testing.assert_array_equal((picked + 1).numpy(), array[1:, ::-1, ::2] + 1)
    np.testing.assert_array_equal((x.T * 2).numpy(), array.T * 2)


def test_warnings_are_silent_inside_kernels_only():
    with warnings.catch_warnings(record=True) as inside:
        warnings.simplefilter("always")
        out = fnb.ops.exp(fnb.tensor([1e4], dtype="float64")) * fnb.tensor([0.0], dtype="float64") / 0.0
        assert np.isnan(out.item())
    assert inside == []
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.float64(1.0) / np.float64(0.0)


@row_kernel("x[rows,n] -> out[rows,n]; shift:int")
def shifted_kernel(row, x, out, shift):
    for j in lanes(x.shape[1]):
        put(out, (row, j), x[row, j + shift])


@row_kernel("x[rows,n] -> out[rows,n]")
def overwriting_kernel(row, x, out):
    for j in lanes(x.shape[1]):
        put(x, (row, j), x[row, j])


def test_reading_past_the_end_of_an_array_raises():
    x, out = fnb.tensor([[1.0, 2.0]]), fnb.tensor([[0.0, 0.0]])
    run_rows(shifted_kernel, (1, 2), (x, out), (0,))
    assert out.tolist() == [[1.0, 2.0]]
    with pytest.raises(IndexError, match="out of bounds"):
        run_rows(shifted_kernel, (1, 2), (x, out), (1,))


def test_writing_what_a_kernel_only_reads_raises():
    x = fnb.tensor([[1.0, 2.0]])
    with pytest.raises(ValueError, match="read-only"):
        run_rows(overwriting_kernel, (1, 2), (x, empty((1, 2), x.dtype, x.backend)))


def test_a_row_kernel_that_is_told_a_wrong_size_raises():
    x, out = fnb.tensor([[1.0, 2.0]]), fnb.tensor([[0.0, 0.0]])
    with pytest.raises(IndexError, match="of a block of 8"):
        run_rows(shifted_kernel, (2, 2), (x, out), (0,))


def test_memory_is_unwritten_until_it_is_written():
    made = empty((3,), np.dtype("float32"), fnb.backend.get_backend("python"))
    assert np.isnan(made.numpy()).all()


def test_memory_checks_both_ends_and_knows_what_is_alive():
    space = Space()
    one, two = space.allocate(16), space.allocate(0)
    kind = np.dtype("float32")
    assert two.address > one.address + one.nbytes
    assert space.array(one.address + 4, kind, (3,), (1,)).shape == (3,)
    assert space.array(one.address + 12, kind, (4,), (-1,)).shape == (4,)
    assert space.array(0, kind, (2, 0), (0, 1)).shape == (2, 0)
    for address, shape, strides in (
        (one.address + 4, (4,), (1,)),
        (one.address + 8, (4,), (-1,)),
        (one.address, (2, 2), (4, 1)),
        (two.address, (1,), (1,)),
        (one.address - 4, (1,), (1,)),
    ):
        with pytest.raises(IndexError, match="block"):
            space.array(address, kind, shape, strides)
    gone = one.address
    del one
    gc.collect()
    with pytest.raises(IndexError, match="block"):
        space.array(gone, kind, (1,), (1,))


def test_a_block_beyond_its_stretch_of_addresses_is_refused():
    with pytest.raises(BackendError, match="asked for one of 4294967296: .*use another backend"):
        Space().allocate(1 << 32)


def test_cut_gives_views():
    memory = Space().allocate(8)
    cut(memory, 0, np.dtype("int32"), (2,), (1,))[...] = [1, 2]
    assert cut(memory, 4, np.dtype("int32"), (1,), (1,)).tolist() == [2]


def test_the_same_step_twice_gives_the_same_bits():
    def step():
        model = fnb.models.GPT(fnb.models.GPTConfig(11, 4, 1, 2, 8, dropout=0.25))
        loss = model.loss(np.arange(8).reshape(2, 4), np.arange(1, 9).reshape(2, 4))
        loss.backward()
        return [loss.item(), *(p.grad.numpy().tobytes() for p in model.parameters())]

    assert step() == step()


def test_source_and_launchers_can_be_looked_at():
    x = fnb.tensor([1.0])
    fnb.ops.gelu(x)
    assert "def gelu_kernel(x):" in GELU.gelu_kernel.source("python")
    (made,) = [m for m in x.backend.compiled() if m.name == "gelu_kernel-float32-float32-float32"]
    assert made.text == GELU.gelu_kernel.source("python")
    assert made in fnb.compiled()


def test_a_launch_goes_through_the_seam():
    before = seam.stats()
    fnb.ops.gelu(fnb.tensor([1.0])) @ fnb.tensor([1.0])
    found = seam.stats().since(before)
    assert (found.launches, found.products) == (1, 1)
