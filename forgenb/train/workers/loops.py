"""Loops over static symbols, and the order in which results of several workers are merged.

Every worker is called with the indices of its own step, so no two of them share a cell. Imports symbols; what a worker
computes, and what merging does, is said by the callers.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from forgenb.errors import ArgumentError
from forgenb.routine import Bindings, Symbol
from forgenb.train import checks

__all__ = ["round_robin", "round_robin_dry_run", "sequential_loop", "tree_schedule"]


def sequential_loop(bindings: Bindings, f: Callable[[], object]) -> None:
    """Call `f` once for every combination of the ranged symbols' values, in nested loops.

    The first ranged symbol is the outermost loop, and each runs from 0 to its range less 1. Their cells hold the
    indices while `f` runs, and what they held before afterwards, also after an error. Symbols without a range are left
    alone: they keep whatever they hold, and `f` may change them. Where no symbol has a range, `f` is called once.

    Parameters
    ----------
    bindings : Bindings
        Those of a routine: ``sequential_loop(routine.bindings, routine.run)`` is one pass over all batches.
    f : callable
        Takes nothing; its result is not used.

    Raises
    ------
    ArgumentError
        If `bindings` are not those of a routine, or `f` cannot be called.
    """
    if not isinstance(bindings, Bindings):
        raise ArgumentError(
            f"sequential_loop writes the cells of a routine, and got {type(bindings).__name__}: pass routine.bindings"
        )
    checks.callables("sequential_loop", f=f)
    ranged = _ranged("sequential_loop", bindings)
    before = [bindings[s] for s in ranged]
    try:
        for indices in _nested(_ranges(ranged)):
            _write(bindings, ranged, indices)
            f()
    finally:
        _write(bindings, ranged, before)


def round_robin(
    fs: Iterable[Callable[..., object]], symbols: Iterable[Symbol] | Bindings, sync: Callable[[int], object]
) -> None:
    """Deal the steps of nested loops to workers in turn, and call `sync` after each round.

    Step number ``pos`` of the loops that `sequential_loop` runs is ``fs[pos % n](**indices)``, for n workers. The
    indices are the ranged symbols' values by name, a new dict in each call: a worker that uses them later, in a thread
    of its own say, still has those of its step, and no cell is written. Symbols without a range are not among them.
    After each round of n steps comes ``sync(n)``, and at the end ``sync(T % n)`` unless the T steps are whole rounds.
    Where no symbol has a range there is one step.

    Parameters
    ----------
    fs : iterable of callable
        The workers; ``routine.run`` is one.
    symbols : iterable of Symbol, or Bindings
        First is outermost.
    sync : callable
        Gets the number of workers that have run since it was called last: the first ones of `fs`.

    Raises
    ------
    ArgumentError
        If there are no workers, something cannot be called, or two symbols have one name.
    """
    workers = list(fs) if isinstance(fs, Iterable) else [fs]
    if not workers:
        raise ArgumentError("round_robin got no workers: give at least one function, such as routine.run")
    checks.callables("round_robin", sync=sync, **{f"fs[{number}]": f for number, f in enumerate(workers)})
    ranged = _ranged("round_robin", symbols)
    names, busy = [s.name for s in ranged], 0
    for indices in _nested(_ranges(ranged)):
        workers[busy](**dict(zip(names, indices, strict=True)))
        busy += 1
        if busy == len(workers):
            sync(busy)
            busy = 0
    if busy:
        sync(busy)


def round_robin_dry_run(n: int, symbols: Iterable[Symbol] | Bindings) -> list[int]:
    """The numbers that `round_robin` would call `sync` with, for `n` workers; nothing is called.

    They follow from the T steps, the product of the ranges: T // n times n, and T % n if that is not zero.

    Raises
    ------
    ArgumentError
        If `n` is not a whole number above 0, or two symbols have one name.
    """
    n = checks.whole("round_robin_dry_run", "n", n)
    steps = math.prod(r.stop for r in _ranges(_ranged("round_robin_dry_run", symbols)))
    rounds, rest = divmod(steps, n)
    return [n] * rounds + [rest] * (rest > 0)


def tree_schedule(n: int) -> list[tuple[int, int]]:
    """The merges (source, destination) that bring the results of workers 0 to `n` - 1 together in worker 0.

    The upper half is merged into the lower half until one is left; where their number is odd, the one that has no
    partner waits for the next round. Every index above 0 is a source exactly once, after all merges into it. The order
    depends on nothing but `n`, so sums of floats have the same bits in every run.

    Raises
    ------
    ArgumentError
        If `n` is not a whole number above 0.

    Examples
    --------
    >>> tree_schedule(5)
    [(3, 1), (4, 2), (2, 1), (1, 0)]
    """
    n = checks.whole("tree_schedule", "n", n)
    pairs: list[tuple[int, int]] = []
    while n > 1:
        half = n // 2
        pairs += [(source, source - half) for source in range(n - half, n)]
        n -= half
    return pairs


def _ranged(caller: str, symbols: Iterable[Symbol]) -> list[Symbol]:
    found: dict[str, Symbol] = {}
    for s in symbols if isinstance(symbols, Iterable) else (symbols,):
        if not isinstance(s, Symbol):
            raise ArgumentError(f"{caller} loops over symbols, and got {s!r}: make one with fnb.symbol(name, range)")
        if s.name in found:
            raise ArgumentError(f"{caller} got two symbols of the name {s.name!r}: each index needs its own")
        found[s.name] = s
    return [s for s in found.values() if s.range is not None]


def _ranges(symbols: Sequence[Symbol]) -> list[range]:
    return [range(s.range) for s in symbols if s.range is not None]


def _nested(ranges: Sequence[range]) -> Iterator[tuple[int, ...]]:
    """The indices of nested loops, one after the other; the first is the outermost."""
    if not ranges:
        yield ()
        return
    for index in ranges[0]:
        for inner in _nested(ranges[1:]):
            yield (index, *inner)


def _write(bindings: Bindings, symbols: Sequence[Symbol], values: Sequence[int]) -> None:
    for s, value in zip(symbols, values, strict=True):
        bindings[s] = value
