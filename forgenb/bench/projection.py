"""What a training step would take on more nodes: the cost of computing and of sums over a network.

Imports the standard library, and SciPy for a fit. Nothing is measured here, and no figure of any machine stands here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Cost", "Link", "Projected", "fit_line", "nodes_below", "strong", "weak"]

BACKWARD = 2 / 3
"""The part of a sample's time that the backward sweep takes: two products for each one of the forward pass."""
LOSS_BYTES = 8
"""The loss of the batch is summed too, when the step is over."""


@dataclass(frozen=True)
class Link:
    r"""What connects the nodes.

    Attributes
    ----------
    name : str
    latency_us : float
        Of one message, :math:`\alpha`.
    gb_s : float
        Bandwidth, :math:`\beta`, in 1e9 bytes a second.
    """

    name: str
    latency_us: float
    gb_s: float

    def sum_ms(self, nodes: int, nbytes: float) -> tuple[float, float]:
        r"""Milliseconds of a sum of `nbytes` over all nodes, with the result in each: (latency, transfer).

        .. math:: 2 \log_2(p) \, \alpha + 2 \frac{p - 1}{p} \frac{n}{\beta}

        References
        ----------
        R. Thakur, R. Rabenseifner, W. Gropp, Optimization of Collective Communication Operations in MPICH, Int. J.
        High Performance Computing Applications 19 (2005) 49-66: reduce-scatter by halves, then allgather. The time of
        the additions is part of :math:`\beta` here.
        """
        transfer = 2 * (nodes - 1) / nodes * nbytes / self.gb_s / 1e6
        return 2 * math.log2(nodes) * self.latency_us / 1e3, transfer


@dataclass(frozen=True)
class Cost:
    """What a step takes on one node that computes alone, and what it would have to send.

    Attributes
    ----------
    workload : str
    batch : int
        Samples of its usual batch.
    fixed_ms, sample_ms : float
        A step on n samples takes ``fixed_ms + n sample_ms``.
    nbytes, messages, last : int
        Bytes of all gradients, in how many messages they go, and the bytes of the last one; the others are alike.
    """

    workload: str
    batch: int
    fixed_ms: float
    sample_ms: float
    nbytes: int
    messages: int
    last: int

    def alone_ms(self, samples: float) -> float:
        """A step on one node."""
        return self.fixed_ms + self.sample_ms * samples

    def sizes(self) -> list[float]:
        """Bytes of each message, in the order in which they go."""
        before = self.messages - 1
        return [(self.nbytes - self.last) / before] * before + [self.last] if before else [self.nbytes]


@dataclass(frozen=True)
class Projected:
    """One step on some nodes.

    Attributes
    ----------
    nodes : int
    samples : float
        Of each node.
    ms : float
        The step, with messages on their way while the backward sweep goes on.
    apart_ms : float
        The step, if all of them went after it.
    efficiency : float
        What the nodes would take without anything lost, over `ms`.
    lost_ms : dict
        By ``fixed cost``, ``latency`` and ``bandwidth``: what `ms` has more than that.
    """

    nodes: int
    samples: float
    ms: float
    apart_ms: float
    efficiency: float
    lost_ms: dict[str, float]

    @property
    def reason(self) -> str:
        """What most is lost to."""
        return max(self.lost_ms, key=lambda name: self.lost_ms[name])


def strong(cost: Cost, link: Link, nodes: int, batch: int) -> Projected:
    r"""A step whose batch is shared out over the nodes: :math:`T(p) = a + b n / p` and what of the sums is visible."""
    return _project(cost, link, nodes, batch / nodes, cost.alone_ms(batch) / nodes)


def weak(cost: Cost, link: Link, nodes: int, samples: int) -> Projected:
    """A step on so many samples in each node."""
    return _project(cost, link, nodes, samples, cost.alone_ms(samples))


def _project(cost: Cost, link: Link, nodes: int, samples: float, ideal: float) -> Projected:
    parts = [link.sum_ms(nodes, size) for size in cost.sizes()]
    loss = link.sum_ms(nodes, LOSS_BYTES)
    latency, transfer = (sum(part[i] for part in parts) for i in (0, 1))
    seen = _visible(cost, [sum(part) for part in parts], samples) / ((latency + transfer) or 1.0)
    alone = cost.alone_ms(samples)
    lost = {
        "fixed cost": alone - ideal,
        "latency": seen * latency + loss[0],
        "bandwidth": seen * transfer + loss[1],
    }
    ms = ideal + sum(lost.values())
    return Projected(nodes, samples, ms, alone + latency + transfer + sum(loss), ideal / ms, lost)


def _visible(cost: Cost, times: Sequence[float], samples: float) -> float:
    """Milliseconds after the end of the backward sweep until the last message has come.

    A message goes when its gradients are there, and the one before it has come. The sweep takes as long for each byte
    of gradients; so the last message, with those of the first layers, goes when the sweep is over.
    """
    sweep, done, came = BACKWARD * cost.sample_ms * samples, 0.0, 0.0
    for size, time in zip(cost.sizes(), times, strict=True):
        done += size
        came = max(came, sweep * done / cost.nbytes) + time
    return came - sweep


def nodes_below(efficiency: float, step: Callable[[int], Projected], most: int) -> int | None:
    """The least number of nodes whose efficiency is below a value; None where even `most` have more.

    `step` gives the step on a number of nodes, whose efficiency falls with that number.
    """
    if step(most).efficiency >= efficiency:
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if step(middle).efficiency < efficiency else (middle, high)
    return high


def fit_line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float]:
    r"""(a, b, miss) of the line :math:`y = a + b x` that misses all points by the least squares of relative errors.

    Neither a nor b is below 0; `miss` is the largest relative error that is left.

    Parameters
    ----------
    x, y : sequence of float
        At least two points; the y are above 0.
    """
    import numpy as np
    from scipy.optimize import nnls

    points = np.array([x, y], float)
    scale = points[0].max() / points[1].max()
    design = np.stack([1 / points[1], points[0] / points[1] / scale], 1)
    (a, b), _ = nnls(design, np.ones(len(design)))
    missed = np.abs(design @ (a, b) - 1).max()
    return float(a), float(b / scale), float(missed)
