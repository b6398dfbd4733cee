"""The lane interpreter: barriers, shared arrays, the order of lanes, races, memory."""

import numpy as np
import pytest
from forgenb_cuda.lanes import DivergentBarrier, Grid
from forgenb_cuda.races import Race
from support.cuda import installed, lane_backend

import forgenb as fnb
from forgenb.errors import BackendError
from forgenb.kernel import row_kernel
from forgenb.kernel.primitives import accumulate, lane_barrier, lane_sum, lanes, put, real
from forgenb.ops.apply import run_rows
from forgenb.tensor import empty

X = np.arange(24, dtype=np.float32).reshape(3, 8)


def run(body, declaration="x[rows,n] -> out[rows,n]", backend=None, shape=(3, 8)):
    """The output of a row body over `X`."""
    kernel = row_kernel(declaration)(body)
    with installed(backend or lane_backend()):
        x = fnb.tensor(X, backend="cuda")
        out = empty(shape, x.dtype, x.backend)
        run_rows(kernel, (3, 8), (x, out))
        return out.numpy()


def turned(row, x, out):
    n = x.shape[1]
    for j in lanes(n):
        put(out, (row, j), x[row, j])
    lane_barrier()
    for j in lanes(n - 1):
        put(out, (row, j), x[row, j] + out[row, j + 1] - out[row, j + 1])


def watched():
    backend = lane_backend()
    backend.machine.watching = True
    return backend


def test_lanes_share_a_row():
    def total(row, x, out):
        s = real(0)
        for j in lanes(x.shape[1]):
            s = accumulate(s, x[row, j])
        put(out, row, lane_sum(s))

    found = run(total, "x[rows,n] -> out[rows]", shape=(3,))
    np.testing.assert_array_equal(found, X.sum(1))


def test_a_barrier_that_some_lanes_never_reach_raises():
    def some(row, x, out):
        for j in lanes(3):
            lane_barrier()
            put(out, (row, j), x[row, j])

    with pytest.raises(DivergentBarrier, match="waits at a barrier that lane .* never reaches"):
        run(some)


def test_two_different_barriers_raise():
    def apart(row, x, out):
        for j in lanes(4):
            if j < 2:
                lane_barrier()
            else:
                lane_barrier()
            put(out, (row, j), x[row, j])

    with pytest.raises(DivergentBarrier, match="different barriers"):
        run(apart)


def test_reading_what_another_lane_writes_is_a_race():
    def next_one(row, x, out):
        for j in lanes(x.shape[1]):
            put(out, (row, j), x[row, j])
        for j in lanes(x.shape[1] - 1):
            put(out, (row, j), out[row, j + 1])

    with pytest.raises(Race, match="kernel next_one.*with no barrier between"):
        run(next_one, backend=watched())


def test_writing_different_values_to_one_element_is_a_race():
    def all_to_one(row, x, out):
        for j in lanes(x.shape[1]):
            put(out, (row, 0), x[row, j])

    with pytest.raises(Race, match="writes another value"):
        run(all_to_one, backend=watched())


def test_the_same_value_from_every_lane_is_no_race():
    def same(row, x, out):
        put(out, (row, 0), x[row, 7])

    assert run(same, backend=watched())[:, 0].tolist() == [7, 15, 23]


def test_rows_may_not_depend_on_each_other():
    def above(row, x, out):
        for j in lanes(x.shape[1]):
            put(out, (row, j), x[row, j])
            put(out, (0, j), out[row, j])

    with pytest.raises(Race):
        run(above, backend=watched())


def test_an_error_in_a_lane_comes_out_and_ends_the_others():
    def broken(row, x, out):
        lane_barrier()
        put(out, (row, 0), x[row, 99])

    with pytest.raises(IndexError):
        run(broken)


def test_shared_arrays_are_one_a_block_and_start_as_nan():
    seen = []

    def program():
        shared = grid.shared.array(4, np.float32)
        seen.append(np.isnan(shared).all())
        grid.syncthreads()
        shared[grid.threadIdx.x] = grid.threadIdx.x
        grid.syncthreads()
        seen.append(shared.tolist())

    grid = Grid(2, (4, 1))
    grid.run(program, (), True)
    assert seen == ([True] * 4 + [[0.0, 1.0, 2.0, 3.0]] * 4) * 2


def test_the_order_of_lanes_does_not_matter():
    results = []
    for backwards in (False, True):
        backend = lane_backend()
        backend.machine.backwards = backwards
        with installed(backend):
            x = fnb.tensor(X, requires_grad=True, backend="cuda")
            (fnb.ops.softmax(x) * x).sum().backward()
            results.append(x.grad.numpy().tobytes())
    assert results[0] == results[1]


def test_addresses_mean_nothing_to_the_host():
    backend = lane_backend()
    memory = backend.allocate(16)
    assert memory.address >= 0x7E00_0000_0000
    assert np.isnan(backend.view(memory, np.dtype("float32"), 0, (4,), (1,))).all()


@pytest.mark.parametrize(("offset", "nbytes"), [(0, 20), (-4, 4), (16, 1)])
def test_leaving_a_block_raises(offset, nbytes):
    backend = lane_backend()
    memory = backend.allocate(16)
    with pytest.raises(BackendError, match="outside every live block"):
        backend.machine.download(memory.address + offset, nbytes)


def test_freed_memory_is_gone():
    backend = lane_backend()
    address = backend.allocate(16).address
    assert backend.machine.table.bytes_used() == 0
    with pytest.raises(BackendError, match="outside every live block"):
        backend.machine.download(address, 1)
