"""The argument block: what is put into its slots is what is read from them, addresses or whatever stands for them."""

import pytest

from forgenb.errors import ArgumentError
from forgenb.kernel import (
    MapArguments,
    RowArguments,
    map_arguments,
    map_block,
    map_kernel,
    read_map_block,
    read_row_block,
    row_arguments,
    row_block,
    row_kernel,
)


@map_kernel("x i:int -> out; alpha n:int")
def some_map(x, i, alpha, n):
    """Of mixed kinds."""
    return x


@row_kernel("rows | x[rows,n] ids[rows]:int seen[n]:bool bits[n]:uint -> out[rows]; eps")
def some_rows(row, x, ids, seen, bits, out, eps):
    """Of all kinds."""


@pytest.mark.parametrize("dims", [(7,), (2, 3, 5)])
def test_a_map_is_taken_apart_as_it_was_put_together(dims):
    strides = tuple(range(len(dims)))
    given = MapArguments((0.5, 3), 512, dims, ((64, strides), (128, dims), (192, strides)))
    values = given.values()
    assert values[:4] == [0.5, 3, len(dims), 512]
    assert read_map_block(some_map, map_block(some_map, len(dims)).pack(*values)) == given
    places = MapArguments((0.5, "late"), 512, dims, tuple((object(), strides) for _ in range(3)))
    assert map_arguments(some_map, places.values()) == places


def test_a_row_kernel_is_taken_apart():
    found = RowArguments({"rows": 4, "n": 9}, (0.25,), (64, 128, 192, 256, 320))
    values = [4, 9, 0.25, 64, 128, 192, 256, 320]
    assert row_arguments(some_rows, values) == read_row_block(some_rows, row_block(some_rows).pack(*values)) == found


def test_the_dtype_of_each_kind():
    assert [o.dtype("float32") for o in some_rows.operands] == ["float32", "int64", "bool", "uint32", "float32"]
    with pytest.raises(ArgumentError, match=r"with a kind of \('real', 'int', 'bool', 'uint'\)"):
        map_kernel("x:half -> out")(some_map.body)
