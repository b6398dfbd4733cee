"""Published vectors of the counter hash, and what the streams promise."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import random
from forgenb.errors import ArgumentError


def test_pcg_hash_vectors():
    expected = [129708002, 2831084092, 2055130248, 2131687100, 678955108, 2161170183]
    assert random.pcg_hash(range(6)).tolist() == expected
    assert random.pcg_hash(2**32 - 1) == 3861530882


def test_pcg_hash_keeps_shape_and_wraps():
    x = np.arange(6).reshape(2, 3)
    assert random.pcg_hash(x).shape == (2, 3)
    assert random.pcg_hash(x).dtype == np.uint32
    assert random.pcg_hash(2**32 + 5) == random.pcg_hash(5)
    assert random.pcg_hash(7).shape == ()


def test_site_seed_vectors():
    assert [random.site_seed(99, site) for site in range(1, 5)] == [
        3042957802,
        994813025,
        3241635544,
        1193490767,
    ]


@pytest.mark.parametrize(
    ("p", "seed", "n", "kept"),
    [(0.3, 1234, 4096, 2925), (0.3, 99, 4096, 2933), (0.2, 0, 1024, 793), (0.5, 42, 2**20, 524089)],
)
def test_dropout_keeps_the_published_count(p, seed, n, kept):
    assert random.dropout_keep(n, p, seed).sum() == kept


def test_dropout_keeps_the_published_bits():
    bits = "".join(str(int(b)) for b in random.dropout_keep(32, 0.3, 1234))
    assert bits == "11011101111111101001010100100111"


def test_dropout_of_a_part_is_the_part_of_the_whole():
    whole = random.dropout_keep(100, 0.4, 7)
    assert np.array_equal(random.dropout_keep(60, 0.4, 7, offset=40), whole[40:])
    assert random.dropout_keep(5, 0.0, 7).all()
    wrapped = random.dropout_keep(4, 0.4, 7, offset=2**32 - 2)
    assert np.array_equal(wrapped[2:], whole[:2])


def test_dropout_scale_bits():
    scale = random.dropout_scale(0.3)
    assert scale.dtype == np.float32
    assert scale.view(np.uint32) == 0x3FB6DB6E


@pytest.mark.usefixtures("each_backend")
@pytest.mark.parametrize("p", [0.15, 0.45, 0.8])
def test_kept_elements_have_the_scale_of_the_host_on_every_backend(p):
    """A division in float32 on a device gives other bits for these rates."""
    kept = fnb.ops.dropout(fnb.tensor(np.ones(64, np.float32)), p, 1).numpy()
    assert set(kept[kept != 0].tolist()) == {float(np.float32(1 / (1 - p)))}
    assert np.float32(1) / (np.float32(1) - np.float32(p)) != random.dropout_scale(p)


@pytest.mark.parametrize("p", [-0.1, 1.0, float("nan")])
def test_dropout_rate_is_checked(p):
    with pytest.raises(ArgumentError, match="0 <= p < 1"):
        random.dropout_keep(4, p, 0)
    with pytest.raises(ArgumentError, match="0 <= p < 1"):
        random.dropout_scale(p)


def test_generator_is_keyed_by_seed_name_and_step():
    def first(*key):
        return random.generator(*key).bit_generator.random_raw(4).tolist()

    assert first(1, "a") == first(1, "a") == first(1, "a", 0)
    draws = [first(1, "a"), first(2, "a"), first(1, "b"), first(1, "a", 1), first(1, "a", 2)]
    assert len({tuple(d) for d in draws}) == len(draws)


def test_generator_bits_are_pinned():
    raw = random.generator(1337, "wte.weight").bit_generator.random_raw(2)
    assert raw.tolist() == [15869378149790911719, 14784869385968446085]


def test_generator_takes_every_seed_of_64_bits():
    assert random.generator(2**64 - 1, "x").bit_generator.random_raw() >= 0
    for bad in (-1, 2**64, 1.5, True):
        with pytest.raises(ArgumentError, match="A seed must be an integer"):
            random.generator(bad, "x")
    with pytest.raises(ArgumentError, match="A step must be an integer"):
        random.generator(0, "x", -1)


def test_integers_cover_the_range_evenly():
    draws = random.integers(random.generator(0, "test"), 5, 10_000)
    assert draws.dtype == np.int64
    counts = np.bincount(draws, minlength=5)
    assert counts.size == 5
    assert np.abs(counts - 2000).max() < 200


def test_integers_checks_its_bound():
    with pytest.raises(ArgumentError, match="below a bound from 1"):
        random.integers(random.generator(0, "test"), 0, 3)


def test_default_seed_is_set_and_restored():
    before = random.default_seed()
    with random.seeded(5):
        assert random.default_seed() == 5
        random.seed(6)
        assert random.default_seed() == 6
    assert random.default_seed() == before
    with pytest.raises(ArgumentError, match="A seed must be"):
        random.seed(-3)


def test_numpy_global_state_is_left_alone():
    before = np.random.get_state()[1].copy()
    with random.seeded(9):
        random.generator(9, "x").standard_normal(3)
    assert np.array_equal(np.random.get_state()[1], before)
