"""Dropout as a module, and the numbering of dropout sites in a model.

Imports the op, `forgenb.random` and `module`; no random state is kept here.
"""

from __future__ import annotations

import zlib

from .. import random
from ..errors import ArgumentError
from ..ops.dropout import dropout
from ..ops.settings import number
from ..routine import frozen, late, on_each_run, value_of
from ..tensor import Tensor
from .module import Module


def check_rate(p: float) -> float:
    """`p`, or an ArgumentError where it is no dropout rate."""
    if not 0 <= number("dropout", "rate", p) < 1:
        raise ArgumentError(f"a dropout rate must be at least 0 and below 1, got {p!r}")
    return p


class Dropout(Module):
    """Zero each element with probability `p` in training, and scale the others by ``1 / (1 - p)``.

    Parameters
    ----------
    p : float
        ``0 <= p < 1``.
    site : int, optional
        Which dropout of the model this is, from 1 on; it makes the masks of sites differ. Without one, modules are
        numbered in the order in which they are made.

    Attributes
    ----------
    seed : int
        Of the masks. Every call in training drops other elements; setting the seed starts their sequence again.
    calls : int
        How many masks have been drawn since the seed was set.
    first : int
        How many samples of the batch come before those that it sees: on a part of a batch it then draws what it draws
        there on the whole.
    """

    first = 0

    def __init__(self, p: float, site: int | None = None):
        self.p = check_rate(p)
        self.site = zlib.crc32(random.fresh_name("dropout").encode()) if site is None else site
        self.seed = random.default_seed()

    @property
    def seed(self) -> int:
        """Of the masks; see the class."""
        return self._seed

    @seed.setter
    def seed(self, value: int) -> None:
        self._seed, self.calls = value, 0

    def forward(self, x: Tensor) -> Tensor:
        """Drop in training; the same tensor otherwise."""
        training = frozen("the mode of a Dropout", lambda: self.training)
        if not training or frozen("the rate of a Dropout", lambda: self.p) == 0:
            return x
        call = 0

        def advance() -> None:
            nonlocal call
            self.calls += 1
            call = self.calls

        on_each_run(advance)
        seed = late(lambda: random.site_seed(random.site_seed(self.seed, self.site), call))
        return dropout(x, self.p, seed, late(lambda: self.first) * (x.size // max(x.shape[0], 1) if x.ndim else 0))


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
