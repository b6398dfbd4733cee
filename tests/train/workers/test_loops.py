"""Loops over symbols and their cells, rounds of workers and their counts, and the order of merges."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import forgenb as fnb
from forgenb.errors import ArgumentError
from forgenb.routine import Bindings
from forgenb.train import round_robin, round_robin_dry_run, sequential_loop, shares, tree_schedule

RANGES = st.lists(st.none() | st.integers(1, 4), max_size=4)


def symbols_of(ranges):
    return tuple(fnb.symbol(f"s{number}", extent) for number, extent in enumerate(ranges))


def in_order(symbols):
    """The indices of nested loops over those with a range, as dicts by name."""
    ranged = [s for s in symbols if s.range is not None]
    return [
        {s.name: index for s, index in zip(ranged, indices, strict=True)}
        for indices in itertools.product(*(range(s.range) for s in ranged))
    ]


@given(RANGES)
def test_a_sequential_loop_nests_ranged_symbols_and_leaves_the_others_alone(ranges):
    symbols = symbols_of(ranges)
    bindings = Bindings(symbols, "r")
    for number, s in enumerate(symbols):
        bindings[s] = number
    seen, calls = [], 0

    def f():
        nonlocal calls
        free = {s.name: bindings[s] - n - calls for n, s in enumerate(symbols) if s.range is None}
        assert not any(free.values())
        seen.append({s.name: bindings[s] for s in symbols if s.range is not None})
        calls += 1
        for s in symbols:
            bindings[s] += 1  # in a ranged cell that has no effect on the loop

    sequential_loop(bindings, f)
    assert seen == in_order(symbols)
    for number, s in enumerate(symbols):
        assert bindings[s] == number + (calls if s.range is None else 0)


def test_a_sequential_loop_restores_after_an_error():
    i, j, free = fnb.symbol("i", 3), fnb.symbol("j", 2), fnb.symbol("free")
    bindings = Bindings((i, free, j), "r")
    bindings[i], bindings[j] = 2, 1

    def f():
        bindings[free] += 1
        if (bindings[i], bindings[j]) == (1, 0):
            raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        sequential_loop(bindings, f)
    assert (bindings[i], bindings[free], bindings[j]) == (2, 3, 1)


def test_a_sequential_loop_of_a_routine_is_one_pass_over_the_data():
    data = fnb.tensor(np.arange(6.0, dtype="float32"))
    i, total = fnb.symbol("i", 6), fnb.tensor(0.0)

    def add():
        total.assign_(total + data[i])
        return total * 1.0

    run = fnb.compile(add)
    run()
    total[...] = 0.0
    sequential_loop(run.routine.bindings, run.routine.run)
    assert total.item() == 15


def test_a_range_too_large_to_be_listed_is_not_listed():
    bindings = Bindings((fnb.symbol("i", 10**12), fnb.symbol("j", 10**12)), "r")

    def f():
        raise StopIteration

    with pytest.raises(StopIteration):
        sequential_loop(bindings, f)
    assert len(round_robin_dry_run(10**23, bindings)) == 10


@given(RANGES, st.integers(1, 5))
def test_round_robin_deals_steps_in_turn_and_counts_them(ranges, n):
    symbols = symbols_of(ranges)
    seen, counts, since = [], [], []

    def worker(number):
        def f(**indices):
            assert number == len(seen) % n
            seen.append(indices)
            since.append(number)

        return f

    def sync(count):
        assert since == list(range(count))
        since.clear()
        counts.append(count)

    round_robin(map(worker, range(n)), symbols, sync)
    assert seen == in_order(symbols)
    assert since == []
    steps = math.prod(s.range for s in symbols if s.range is not None)
    assert sum(counts) == steps == len(seen)
    assert counts == round_robin_dry_run(n, symbols)
    assert counts[:-1] == [n] * (len(counts) - 1)


def test_each_step_keeps_its_indices_and_no_cell_is_written():
    i, j = fnb.symbol("i", 2), fnb.symbol("j", 2)
    bindings = Bindings((i, fnb.symbol("one"), j, fnb.symbol("two"), fnb.symbol("three")), "r")
    bindings[i] = 1
    late = []
    round_robin([lambda **indices: late.append(lambda: indices)] * 2, bindings, lambda count: None)
    assert [f() for f in late] == in_order(bindings)
    assert len({id(f()) for f in late}) == 4
    assert [bindings[s] for s in bindings] == [1, 0, 0, 0, 0]


def test_an_error_of_a_worker_ends_the_rounds():
    counts = []

    def f(i):
        if i == 3:
            raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        round_robin([f, f], [fnb.symbol("i", 8)], counts.append)
    assert counts == [2]


@pytest.mark.parametrize(
    ("n", "pairs"),
    [
        (1, []),
        (2, [(1, 0)]),
        (3, [(2, 1), (1, 0)]),
        (4, [(2, 0), (3, 1), (1, 0)]),
        (5, [(3, 1), (4, 2), (2, 1), (1, 0)]),
    ],
)
def test_small_trees(n, pairs):
    assert tree_schedule(n) == pairs


@given(st.integers(1, 200))
def test_a_tree_merges_each_worker_once_when_it_is_complete(n):
    pairs = tree_schedule(n)
    assert sorted(source for source, _ in pairs) == list(range(1, n))
    merged = set()
    for source, destination in pairs:
        assert source > destination
        assert not {source, destination} & merged  # nothing is merged into, or twice from, what was merged already
        merged.add(source)
    found = {number: {number} for number in range(n)}
    for source, destination in pairs:
        found[destination] |= found[source]
    assert found[0] == set(range(n))


I = fnb.symbol("i", 2)  # noqa: E741


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sequential_loop([I], print), "writes the cells of a routine, and got list: pass routine.bindings"),
        (
            lambda: sequential_loop(Bindings((I,), "r"), 3),
            "sequential_loop got f=3: it must be a function",
        ),
        (lambda: round_robin([], [I], print), "round_robin got no workers"),
        (lambda: round_robin([3], [I], print), r"round_robin got fs\[0\]=3: it must be a function"),
        (lambda: round_robin([print], [I], None), "round_robin got sync=None: it must be a function"),
        (lambda: round_robin([print], [2], print), "round_robin loops over symbols, and got 2: make one with fnb.sym"),
        (lambda: round_robin([print], [I, fnb.symbol("i")], print), "two symbols of the name 'i'"),
        (lambda: round_robin_dry_run(0, [I]), "round_robin_dry_run got n=0: it must be a whole number of at least 1"),
        (lambda: round_robin_dry_run(2, ["i"]), "round_robin_dry_run loops over symbols, and got 'i'"),
        (lambda: tree_schedule(0), "tree_schedule got n=0: it must be a whole number of at least 1"),
        (lambda: tree_schedule(True), "tree_schedule got n=True"),
        (lambda: tree_schedule(I + 1), "a whole number that is known now"),
        (lambda: tree_schedule(2.0), "tree_schedule got n=2.0"),
    ],
)
def test_arguments(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


@pytest.mark.parametrize("wrong", [None, 3, 1.5, print])
def test_what_is_no_list_is_refused(wrong):
    with pytest.raises(ArgumentError, match="loops over symbols, and got"):
        round_robin([print], wrong, print)
    with pytest.raises(ArgumentError, match="loops over symbols, and got"):
        round_robin_dry_run(2, wrong)
    if wrong is not print:
        with pytest.raises(ArgumentError, match="it must be a function or another callable"):
            round_robin(wrong, (), print)
    with pytest.raises(ArgumentError, match="a whole number of workers above 0"):
        shares(4, wrong if wrong != 3 else 0)
