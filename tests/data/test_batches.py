"""Windows and batches."""

import numpy as np
import pytest

from forgenb.data import batch, batch_starts, windows
from forgenb.errors import ArgumentError


def test_windows_do_not_overlap_and_leave_none_out():
    inputs, targets = windows(np.arange(10), 3)
    assert inputs.tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert targets.tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert len(windows(np.arange(9), 3)[0]) == 2
    assert len(windows(np.zeros(111_540, int), 256)[0]) == 435


def test_a_batch_is_windows_at_its_starts():
    ids = np.random.Generator(np.random.Philox(3)).integers(0, 50, 100)
    inputs, targets = batch(ids, 8, 4, seed=1, step=2)
    starts = batch_starts(100, 8, 4, seed=1, step=2)
    assert inputs.shape == targets.shape == (4, 8)
    assert inputs.dtype == targets.dtype == np.int64
    for row, start in enumerate(starts):
        assert np.array_equal(inputs[row], ids[start : start + 8])
        assert np.array_equal(targets[row], ids[start + 1 : start + 9])


def test_the_first_starts_are_pinned():
    assert batch_starts(1_003_854, 256, 4, seed=1337, step=0).tolist() == [677841, 583119, 186636, 768199]
    assert batch_starts(1_003_854, 256, 4, seed=1337, step=1).tolist() == [47077, 256394, 390302, 963131]


def test_a_batch_depends_on_seed_and_step_alone():
    first = [batch_starts(1000, 8, 4, 7, step).tolist() for step in range(50)]
    again = [batch_starts(1000, 8, 4, 7, step).tolist() for step in reversed(range(50))]
    assert first == again[::-1]
    assert len({tuple(starts) for starts in first}) == 50
    assert batch_starts(1000, 8, 4, 8, 0).tolist() != first[0]


def test_a_larger_batch_begins_with_the_smaller():
    assert batch_starts(1000, 8, 4, 7, 3).tolist() == batch_starts(1000, 8, 12, 7, 3)[:4].tolist()


def test_first_and_last_window_are_drawn_and_none_beyond():
    starts = batch_starts(12, 8, 1000, seed=0, step=0)
    assert set(starts.tolist()) == {0, 1, 2, 3}
    assert batch(range(9), 8, 1, 0, 0)[1].tolist() == [[1, 2, 3, 4, 5, 6, 7, 8]]


@pytest.mark.parametrize("length", [0, 1, 8])
def test_a_text_shorter_than_a_window_is_refused(length):
    message = f"context of 8 needs at least 9 ids, got {length}"
    with pytest.raises(ArgumentError, match=message):
        windows(range(length), 8)
    with pytest.raises(ArgumentError, match=message):
        batch(range(length), 8, 2, 0, 0)


def test_context_and_batch_are_checked():
    with pytest.raises(ArgumentError, match="context of at least 1, got 0"):
        windows(range(5), 0)
    with pytest.raises(ArgumentError, match="at least 1 window, got 0"):
        batch(range(5), 2, 0, 0, 0)
