"""The cost model against numbers that were reckoned by hand, and lines through points that are known."""

import math

import pytest

from forgenb.bench.projection import Cost, Link, fit_line, nodes_below, strong, weak

LINK = Link("wire", latency_us=100.0, gb_s=1.0)
COST = Cost("it", batch=8, fixed_ms=2.0, sample_ms=3.0, nbytes=10_000_000, messages=2, last=4_000_000)
FAST = Link("fast", latency_us=0.0, gb_s=math.inf)


def test_a_sum_by_halves():
    """8 nodes: 6 messages one after the other; of 1 MB each node sends 7/8 twice."""
    assert LINK.sum_ms(8, 1_000_000) == pytest.approx((0.6, 1.75))
    assert LINK.sum_ms(1, 1_000_000) == (0.0, 0.0)


def test_messages_are_alike_but_for_the_last():
    assert COST.sizes() == [6_000_000, 4_000_000]
    assert Cost("it", 1, 1.0, 1.0, 9, 1, 9).sizes() == [9]
    assert Cost("it", 1, 1.0, 1.0, 11, 4, 2).sizes() == [3, 3, 3, 2]


def test_one_node_sends_nothing():
    found = strong(COST, LINK, 1, 100)
    assert (found.ms, found.apart_ms, found.efficiency) == (302.0, 302.0, 1.0)
    assert found.lost_ms == {"fixed cost": 0.0, "latency": 0.0, "bandwidth": 0.0}


def test_only_the_last_message_of_a_long_sweep_is_visible():
    """Two nodes: 0.2 ms and 6 ms, then 0.2 ms and 4 ms; the sweep takes 2/3 of 300 ms. The loss has 0.2 ms."""
    found = weak(COST, LINK, 2, 100)
    assert found.ms == pytest.approx(302 + 4.2 + 0.2, abs=1e-4)
    assert found.apart_ms == pytest.approx(302 + 10.4 + 0.2, abs=1e-4)
    assert found.efficiency == pytest.approx(302 / 306.4, abs=1e-6)
    assert found.lost_ms["fixed cost"] == 0.0
    assert found.lost_ms["latency"] == pytest.approx(4.2 * 0.4 / 10.4 + 0.2)
    assert found.lost_ms["bandwidth"] == pytest.approx(4.2 * 10 / 10.4, abs=1e-4)
    assert found.reason == "bandwidth"


def test_messages_wait_for_each_other_where_the_sweep_is_short():
    """One sample: the sweep takes 2 ms, the first message goes after 1.2 ms of it and the second when it has come."""
    found = weak(COST, LINK, 2, 1)
    assert found.ms == pytest.approx(5 + (1.2 + 6.2 + 4.2 - 2) + 0.2, abs=1e-4)
    assert found.apart_ms > found.ms


def test_the_fixed_cost_is_what_a_free_network_loses():
    """A batch of 4 samples on 4 nodes: 14 ms become 5 instead of 3.5."""
    found = strong(COST, FAST, 4, 4)
    assert (found.ms, found.samples, found.efficiency) == (5.0, 1.0, 0.7)
    assert found.lost_ms == {"fixed cost": 1.5, "latency": 0.0, "bandwidth": 0.0}
    assert found.reason == "fixed cost"
    assert weak(COST, FAST, 4, 4).efficiency == 1.0


def test_latency_is_the_reason_where_messages_are_small():
    small = Cost("it", 8, 0.1, 0.1, 400, 4, 100)
    assert weak(small, LINK, 64, 12).reason == "latency"


def test_where_half_of_the_nodes_time_is_lost():
    """With nothing but the fixed cost: (2 + 3 * 100) / p is half of 2 + 3 * 100 / p at p = 152."""
    assert nodes_below(0.5, lambda nodes: strong(COST, FAST, nodes, 100), 1000) == 153
    assert nodes_below(0.5, lambda nodes: strong(COST, FAST, nodes, 100), 152) is None
    assert nodes_below(1.1, lambda nodes: strong(COST, FAST, nodes, 100), 152) == 1


def test_a_line_is_found_again():
    latency_us, gb_s = 12.0, 3.0
    sizes = [4**power for power in range(1, 12)]
    times = [sum(Link("made up", latency_us, gb_s).sum_ms(2, size)) for size in sizes]
    a, b, miss = fit_line(sizes, times)
    assert (a / 2 * 1e3, 1e-6 / b) == pytest.approx((latency_us, gb_s))
    assert miss < 1e-6


def test_errors_of_a_line_are_relative():
    """The best line through y = 1, 2, 400 at x = 1, 2, 300 keeps to the small ones, too."""
    a, b, miss = fit_line([1, 2, 300], [1.0, 2.0, 400.0])
    assert a == 0.0
    assert 1.0 < b < 4 / 3
    assert miss == pytest.approx(max(b - 1, 1 - b * 0.75))


def test_no_part_of_a_line_is_below_zero():
    a, b, miss = fit_line([1, 2, 3], [3.0, 2.0, 1.0])
    assert (a > 0, b) == (True, 0.0)
    assert miss > 0.3
