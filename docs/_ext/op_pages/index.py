"""The page that lists all ops: by name, and family by family with a sentence each."""

from forgenb.ops import TABLE
from forgenb.testing.markdown import table

from . import families, words

HEAD = """\
# Ops

Each op has a page: its equation, its backward rule derived step by step, forward and backward as they stand in the
source, what is saved, a gradient check that ran when the page was built, a picture of its slopes, where it runs and how
close it is, and how many faults its tests found. The pages are made from the op table `forgenb.ops.TABLE`.
"""


def index() -> str:
    """The text of the page."""
    parts = [HEAD, f"All {len(TABLE)} by name: {words.links(sorted(TABLE))}"]
    for family in families.FAMILIES:
        listed = table(("op", "what it gives", "gradient"), map(_cells, families.members(family)))
        parts.append(f"## {family}\n\n{listed}")
    return "\n\n".join(parts) + "\n"


def _cells(name: str) -> tuple[str, str, str]:
    return words.link(name), words.summary(name).replace("|", "\\|"), _slopes(name)


def _slopes(name: str) -> str:
    row = TABLE[name]
    if row.in_place:
        return "none, writes in place"
    return "any order" if row.differentiable and row.second else "first order" if row.differentiable else "none"
