"""The table of what each backend supports, as Markdown: ``python -m forgenb.testing.support cpu > docs/support.md``.

A cell lists the dtypes in which every check of the op passes on that backend; the last column gives the bound.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from ..ops import TABLE
from .bounds import Bound, bound, gradient_bound
from .kit import DTYPES, Result, check_backend
from .markdown import table

SHORT = {"float16": "f16", "float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "bool": "bool"}

HEAD = """\
# What runs where

Each cell lists the dtypes in which an op passes every check of the conformance kit on a backend: results against a
NumPy reference in float64, gradients, their accumulation, equal bits in every run, NaN and infinities, memory of its
own, unchanged operands, ids checked before a launch. A dtype that the op itself refuses is not listed.

Under "second" stands whether gradients can be differentiated again (`create_graph`), once and as often as wanted, on
every backend; a test compares that with differences of the gradients. An op that says no raises an error with its name.

Bounds are in units in the last place, of each element or of the largest number among operands and results; the second
is that of gradients in float16 and float32.

Written by `python -m forgenb.testing.support {names}`; `forgenb check-backend NAME` shows every check.

"""


def passed(results: Iterable[Result]) -> dict[str, dict[str, bool | None]]:
    """Op -> dtype -> whether all checks passed, None where there was nothing to check."""
    found: dict[str, dict[str, bool | None]] = {name: {} for name in TABLE}
    for result in results:
        before = found[result.op].get(result.dtype)
        ok = False if result.unsupported else result.ok
        found[result.op][result.dtype] = before if ok is None else ok if before is None else before and ok
    return found


def support_table(names: Sequence[str], tables: Sequence[dict[str, dict[str, bool | None]]]) -> str:
    """The page for the backends `names` with what `passed` found on each."""
    header = ["op", *names, "second", "bound", "of gradients"]
    rows = []
    for name, row in TABLE.items():
        cells = [" ".join(SHORT[d] for d in DTYPES if found[name].get(d)) or "-" for found in tables]
        slopes = _bound(gradient_bound(name)) if row.differentiable else "-"
        again = "-" if not row.differentiable else "yes" if row.second else "no"
        rows.append([f"`{name}`", *cells, again, _bound(bound(name, "")), slopes])
    return HEAD.format(names=" ".join(names)) + table(header, rows) + "\n"


def _bound(limit: Bound) -> str:
    if limit.ulps == 0:
        return "exact"
    unit = "" if limit.of == "element" else " of the largest"
    return f"{limit.ulps:g}{unit}" + (f" ({limit.reason})" if limit.reason else "")


def main(names: Sequence[str]) -> None:
    """Run the kit on each backend and print the page."""
    print(support_table(names, [passed(check_backend(name)) for name in names]), end="")


if __name__ == "__main__":
    main(sys.argv[1:] or ["cpu"])
