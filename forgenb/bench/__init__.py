"""How fast forgenb's steps are beside those of what a user would pick instead, on fixed workloads.

Imports its own modules. They print nothing; ``forgenb bench`` shows what they find.
"""

from .cold import compare_cold
from .contenders.specs import CONTENDERS, OWN, SPECS
from .machine import cores, measure_limits
from .measure import Plan, Row, compare
from .report import COLUMNS, LEGEND, cells, fastest_peer, machine_line, markdown

__all__ = [
    "COLUMNS",
    "CONTENDERS",
    "LEGEND",
    "OWN",
    "SPECS",
    "Plan",
    "Row",
    "cells",
    "compare",
    "compare_cold",
    "cores",
    "fastest_peer",
    "machine_line",
    "markdown",
    "measure_limits",
]
