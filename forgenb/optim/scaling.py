"""Scaling of losses, for gradients that float16 cannot hold.

Imports late numbers, tensors and errors; it knows no optimiser, which asks it for `unit` and tells it how a step went.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..dtypes import FLOAT16, FLOAT32
from ..errors import ArgumentError, CheckpointError
from ..ops.arithmetic import mul
from ..ops.casts import astype
from ..routine import late
from ..tensor import Tensor

LEAST = 2.0**-126
"""The smallest scale: in float32, its inverse is still finite."""


class LossScaler:
    r"""A factor for losses that follows what gradients in float16 can bear.

    The smallest number above 0 in float16 is :math:`6 \cdot 10^{-8}`, and many gradients are smaller. Those of
    :math:`s\,L` are s times larger, and an update divides them by s in float32. Where one is not finite, s was too
    large: that step changes no parameter, no moment and no count, and s shrinks. After many steps in a row that were
    finite it grows.

    Parameters
    ----------
    scale : float
        s at first.
    growth, backoff : float
        What s is multiplied by after `every` finite steps in a row, and after one that is not. Powers of two, so that
        scaling itself rounds nothing.
    every : int
        How many.

    Attributes
    ----------
    scale : float
        s now.
    good : int
        Finite steps in a row since s changed.
    skipped : int
        Steps that were not finite.

    Raises
    ------
    ArgumentError
        If a number is out of its range.

    References
    ----------
    Micikevicius et al., "Mixed precision training", 2018.

    Examples
    --------
    >>> import forgenb as fnb
    >>> layer = fnb.nn.Linear(2, 1, dtype="float16")
    >>> optimizer, scaler = fnb.optim.SGD(layer.parameters(), lr=0.1), fnb.optim.LossScaler(1024.0)
    >>> loss = layer(fnb.tensor([[1.0, 2.0]], dtype="float16")).astype("float32").sum()
    >>> scaler(loss).backward()
    >>> norm = optimizer.step(scaler=scaler)
    >>> scaler.good, scaler.skipped
    (1, 0)
    """

    def __init__(self, scale: float = 2.0**15, growth: float = 2.0, backoff: float = 0.5, every: int = 2000):
        if not (0 < scale < math.inf and growth >= 1 and 0 < backoff < 1 and every >= 1):
            raise ArgumentError(
                "LossScaler needs a finite scale above 0, growth of at least 1, backoff between 0 and 1 and every of "
                f"at least 1, got scale={scale!r}, growth={growth!r}, backoff={backoff!r} and every={every!r}"
            )
        self.scale, self.growth, self.backoff, self.every = float(scale), growth, backoff, every
        self.good = self.skipped = 0

    def __call__(self, loss: Tensor) -> Tensor:
        """The loss times the scale: call ``backward`` on it. A loss in float16 is scaled, and returned, in float32."""
        wide = astype(loss, FLOAT32) if loss.dtype is FLOAT16 else loss
        return mul(wide, late(lambda: self.scale))

    def unit(self) -> float:
        """What a gradient of the scaled loss is multiplied by to be one of the loss."""
        return late(lambda: 1.0 / self.scale)

    def update(self, finite: bool) -> None:
        """Take down how a step went. `Optimizer.step` does it; an update of your own does it once a step."""
        if not finite:
            self.scale, self.good, self.skipped = max(self.scale * self.backoff, LEAST), 0, self.skipped + 1
            return
        self.good += 1
        if self.good >= self.every:
            grown = self.scale * self.growth
            self.scale, self.good = grown if math.isfinite(grown) else self.scale, 0

    def state_dict(self) -> dict[str, np.ndarray]:
        """What a checkpoint needs to go on: ``scale``, ``good`` and ``skipped``."""
        return {name: np.array(getattr(self, name)) for name in ("scale", "good", "skipped")}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over a saved state.

        Raises
        ------
        CheckpointError
            If an entry is missing or unknown, or the scale is none.
        """
        if set(state) != {"scale", "good", "skipped"}:
            raise CheckpointError(f"a LossScaler needs scale, good and skipped, got {', '.join(sorted(state))}")
        scale = float(state["scale"])
        if not 0 < scale < math.inf:
            raise CheckpointError(f"the saved scale of a LossScaler is {scale}: it must be finite and above 0")
        self.scale, self.good, self.skipped = scale, int(state["good"]), int(state["skipped"])
