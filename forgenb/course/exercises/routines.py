"""The exercises of chapter 15: the busiest moment of a program, its dead code, and what needs no storage.

Imports the parts of judges; a judge has the name of the function that it asks for. A mistake is the right walk over the
program with one of its questions otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..exercise import Mistaken, exercise
from ..judging import expect

Lives = dict[str, tuple[int, int, int]]
Program = list[tuple[str, str, tuple[str, ...]]]

LIVES: tuple[tuple[str, Lives], ...] = (
    (
        "values of several sizes",
        {"a": (2, 4, 12), "b": (3, 7, 32), "c": (4, 6, 12), "d": (5, 5, 24), "e": (5, 9, 8), "f": (6, 9, 32)},
    ),
    ("a chain of three values", {"a": (0, 1, 8), "b": (1, 2, 4), "c": (2, 3, 16)}),
    (
        "values that wait for backward",
        {"a": (0, 7, 10), "b": (1, 6, 20), "c": (2, 3, 7), "d": (3, 4, 30), "e": (5, 6, 5)},
    ),
    ("a value that nothing reads", {"a": (0, 0, 64), "b": (1, 2, 40), "c": (2, 2, 8)}),
    ("a large value before small ones", {"a": (0, 1, 100), "b": (2, 5, 30), "c": (3, 5, 30), "d": (4, 5, 30)}),
    ("one value", {"a": (3, 9, 12)}),
)


@exercise("15-1", "The most bytes that are alive at once")
def peak(answer: Callable) -> None:
    """It takes a dictionary from names to (first, last, size) and returns a number."""
    for given, lives in LIVES:
        slips = [
            ("all values are added up, whether they are alive together or not.", sum(n for _, _, n in lives.values())),
            ("this is the largest value alone; others are alive at the same time.", max(n for *_, n in lives.values())),
            ("a value lives one statement less than it should.", _most(lives, until=0)),
            ("a value lives one statement too long.", _most(lives, until=2)),
            ("values are counted, where bytes are asked for.", _most({k: (a, b, 1) for k, (a, b, _) in lives.items()})),
            ("this is the moment, where its bytes are asked for.", _busiest(lives)),
            ("these are the bytes that are alive at the end.", _at(lives, max(b for _, b, _ in lives.values()))),
        ]
        expect(answer(dict(lives)), _most(lives), given, slips)


def _at(lives: Lives, moment: int, until: int = 1) -> int:
    return sum(size for first, last, size in lives.values() if first <= moment < last + until)


def _most(lives: Lives, until: int = 1) -> int:
    return max(_at(lives, moment, until) for moment in range(20))


def _busiest(lives: Lives) -> int:
    return max(range(20), key=lambda moment: _at(lives, moment))


BRANCHES: Program = [
    ("a", "matmul", ("x", "w")),
    ("b", "tanh", ("a",)),
    ("c", "exp", ("a",)),
    ("d", "mul", ("b", "b")),
    ("e", "sum", ("c",)),
    ("f", "add", ("d", "b")),
    ("g", "sum", ("f",)),
    ("h", "neg", ("g",)),
]
CHAIN: Program = [("a", "mul", ("x", "two")), ("b", "add", ("a", "one")), ("c", "tanh", ("b",)), ("d", "sum", ("c",))]


@exercise("15-2", "The statements that results depend on")
def needed(answer: Callable) -> None:
    """It takes a list of statements and a list of names, and returns statements in the order of the program."""
    cases = (
        ("a branch that nothing needs", BRANCHES, ["g"]),
        ("two results", BRANCHES, ["e", "d"]),
        ("a program without dead code", CHAIN, ["d"]),
        ("a result in the middle", CHAIN, ["b"]),
        ("a result from outside", CHAIN, ["x"]),
    )
    for given, program, results in cases:
        found = answer(list(program), list(results))
        if found is None:
            raise Mistaken(f"With {given} it returns None: is a return statement missing?")
        got, right = _statements(found, given), _needed(program, results)
        if got == right:
            continue
        for text, wrong in _needed_slips(program, results, right):
            if got == wrong:
                raise Mistaken(f"With {given}: {text}")
        _told_missing(set(_outs(got)), set(_outs(right)), given, "statements that make")
        raise Mistaken(f"With {given} the statements are right, and not in the program's order, each once.")


def _statements(found: Any, given: str) -> Program:
    if not isinstance(found, Iterable) or isinstance(found, str | Mapping):
        raise Mistaken(f"With {given} it returns {type(found).__name__}, where it must be a list of statements.")
    found = list(found)
    try:
        return [(out, op, tuple(ins)) for out, op, ins in found]
    except (TypeError, ValueError) as error:
        raise Mistaken(f"With {given} it returns {found!r}, whose parts are no statements (out, op, ins).") from error


def _needed(program: Program, results: Iterable[str]) -> Program:
    wanted, kept = set(results), []
    for out, op, ins in reversed(program):
        if out in wanted:
            wanted.update(ins)
            kept.append((out, op, ins))
    return kept[::-1]


def _needed_slips(program: Program, results: list[str], right: Program) -> list[tuple[str, Program]]:
    direct = [s for s in program if s[0] in results]
    wanted = {name for _, _, ins in direct for name in ins} | set(results)
    forward, seen = [], set(results)
    for out, op, ins in program:
        if out in seen or seen & set(ins):
            forward.append((out, op, ins))
            seen.add(out)
    last = max((n for n, (out, *_) in enumerate(program) if out in results), default=-1)
    used = {name for _, _, ins in program for name in ins} | set(results)
    return [
        ("the statements are right, but the last one stands first.", right[::-1]),
        ("only what makes the results is there; what makes their operands is missing.", direct),
        ("it stops after one step back; operands have operands.", [s for s in program if s[0] in wanted]),
        ("this is what depends on the results, where what they depend on is asked for.", forward),
        ("nothing is left out.", list(program)),
        ("all that stands before a result is there, whether it needs it or not.", program[: last + 1]),
        ("what something reads is there, even if nothing needs the reader.", [s for s in program if s[0] in used]),
        (
            "the last statement alone is followed back, where other results are asked for.",
            _needed(program, results[:1]),
        ),
    ]


POINTWISE = {"mul", "add", "tanh", "exp", "neg"}


@exercise("15-3", "Values that need no storage")
def inlined(answer: Callable) -> None:
    """It takes a list of statements, a set of names of ops and a list of names, and returns a set of names."""
    twice: Program = [("a", "neg", ("x",)), ("b", "mul", ("a", "a")), ("c", "neg", ("b",)), ("d", "add", ("c", "b"))]
    cases = (
        ("a program with branches", BRANCHES, ["h", "e"]),
        ("a chain of pointwise ops", CHAIN, ["d"]),
        ("a chain whose middle is a result", CHAIN, ["a", "d"]),
        ("a value that one statement uses twice", twice, ["d"]),
        ("a value that nothing uses", CHAIN[:2], ["x"]),
    )
    for given, program, results in cases:
        found = answer(list(program), set(POINTWISE), list(results))
        if found is None:
            raise Mistaken(f"With {given} it returns None: is a return statement missing?")
        if not isinstance(found, set | frozenset | list | tuple) or not all(isinstance(name, str) for name in found):
            raise Mistaken(f"With {given} it returns {found!r}, where it must be a set of names.")
        right = _inlined(program, results)
        if set(found) == right:
            continue
        for text, wrong in _inlined_slips(program, results):
            if set(found) == wrong != right:
                raise Mistaken(f"With {given}: {text}")
        _told_missing(set(found), right, given, "names")


def _uses(program: Program, name: str) -> list[str]:
    """The op of each use of a value, one for each operand."""
    return [op for _, op, ins in program for used in ins if used == name]


def _inlined(program: Program, results: Iterable[str], most: int = 1, made: bool = True, used: bool = True) -> set[str]:
    found = set()
    for out, op, _ in program:
        ops = _uses(program, out)
        fits = (op in POINTWISE or not made) and (POINTWISE.issuperset(ops) or not used)
        if out not in results and 1 <= len(ops) <= most and fits:
            found.add(out)
    return found


def _inlined_slips(program: Program, results: list[str]) -> list[tuple[str, set[str]]]:
    once = {out for out, _, _ in program if sum(out in ins for _, _, ins in program) == 1}
    fit = {out for out, op, _ in program if op in POINTWISE and POINTWISE.issuperset(_uses(program, out))}
    outside = {name for _, _, ins in program for name in ins} - {out for out, _, _ in program}
    alone = {name for name in outside if len(_uses(program, name)) == 1 and _uses(program, name)[0] in POINTWISE}
    return [
        ("a result is among them, which somebody wants to read.", _inlined(program, ())),
        (
            "what uses a value is not looked at, and some op there is not pointwise.",
            _inlined(program, results, used=False),
        ),
        (
            "what makes a value is not looked at, and some op there is not pointwise.",
            _inlined(program, results, made=False),
        ),
        ("values are there that are used more than once.", _inlined(program, results, most=99)),
        ("a statement that uses a value as two operands uses it twice.", (once & fit) - set(results)),
        (
            "a value is there that nothing uses.",
            _inlined(program, results) | (fit - set(results) - {n for _, _, ins in program for n in ins}),
        ),
        ("values from outside are there, which no statement makes.", _inlined(program, results) | alone),
        (
            "these are all that pointwise ops make, however they are used.",
            {out for out, op, _ in program if op in POINTWISE},
        ),
    ]


def _told_missing(found: set[str], right: set[str], given: str, what: str) -> None:
    """Say which names are too many, or else how many are missing."""
    if found - right:
        raise Mistaken(f"With {given} there are {what} {', '.join(sorted(found - right))}, which must not be there.")
    if right - found:
        raise Mistaken(f"With {given} {len(right - found)} of {len(right)} {what.split()[0]} are missing.")


def _outs(program: Program) -> list[str]:
    return [out for out, _, _ in program]
