"""The kernel language: declarations, binding to a target, argument blocks, the store of compiled code.

Imports nothing of forgenb but `forgenb.errors`. Nothing here may name a backend, a tensor or an op.
"""

from .arguments import (
    PANEL,
    MapArguments,
    RowArguments,
    check_scalars,
    map_arguments,
    map_block,
    read_map_block,
    read_row_block,
    row_arguments,
    row_block,
)
from .binding import bind
from .declare import KINDS, Kernel, Operand, Scalar, map_kernel, row_kernel

__all__ = [
    "KINDS",
    "PANEL",
    "Kernel",
    "MapArguments",
    "Operand",
    "RowArguments",
    "Scalar",
    "bind",
    "check_scalars",
    "map_arguments",
    "map_block",
    "map_kernel",
    "read_map_block",
    "read_row_block",
    "row_arguments",
    "row_block",
    "row_kernel",
]
