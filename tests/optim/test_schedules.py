"""Learning-rate schedules at their corners."""

from itertools import pairwise

import pytest

from forgenb.errors import ArgumentError
from forgenb.optim import constant, cosine, linear, step_decay, warmup, warmup_cosine, warmup_stable_decay


def test_warmup_rises_in_a_line_and_the_cosine_falls_to_the_end():
    rates = [warmup_cosine(step, 10, 4, 1.0, 0.1) for step in range(12)]
    assert rates[:4] == [0.25, 0.5, 0.75, 1.0]
    assert rates[4] == 1.0
    assert rates[7] == pytest.approx(0.55)
    assert rates[10:] == pytest.approx([0.1, 0.1])
    assert all(a > b for a, b in pairwise(rates[4:11]))


def test_no_warmup_and_nothing_but_warmup():
    assert warmup_cosine(0, 2, 0, 1.0) == 1.0
    assert warmup_cosine(1, 2, 0, 1.0) == pytest.approx(0.5)
    assert warmup_cosine(2, 3, 3, 1.0) == 1.0
    assert warmup_cosine(2, 3, 10, 1.0) == 0.3


def test_the_simple_schedules():
    assert [constant(step, 0.3) for step in (0, 8)] == [0.3, 0.3]
    assert [linear(step, 3, 1.0, 0.5) for step in (0, 1, 2, 3)] == [1.0, 0.75, 0.5, 0.5]
    assert linear(0, 1, 1.0) == 1.0
    assert [step_decay(step, 2, 1.0, 0.5) for step in (0, 1, 2, 3, 4)] == [1.0, 1.0, 0.5, 0.5, 0.25]


def test_warmup_alone_and_cosine_alone():
    assert [warmup(step, 4, 1.0) for step in (0, 1, 3, 4, 9)] == [0.25, 0.5, 1.0, 1.0, 1.0]
    assert warmup(0, 0, 1.0) == 1.0
    assert [cosine(step, 2, 1.0, 0.5) for step in (0, 1, 2, 3)] == pytest.approx([1.0, 0.75, 0.5, 0.5])


def test_warmup_stable_decay_rises_stays_and_falls():
    rates = [warmup_stable_decay(step, 10, 2, 4, 1.0, 0.2) for step in range(12)]
    assert rates == pytest.approx([0.5, 1, 1, 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2, 0.2])
    assert [warmup_stable_decay(step, 2, 0, 0, 1.0, 0.5) for step in (0, 1, 2)] == [1.0, 1.0, 0.5]
    for rise, fall in ((6, 5), (0, -1)):
        with pytest.raises(ArgumentError, match="must fit into 10 steps"):
            warmup_stable_decay(0, 10, rise, fall, 1.0)


def test_the_fall_may_be_a_power():
    rates = [warmup_stable_decay(step, 10, 2, 4, 1.0, 0.2, power=0.5) for step in range(5, 12)]
    assert rates == pytest.approx([1, 1, 0.6, 1 - 0.8 * 0.5**0.5, 1 - 0.8 * 0.75**0.5, 0.2, 0.2])
    assert [warmup_stable_decay(step, 2, 0, 0, 1.0, 0.5, 3.0) for step in (1, 2)] == [1.0, 0.5]
    for power in (0, -1.0, float("nan")):
        with pytest.raises(ArgumentError, match=f"a fall of power {power} goes nowhere"):
            warmup_stable_decay(0, 10, 2, 4, 1.0, power=power)


def test_published_rates():
    """Those of OCANNL: the peak 1 after 5 of 25 steps, and 0.1 at the end."""
    cosines = [warmup_cosine(step, 25, 5, 1.0, 0.1) for step in (10, 15, 20, 24)]
    assert cosines == pytest.approx([0.86819, 0.55, 0.2318, 0.10554], abs=1e-5)
    lines = [warmup_stable_decay(step, 25, 5, 20, 1.0, 0.1) for step in (10, 20)]
    assert lines == pytest.approx([0.775, 0.325], abs=5e-4)
    last = warmup_stable_decay(24, 25, 5, 5, 1.0, 0.1, power=0.5)
    assert last == pytest.approx(0.195016, abs=5e-7)


@pytest.mark.parametrize(
    "call",
    [
        lambda: warmup_cosine(-1, 10, 1, 1.0),
        lambda: warmup_cosine(1, 10, -1, 1.0),
        lambda: linear(1, 0, 1.0),
        lambda: step_decay(1, 0, 1.0),
        lambda: constant(-1, 1.0),
        lambda: warmup(-1, 2, 1.0),
        lambda: cosine(1, 0, 1.0),
    ],
)
def test_impossible_steps_are_refused(call):
    with pytest.raises(ArgumentError, match="a schedule needs step >= 0"):
        call()
