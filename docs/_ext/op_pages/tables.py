"""What other pages have recorded of an op: where it runs, how close it is, its conventions, its planted faults."""

import re
from collections.abc import Iterator
from pathlib import Path

from forgenb.ops import TABLE
from forgenb.testing.markdown import table
from forgenb.testing.mutation import EQUIVALENT
from forgenb.testing.mutation.rules import rule_of

from . import words

PAGES = Path(__file__).resolve().parents[2]
CELL = re.compile(r"(?<!\\) \| ")


def rows(page: str) -> Iterator[list[str]]:
    """The cells of all lines of tables of a page."""
    for line in (PAGES / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("| "):
            yield CELL.split(line[2:-2])


def support(name: str) -> str:
    """The table of backends and dtypes, and the bounds below it."""
    header = next(rows("support.md"))
    cells = dict(zip(header, next(row for row in rows("support.md") if row[0] == f"`{name}`"), strict=True))
    backends = header[1 : header.index("second")]
    found = table(("backend", "passes every check in"), [(f"`{b}`", cells[b]) for b in backends])
    said = [
        "A backend that is not listed runs the same code; `forgenb check-backend NAME` measures it.",
        f"Results are within {_ulps(cells['bound'])} of the NumPy reference in float64.",
    ]
    if cells["of gradients"] != "-":
        said.append(f"Gradients in float16 and float32 are within {_ulps(cells['of gradients'])} of those in float64.")
    return f"{found}\n\n{' '.join(said)} More in [What runs where](../support.md)."


def _ulps(bound: str) -> str:
    """A cell of bounds in words."""
    number, _, reason = bound.partition(" (")
    if number == "exact":
        return "0 ulp"
    size, _, of = number.partition(" ")
    return f"{size} ulp{' ' + of + ' entry' if of else ''}" + (f" ({reason}" if reason else "")


def conventions(name: str) -> str:
    """Calls at ties, kinks and ends with what they give; empty where the op has none."""
    found = [row for row in rows("conventions.md") if row[0].startswith(f"`{name}(")]
    if not found:
        return ""
    return f"{table(('call', 'value', 'gradients'), found)}\n\nMore in [Conventions](../conventions.md)."


def mutation(name: str, same: list) -> str:
    """How many faults were planted in the rule of an op, what became of them, and why some change nothing (`same`)."""
    row = next((row for row in rows("mutation.md") if row[0] == f"`{name}`"), None)
    more = "More in [What the tests reject](../mutation.md)."
    if row is None:
        return f"There is no backward rule, so there is nothing to plant. {more}"
    if row[1].startswith("by "):
        made_of = row[1][3:].replace("`", "").split(", ")
        links = words.links(other for other in made_of if other in TABLE)
        return f"The op has no rule of its own: faults are planted in those that it is made of, {links}. {more}"
    found = table(("planted", "rejected by a test", "equivalent", "survivors"), [row[1:5]])
    if same:
        found += "\n\nEdits that change no number that a user can see:\n\n" + table(("the rule", "why"), same)
    return f"{found}\n\n{more}"


def equivalent(name: str) -> list[tuple[str, str]]:
    """Statements of the rule in which an edit may change nothing, and why."""
    found = []
    for part in rule_of(name).parts:
        prefix = f"{Path(part.path).stem}.{part.name}: "
        for statement, entry in EQUIVALENT.items():
            if statement.startswith(prefix):
                found.append(("`" + statement.removeprefix(prefix).replace("|", "\\|") + "`", entry.reason))
    return found
