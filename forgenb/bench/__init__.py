"""How fast forgenb's steps are beside those of what a user would pick instead, on fixed workloads.

Imports its own modules. They print nothing; ``forgenb bench`` shows what they find.
"""

from ..backend.host import cores
from .check import Check, check
from .cold import compare_cold
from .contenders.specs import CONTENDERS, OWN, SPECS
from .machine import measure_limits
from .measure import Plan, Row, compare
from .plot import plot
from .report import COLUMNS, LEGEND, cells, fastest_peer, machine_line, markdown, shares, write_markdown
from .scaling import SCALABLE, compare_scaling, launcher, scalable
from .scaling_report import projection_rows, scaling_markdown

__all__ = [
    "COLUMNS",
    "CONTENDERS",
    "LEGEND",
    "OWN",
    "SCALABLE",
    "SPECS",
    "Check",
    "Plan",
    "Row",
    "cells",
    "check",
    "compare",
    "compare_cold",
    "compare_scaling",
    "cores",
    "fastest_peer",
    "launcher",
    "machine_line",
    "markdown",
    "measure_limits",
    "plot",
    "projection_rows",
    "scalable",
    "scaling_markdown",
    "shares",
    "write_markdown",
]
