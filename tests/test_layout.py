"""Layouts: one object for equal ones, and what follows from a shape and strides."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.layout import contiguous_strides, count, gapless, layout_of

FLOAT32 = np.dtype("float32")


def test_equal_layouts_are_one_object():
    x, y = fnb.tensor(np.zeros((2, 3))), fnb.tensor(np.ones((2, 3)))
    assert x.layout is y.layout is (x + y).layout is x.detach().layout
    assert x.layout is not x.T.layout
    assert x.T.layout is y.T.layout
    assert x.layout is not fnb.tensor(np.zeros((2, 3), "float32")).layout


def test_numpy_integers_become_plain_ones():
    backend = fnb.tensor(0.0).backend
    made = layout_of((np.int64(7), np.int32(11)), (np.int64(11), 1), FLOAT32, backend)
    assert [type(n) for n in (*made.shape, *made.strides)] == [int] * 4


@pytest.mark.parametrize(
    ("shape", "strides", "without_gaps"),
    [((2, 3), (3, 1), True), ((2, 3), (1, 2), False), ((1, 3), (99, 1), True), ((0, 3), (7, 7), True), ((), (), True)],
)
def test_what_follows_from_a_layout(shape, strides, without_gaps):
    made = layout_of(shape, strides, FLOAT32, fnb.tensor(0.0).backend)
    assert (made.size, made.itemsize, made.nbytes) == (count(shape), 4, 4 * count(shape))
    assert made.contiguous is gapless(shape, strides) is without_gaps


def test_without_strides_a_layout_is_row_major():
    backend = fnb.tensor(0.0).backend
    assert layout_of((4, 5), None, FLOAT32, backend) is layout_of((4, 5), contiguous_strides((4, 5)), FLOAT32, backend)
