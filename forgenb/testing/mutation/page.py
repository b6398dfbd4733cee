"""The mutation score as a page: ``forgenb score --markdown docs/mutation.md`` writes it.

Imports tables and scores; nothing is planted here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..markdown import table
from .equivalent import EQUIVALENT
from .plant import Fault
from .scores import Score

HEAD = """\
# What the tests reject

A test that passes shows little until it is known to fail. Here faults are planted in the backward rule of every op of
the table, one at a time, by an edit of its syntax tree: another operator, sign, constant or index, a dropped term,
factor, call or argument, `=` where a sum was kept, a comparison turned round, swapped arguments, branches or gradients.
The rule is the closure that the op records, the gradient kernel that it launches and the private helpers of both. Each
fault runs through the tests that the op has as a row of the table: gradients along a line against the NumPy reference,
conventions at ties and kinks, the conformance kit, and differences of every entry.

{total}

An op without a number has no rule of its own: its derivative follows from the ops that it is made of, which are named.

"""


def page(scores: Sequence[Score], options: str = "") -> str:
    """The page of all scores; `options` are those of the command that made it."""
    header = ("op", "planted", "rejected", "equivalent", "survivors")
    parts = [HEAD.format(total=summary(scores)), table(header, map(_cells, scores)), "\n"]
    survivors = _unique(fault for found in scores for fault in found.survivors)
    if survivors:
        rows = [(fault.place, _code(fault.before), _code(fault.after)) for fault in survivors]
        parts.append("\n## Survivors\n\n" + table(("where", "the rule", "the fault"), rows) + "\n")
    equivalent = _unique(fault for found in scores for fault in found.equivalent)
    if equivalent:
        parts.append("\n## Equivalent faults\n\nEdits that change no number that a user can see, by statement.\n\n")
        parts.append(table(("where", "the rule", "faults", "why nothing changes"), _by_statement(equivalent)) + "\n")
    parts.append(f"\nWritten by `forgenb score{options} --markdown docs/mutation.md`.\n")
    return "".join(parts)


def summary(scores: Sequence[Score]) -> str:
    """All scores in a sentence."""
    planted, found = (sum(getattr(s, name) for s in scores) for name in ("planted", "rejected"))
    equivalent, survivors = (sum(len(getattr(s, name)) for s in scores) for name in ("equivalent", "survivors"))
    share = f"{100 * found / max(planted - equivalent, 1):.2f}"
    return (
        f"{planted} faults in {sum(s.planted > 0 for s in scores)} ops: {found} rejected, {equivalent} equivalent, "
        f"{survivors} survivors. Of those that are not equivalent {share} % are rejected."
    )


def _cells(found: Score) -> tuple[str, ...]:
    if not found.planted:
        return f"`{found.op}`", "by " + ", ".join(f"`{name}`" for name in found.borrowed), "-", "-", "-"
    counts = found.planted, found.rejected, len(found.equivalent), len(found.survivors)
    return f"`{found.op}`", *map(str, counts)


def _by_statement(equivalent: list[Fault]) -> list[tuple[str, ...]]:
    counts = Counter(fault.rule for fault in equivalent)
    first = {fault.rule: fault for fault in reversed(equivalent)}
    return [
        (first[rule].place, _code(first[rule].before), str(count), EQUIVALENT[rule].reason)
        for rule, count in counts.items()
    ]


def _unique(faults: Iterable[Fault]) -> list[Fault]:
    return list({fault.key: fault for fault in faults}.values())


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"
