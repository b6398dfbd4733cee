"""Dropout as a module, and the numbering of dropout sites in a model.

Imports the op, `forgenb.random` and `module`; no random state is kept here.
"""

from __future__ import annotations

from .. import random
from ..errors import ArgumentError
from ..ops.dropout import dropout
from ..routine import late, value_of
from ..tensor import Tensor
from .module import Module


def check_rate(p: float) -> float:
    """`p`, or an ArgumentError where it is no dropout rate."""
    if not 0 <= p < 1:
        raise ArgumentError(f"a dropout rate must be at least 0 and below 1, got {p!r}")
    return p


class Dropout(Module):
    """Zero each element with probability `p` in training, and scale the others by ``1 / (1 - p)``.

    Parameters
    ----------
    p : float
        ``0 <= p < 1``.
    site : int
        Which dropout of the model this is; the first is 1. It makes the masks of sites differ.

    Attributes
    ----------
    seed : int
        Of the masks. A training loop sets it for every step; it stays until then, so that the same call
        twice drops the same elements.
    """

    def __init__(self, p: float, site: int = 1):
        self.p = check_rate(p)
        self.site = site
        self.seed = random.default_seed()

    def forward(self, x: Tensor) -> Tensor:
        """Drop in training; the same tensor otherwise."""
        if not self.training or self.p == 0:
            return x
        return dropout(x, self.p, late(lambda: random.site_seed(self.seed, self.site)))


class Sites:
    """The dropout sites of one forward pass, numbered from 1 in the order in which they are asked.

    Parameters
    ----------
    p : float
        The rate; 0 where nothing is dropped.
    seed : int
        Of this step.
    first : int
        How many samples of the step came before this pass: a pass over part of a batch then draws what the
        whole batch draws there.
    """

    def __init__(self, p: float, seed: int, first: int = 0):
        self.p = p
        self.seed = seed
        self.first = first
        self.site = 0

    def next_seed(self):
        """The seed of the next site; in a recorded step it is worked out before each run."""
        self.site += 1
        site = self.site
        return late(lambda: random.site_seed(value_of(self.seed), site))

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the next site to ``x[samples, ...]``."""
        seed = self.next_seed()
        if self.p == 0:
            return x
        return dropout(x, self.p, seed, self.first * (x.size // max(x.shape[0], 1)))
