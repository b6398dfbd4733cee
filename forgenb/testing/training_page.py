"""The page that holds forgenb against the training module of OCANNL, as Markdown.

``python -m forgenb.testing.training_page > docs/training.md`` writes it. Imports the rows.
"""

from __future__ import annotations

from .entries import avoided, compared
from .training_defects import DEFECTS, OWN_DEFECTS
from .training_rows import ROWS

__all__ = ["page"]

HEAD = """\
# A training module, function by function

`forgenb.train` does what the training module of OCANNL 0.5.1, train.ml, does, in Python. The first table has a row for
each of its functions: what forgenb has in its place, where it differs and why, and the tests that show it. The other
two are of what went wrong there, each with the test that keeps it from going wrong here. A test looks up every name and
every test on this page.
"""

DEFECTS_HEAD = """\
## What users of OCANNL met

From its public reports, of this version and later ones.
"""

OWN_HEAD = """\
## What train.ml itself has

Read off its code; forgenb differs from it on purpose.
"""


def page() -> str:
    """The page."""
    return "\n".join(
        [
            HEAD,
            compared("OCANNL 0.5.1, train.ml", ROWS),
            DEFECTS_HEAD,
            avoided(DEFECTS),
            OWN_HEAD,
            avoided(OWN_DEFECTS),
            "Written by `python -m forgenb.testing.training_page`.\n",
        ]
    )


if __name__ == "__main__":
    print(page(), end="")
