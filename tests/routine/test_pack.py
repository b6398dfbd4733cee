"""Blocks in one arena: none that live together overlap, and the arena is not much larger than it must be."""

import numpy as np
import pytest

from forgenb.routine.pack import Block, bound, pack


def overlaps(blocks, starts):
    spans = [(s, s + b.size, b.first, b.last) for s, b in zip(starts, blocks, strict=True)]
    for number, (low, high, first, last) in enumerate(spans):
        for other_low, other_high, other_first, other_last in spans[:number]:
            if low < other_high and other_low < high and first <= other_last and other_first <= last:
                return True
    return False


def test_nothing_takes_nothing():
    assert pack([]) == ([], 0)
    assert bound([]) == 0


def test_lives_that_only_touch_overlap_and_those_apart_share():
    blocks = [Block(64, 0, 1), Block(64, 1, 2), Block(128, 2, 3)]
    starts, size = pack(blocks)
    assert size == bound(blocks) == 192
    assert not overlaps(blocks, starts)


def test_another_order_is_tried_where_the_largest_first_wastes():
    blocks = [Block(6, 0, 0), Block(4, 0, 1), Block(5, 1, 2), Block(5, 2, 2)]
    starts, size = pack(blocks)
    assert size == bound(blocks) == 10
    assert not overlaps(blocks, starts)


@pytest.mark.parametrize("seed", range(5))
def test_random_lives(seed):
    rng = np.random.default_rng(seed)
    blocks = []
    for _ in range(120):
        first = int(rng.integers(0, 200))
        blocks.append(Block(64 * int(rng.integers(1, 50)), first, first + int(rng.integers(0, 60))))
    starts, size = pack(blocks)
    assert not overlaps(blocks, starts)
    assert size == max(s + b.size for s, b in zip(starts, blocks, strict=True))
    assert bound(blocks) <= size <= 1.25 * bound(blocks)
    assert pack(blocks) == (starts, size)
