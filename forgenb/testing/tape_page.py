"""The page that holds forgenb against forge-ml, a GPT-2 on a tape in Rust, as Markdown.

``python -m forgenb.testing.tape_page > docs/tape.md`` writes it. Imports the rows.
"""

from __future__ import annotations

from .entries import avoided, compared
from .tape_checks import CHECKS
from .tape_defects import DEFECTS, REPAIRED
from .tape_model_rows import AROUND, GPT2, TRAINING
from .tape_rows import OPS, RANDOM, TAPE, TENSORS

__all__ = ["FEATURES", "page"]

HEAD = """\
# A GPT-2 on a tape, row by row

forge-ml 0.1.0 is a tape, its ops and a GPT-2, in Rust, for processors and for GPUs by WebGPU. forgenb does what it
does, in Python, with words and code of its own, and leaves out the browser. The tables have a row for everything that
forge-ml has: what forgenb has in its place, where it differs and why, and the tests that show it. Then comes how
closely both are checked, and what goes wrong there with the test that keeps it from going wrong here. A test looks up
every name and every test on this page.
"""

FEATURES = {
    "Tensors, devices and errors": TENSORS,
    "The tape": TAPE,
    "Ops": OPS,
    "Random numbers": RANDOM,
    "Training": TRAINING,
    "GPT-2": GPT2,
    "Around it": AROUND,
}

CHECKS_HEAD = """\
## How it is checked

Its bars are absolute unless a row says so. A gradient of 0.005 passes a bar of 0.01 whatever it is, so those of forgenb
are relative.
"""

DEFECTS_HEAD = """\
## What goes wrong there

Read off its code; forgenb differs from it on purpose.
"""

REPAIRED_HEAD = """\
## What went wrong there once

It is repaired, and could go wrong again in any library.
"""


def page() -> str:
    """The page."""
    features = (part for title, rows in FEATURES.items() for part in (f"## {title}\n", _table(rows)))
    return "\n".join(
        [
            HEAD,
            *features,
            CHECKS_HEAD,
            _table(CHECKS),
            DEFECTS_HEAD,
            avoided(DEFECTS),
            REPAIRED_HEAD,
            avoided(REPAIRED),
            "Written by `python -m forgenb.testing.tape_page`.\n",
        ]
    )


def _table(rows: list) -> str:
    return compared("forge-ml 0.1.0", rows)


if __name__ == "__main__":
    print(page(), end="")
