"""The lint of bodies: what is fine for one lane and wrong for many."""

import ast

import pytest
from forgenb_cuda.templates import gemm_text
from support.lane_lint import faults, literal

from forgenb.kernel.primitives import accumulate, lane_barrier, lane_max, lane_sum, lanes, put, real
from forgenb.testing.declared import all_kernels

ROWS = [name for name, kernel in all_kernels().items() if kernel.form == "row"]


@pytest.mark.parametrize("name", ROWS)
def test_every_row_body_is_right_for_many_lanes(name):
    assert faults(all_kernels()[name].body) == []


def early_return(row, x, out):
    if x[row, 0] > 0:
        return
    s = real(0)
    for j in lanes(x.shape[1]):
        s = accumulate(s, x[row, j])
    put(out, row, lane_sum(s))


def reduction_in_a_loop_of_lanes(row, x, out):
    for j in lanes(x.shape[1]):
        put(out, (row, j), lane_sum(x[row, j]))


def barrier_for_some(row, x, out):
    for j in lanes(x.shape[1]):
        if x[row, j] > 0:
            lane_barrier()
        put(out, (row, j), x[row, j])


def reduction_under_a_condition_of_lanes(row, x, out):
    s = real(0)
    for j in lanes(x.shape[1]):
        s = accumulate(s, x[row, j])
    if s > 0:
        s = lane_max(s)
    put(out, row, lane_max(s))


def sum_that_is_not_reduced(row, x, out):
    s = real(0)
    for j in lanes(x.shape[1]):
        s = accumulate(s, x[row, j])
    put(out, row, s)


def every_lane_adds(row, x, out):
    out[row] += x[row, 0]


def every_lane_takes_away(row, x, out):
    put(out, row, out[row] - x[row, 0])


def lanes_fight_for_one(row, x, out):
    for j in lanes(x.shape[1]):
        put(out, row, x[row, j])


def a_list(row, x, out):
    parts = [x[row, 0], x[row, 1]]
    put(out, row, parts[0])


def size_from_outside(row, x, out):
    parts = cuda.shared.array(x.shape[1], float)  # noqa: F821
    put(out, row, parts[0])


@pytest.mark.parametrize("tile", [2, 16])
def test_the_product_keeps_its_tiles_in_arrays_of_literal_size(tile):
    tree = ast.parse(gemm_text("float32", tile))
    sizes = [n.args[0] for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func).endswith(".array")]
    assert len(sizes) == 2
    assert all(map(literal, sizes))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (early_return, "return before lanes meet"),
        (reduction_in_a_loop_of_lanes, "lane_sum where only some lanes may come"),
        (barrier_for_some, "lane_barrier where only some lanes may come"),
        (reduction_under_a_condition_of_lanes, "lane_max where only some lanes may come"),
        (sum_that_is_not_reduced, "lanes write different values to one element of out"),
        (every_lane_adds, "every lane reads and writes one element of out"),
        (every_lane_takes_away, "every lane reads and writes one element of out"),
        (lanes_fight_for_one, "lanes write different values to one element of out"),
        (a_list, "a List is no value of a kernel"),
        (size_from_outside, "the size of an array must be literal"),
    ],
)
def test_a_body_that_is_wrong_for_many_lanes_is_found(body, message):
    (found,) = faults(body)
    assert message in found
