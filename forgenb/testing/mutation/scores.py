"""The mutation score: plant every fault, one at a time, and count what the tests of the op reject.

A fault in what several ops share counts as rejected where the tests of any of them reject it.

Imports its own package; what is printed and where is not decided here.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ...errors import ForgeError
from ...ops import TABLE
from ..kit import known_ops
from .equivalent import EQUIVALENT
from .plant import Fault, faults, planted
from .rules import rule_of
from .trial import rejected


@dataclass
class Score:
    """What became of the faults of one op; `outdated` are statements of which fewer faults survive than is listed."""

    op: str
    borrowed: tuple[str, ...] = ()
    planted: int = 0
    rejected: int = 0
    equivalent: list[Fault] = field(default_factory=list)
    survivors: list[Fault] = field(default_factory=list)
    outdated: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every fault is rejected or rightly listed."""
        return not self.survivors and not self.outdated


def score(ops: Iterable[str] | None = None, seed: int = 0, limit: int | None = None) -> Iterator[Score]:
    """Plant faults in the rules of ops, one op at a time.

    Parameters
    ----------
    ops : iterable of str, optional
        Only these of the table.
    seed : int
        Of the choice of faults, where there are more than `limit`.
    limit : int, optional
        The most faults of one op.

    Yields
    ------
    Score
        In the order of the table, for every op that records anything.

    Raises
    ------
    ArgumentError
        If an op is not in the table.
    ForgeError
        If the tests of an op fail although nothing is planted.
    """
    return _scores(known_ops(ops), seed, limit)


def _scores(ops: list[str], seed: int, limit: int | None) -> Iterator[Score]:
    for name in ops:
        rule = rule_of(name)
        if not rule.parts and not rule.borrowed:
            continue
        wrong = rejected(name, rule.gradients)
        if wrong:
            raise ForgeError(
                f"the tests of {name} fail although no fault is planted, so that they show nothing: {wrong}"
            )
        planted_here = _drawn(faults(rule), seed, limit)
        left = [fault for fault in planted_here if not _found(fault, name, rule.gradients)]
        yield _sorted_out(Score(name, rule.borrowed, len(planted_here), len(planted_here) - len(left)), left, limit)


def _found(fault: Fault, name: str, gradients: tuple[str, ...]) -> bool:
    """Whether the tests of the op, or of another with the same piece of code, reject a fault."""
    with planted(fault):
        if rejected(name, gradients) is not None:
            return True
        return any(rejected(other, rule_of(other).gradients) for other in _sharing(fault, name))


def _sorted_out(found: Score, left: list[Fault], limit: int | None) -> Score:
    """Put each fault that is left to the equivalent ones or to the survivors, by what is listed of its statement."""
    statements: dict[str, list[Fault]] = {}
    for fault in left:
        statements.setdefault(fault.rule, []).append(fault)
    for rule, kept in statements.items():
        listed = EQUIVALENT[rule].faults if rule in EQUIVALENT else 0
        (found.equivalent if len(kept) <= listed else found.survivors).extend(kept)
        if limit is None and len(kept) < listed:
            found.outdated.append(rule)
    return found


def _drawn(found: list[Fault], seed: int, limit: int | None) -> list[Fault]:
    """At most `limit` of the faults, in their order."""
    if limit is None or len(found) <= limit:
        return found
    return [found[i] for i in sorted(random.Random(seed).sample(range(len(found)), limit))]


def _sharing(fault: Fault, name: str) -> Iterator[str]:
    for other in TABLE:
        if other != name and any(part.name == fault.part.name for part in rule_of(other).parts):
            yield other
