"""Run many random graphs against PyTorch in float64: ``python -m forgenb.testing.graphs --graphs 10000 --seed 0``.

Prints how many agree, the largest difference, and each failure with what replays it. The exit status is 1 if one
differs by more than 1e-9 of a tensor's scale.
"""

from __future__ import annotations

import sys

import numpy as np

from ...errors import ForgeError
from ..graphs import build
from .compare import Difference, difference
from .graph import Graph
from .run import eager, in_torch

TOLERANCE = 1e-9


def numbered(seed: int, number: int, least: int, most: int) -> Graph:
    """Graph `number` of a seed."""
    rng = np.random.default_rng((seed, number))
    return build(lambda below: int(rng.integers(below)), int(rng.integers(2**32)), least, most)
