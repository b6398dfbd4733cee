"""From a kernel to something that a machine can run: its launcher's text, its bound body, the kinds of its slots."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from forgenb.kernel import Kernel, bind, map_block, row_block

from .templates import NUMBA, gemm_text, map_text, row_text

CONVERSIONS = ("real", "half_to_real", "real_to_half")
"""Primitives that launchers of maps call for storage in float16."""

GEMM_BLOCK = struct.Struct("=" + "q" * 7 + "d" * 2 + "q" * 12)
"""The packer of a product's slots, in the order of `templates.TILE_SLOTS`."""


@dataclass(frozen=True)
class Plan:
    """What to build: a name, the launcher's text, the kernel (none for a product), float type, and packer."""

    name: str
    text: str
    kernel: Kernel | None
    real: str
    packer: struct.Struct

    @property
    def slots(self) -> str:
        """One letter a parameter of the launcher: q for int64, d for float64."""
        return "q" + self.packer.format.lstrip("=")

    def names(self, primitives: dict[str, object], launcher: dict[str, object]) -> dict[str, object]:
        """What the text refers to, on a target with these primitives and launcher words."""
        found = {**launcher, **{name: primitives[name] for name in CONVERSIONS}}
        if self.kernel is not None:
            found["body"] = bind(self.kernel.body, primitives, np.dtype(self.real))
        return found


def map_plan(kernel: Kernel, real: str, storage: tuple[str, ...], ndim: int) -> Plan:
    """The plan of a map kernel over `ndim` collapsed dimensions, of operands stored as `storage`."""
    stored = tuple(NUMBA.get(s, s) for s in storage)
    text = map_text(kernel, NUMBA.get(real, real), stored, ndim)
    return Plan(f"{kernel.name}-{'-'.join([real, *storage])}-{ndim}d", text, kernel, real, map_block(kernel, ndim))


def row_plan(kernel: Kernel, real: str) -> Plan:
    """The plan of a row kernel."""
    return Plan(f"{kernel.name}-{real}", row_text(kernel, NUMBA.get(real, real)), kernel, real, row_block(kernel))


def gemm_plan(real: str, tile: int) -> Plan:
    """The plan of the tiled product."""
    return Plan(f"gemm-{real}-{tile}", gemm_text(real, tile), None, real, GEMM_BLOCK)
