"""How fast forgenb's steps are beside those of what a user would pick instead, on fixed workloads.

Imports its own modules. They print nothing; ``forgenb bench`` shows what they find.
"""

from ..backend.host import cores
from .check import Check, check
from .cold import compare_cold
from .contenders.specs import CONTENDERS, DECODERS, DECODINGS, LOADERS, OWN, SPECS
from .decode import DecodeRow, compare_decode
from .load import LoadRow, compare_load
from .machine import measure_limits
from .measure import Plan, Row, compare
from .plot import plot
from .report import COLUMNS, LEGEND, cells, fastest_peer, machine_line, markdown, shares, write_markdown
from .scaling import SCALABLE, compare_scaling, launcher, scalable
from .scaling_report import projection_rows, scaling_markdown
from .word_report import DECODE_MARKS, LOAD_MARKS, decode_markdown, load_markdown

__all__ = [
    "COLUMNS",
    "CONTENDERS",
    "DECODERS",
    "DECODE_MARKS",
    "DECODINGS",
    "LEGEND",
    "LOADERS",
    "LOAD_MARKS",
    "OWN",
    "SCALABLE",
    "SPECS",
    "Check",
    "DecodeRow",
    "LoadRow",
    "Plan",
    "Row",
    "cells",
    "check",
    "compare",
    "compare_cold",
    "compare_decode",
    "compare_load",
    "compare_scaling",
    "cores",
    "decode_markdown",
    "fastest_peer",
    "launcher",
    "load_markdown",
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
