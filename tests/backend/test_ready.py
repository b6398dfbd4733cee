"""Prepared launches: they do what a first launch does, count as launches, and leave a plug-in its own `launch`."""

import re

import numpy as np
import pytest
from forgenb_cpu import call
from forgenb_cpu.plugin import CpuBackend

import forgenb as fnb
from forgenb import ops
from forgenb.backend import seam
from forgenb.errors import ArgumentError
from forgenb.ops.apply import run_map
from forgenb.ops.arithmetic import add_kernel, scale_kernel
from forgenb.routine import compile
from forgenb.tensor import from_array


class Listening(CpuBackend):
    """The CPU backend, noting what passes its `launch`."""

    name = "listening"

    def __init__(self):
        super().__init__()
        self.extents = []

    def launch(self, launcher, extent, chunk, block):
        self.extents.append(extent)
        super().launch(launcher, extent, chunk, block)


@pytest.mark.parametrize("shape", [(1,), (64,), (5000,), (40_000,), (3, 1, 4)])
def test_later_launches_equal_the_first(shape):
    rng = np.random.default_rng(0)
    for x, y in [rng.normal(size=(2, *shape)).astype("float32") for _ in range(4)]:
        assert np.array_equal((fnb.tensor(x) + fnb.tensor(y)).numpy(), x + y)
        assert np.array_equal(ops.scale(fnb.tensor(x), float(y.flat[0])).numpy(), x * y.flat[0])


def test_views_have_launches_of_their_own():
    x = np.arange(24.0, dtype="float32").reshape(2, 3, 4)
    a = fnb.tensor(x)
    for _ in range(3):
        assert np.array_equal((a[0] + a[1]).numpy(), x[0] + x[1])
        assert np.array_equal((a[:, 0, 1:] + a[0, 0, 1:]).numpy(), x[:, 0, 1:] + x[0, 0, 1:])
        assert np.array_equal((a.T + a.T).numpy(), (x + x).T)


def test_every_prepared_launch_counts_and_is_noted():
    x = fnb.tensor(np.ones(8, "float32"))
    x + x
    before, events = fnb.stats(), seam.start_trace()
    y = x + x
    y.add_in_place(x)
    noted = seam.take_trace()
    seam.stop_trace(events)
    found = fnb.stats().since(before)
    assert (found.launches, found.allocations, found.bytes_allocated) == (2, 1, 32)
    assert [name for name, _ in noted] == ["add_kernel"] * 2


def test_nothing_is_launched_for_an_empty_extent():
    x = fnb.tensor(np.zeros((0, 3), "float32"))
    before = fnb.stats()
    for _ in range(2):
        assert (x + x).shape == (0, 3)
    assert fnb.stats().since(before).launches == 0


def test_a_backend_with_a_launch_of_its_own_gets_every_launch():
    backend = Listening()
    x = from_array(np.arange(8, dtype="float32"), backend)
    for _ in range(3):
        doubled = run_map(add_kernel, (x, x))
        halved = run_map(scale_kernel, (doubled,), (0.5,))
        assert halved.tolist() == x.tolist()
    assert backend.extents == [8] * 6


def test_blocks_that_are_too_long_take_the_usual_way(monkeypatch):
    monkeypatch.setattr("forgenb_cpu.plugin.SLOTS", 4)
    x = fnb.tensor(np.arange(2 * 77.0)).reshape((2, 77))
    assert np.array_equal((x + x).numpy(), 2 * x.numpy())


def test_an_error_is_raised_again_each_time():
    x, y = fnb.tensor(np.zeros(3)), fnb.tensor(np.zeros(4))
    for _ in range(2):
        with pytest.raises(fnb.errors.ShapeError, match="do not broadcast"):
            x + y


def test_more_layouts_than_are_kept(monkeypatch):
    monkeypatch.setattr("forgenb.ops.plans.MOST_PLANS", 3)
    for _ in range(2):
        for n in range(1, 9):
            x = fnb.tensor(np.full(n, 2.0, "float32"))
            assert (x * x).tolist() == [4.0] * n


@pytest.mark.parametrize("nogil", [False, True])
def test_calls_do_not_depend_on_the_number_of_operands(nogil):
    assert call.short_call(2, nogil) is call.short_call(2, nogil)
    assert call.short_call(2, nogil) is not call.short_call(3, nogil)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ops.softmax(x, causal=True, off=1.5), "softmax got off=1.5: it must be a whole number"),
        (lambda x: ops.softmax(x, causal=True, off=2**70), f"softmax got off={2**70}: it must be a whole number"),
        (lambda x: ops.rmsnorm(x, x[0], eps="a"), "rmsnorm got eps='a': it must be a number that float64 holds"),
    ],
)
def test_a_setting_that_no_block_holds_is_refused_by_name(each_backend, call, message):
    x = fnb.tensor(np.ones((2, 4), "float32"))
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call(x)
    with pytest.raises(ArgumentError, match=re.escape(message)):
        compile(call)(x)
