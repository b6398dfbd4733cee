"""Batches in shuffled epochs, and shares of them."""

import numpy as np
import pytest

from forgenb.data import Batches, Share
from forgenb.errors import ArgumentError, ShapeError
from forgenb.train import shares

ROWS = np.arange(10)


def rows(batches, steps):
    return [batches(step)[0].tolist() for step in steps]


def test_an_epoch_has_each_row_once():
    batches = Batches((ROWS, ROWS[:, None] * 2), 5, seed=3)
    assert batches.steps_per_epoch == 2
    for epoch in range(3):
        x = [batches(2 * epoch + place) for place in range(2)]
        assert sorted(np.concatenate([a for a, _ in x])) == ROWS.tolist()
        assert all(b.shape == (5, 1) and (b[:, 0] == 2 * a).all() for a, b in x)


def test_epochs_differ_and_leave_out_other_rows():
    batches = Batches([ROWS], 4)
    assert batches.steps_per_epoch == 2
    found = [set(np.concatenate(rows(batches, (2 * epoch, 2 * epoch + 1))).tolist()) for epoch in range(8)]
    assert {len(kept) for kept in found} == {8}
    assert set.union(*found) == set(ROWS.tolist())


def test_a_batch_depends_on_the_seed_and_the_step_alone():
    first, second = Batches([ROWS], 3, seed=5), Batches([ROWS], 3, seed=5)
    there = rows(first, range(12))
    assert rows(second, reversed(range(12)))[::-1] == there
    assert rows(Batches([ROWS], 3, seed=6), range(12)) != there


def test_the_order_stays_the_same_for_ever():
    assert rows(Batches([ROWS], 10, seed=1), (0, 1)) == [[9, 1, 4, 0, 8, 6, 7, 2, 5, 3], [7, 5, 3, 6, 9, 4, 8, 2, 0, 1]]


def test_arrays_are_checked():
    with pytest.raises(ArgumentError, match="needs at least one array"):
        Batches((), 1)
    with pytest.raises(ShapeError, match=r"same number of rows, got the shapes \(10,\), \(3, 2\)"):
        Batches((ROWS, np.zeros((3, 2))), 1)
    with pytest.raises(ShapeError, match=r"same number of rows, got the shapes \(\)"):
        Batches((np.array(1),), 1)
    for size in (0, 11, 2.0, True):
        with pytest.raises(ArgumentError, match="A batch of 10 rows has a size from 1 to 10, got"):
            Batches([ROWS], size)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_shares_together_are_the_batch(ranks):
    batches = Batches((ROWS, -ROWS), 6, seed=2)
    parts = [Share(batches, part) for part in shares(6, ranks)]
    assert {part.steps_per_epoch for part in parts} == {1}
    for step in range(3):
        found = [part(step) for part in parts]
        for place in range(2):
            assert np.array_equal(np.concatenate([arrays[place] for arrays in found]), batches(step)[place])


def test_any_source_can_be_shared():
    share = Share(lambda step: (ROWS + step,), slice(5, 10))
    assert share.steps_per_epoch is None
    assert share(3)[0].tolist() == [8, 9, 10, 11, 12]


def test_shares_are_checked():
    for part in (slice(2, 2), slice(-1, 2), slice(None, 2), slice(0, None), slice(0, 4, 2), slice(0.0, 1), 3):
        with pytest.raises(ArgumentError, match="A share of a batch is a slice with a begin and an end after it, got"):
            Share(lambda step: (ROWS,), part)
    with pytest.raises(ArgumentError, match="The batch of step 7 has 10 samples, so there is no share of it from 8 to"):
        Share(lambda step: (ROWS,), slice(8, 12))(7)
