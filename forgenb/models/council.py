"""Several models of one shape that answer together: the surer one of them is, the more it counts.

Imports the model and ops; generating, text and files are for others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ..errors import ArgumentError
from ..nn import Module, ModuleList
from ..ops.apply import widened
from ..ops.joining import stack
from ..ops.log_softmax import log_softmax
from ..ops.pointwise import exp
from ..ops.softmax import softmax
from ..tensor import Tensor
from .gpt import GPT

__all__ = ["Council", "Opinion", "check_model"]

SHARED = ("wte.weight", "wpe.weight")
"""What all experts must have in common: the table that is the head, and positions that mean the same."""


@dataclass(frozen=True, eq=False)
class Opinion:
    """What a council makes of its experts' answers, at any number of places.

    Attributes
    ----------
    hidden : Tensor, ``[..., c]``
        The experts' streams, by their weights.
    weights : Tensor, ``[..., n]``
        Of the n experts; they sum to 1.
    entropies : Tensor, ``[..., n]``
        Of each expert's distribution of the next id, in nats.
    logs : list of Tensor, ``[..., v]``
        Logarithms of these distributions.
    """

    hidden: Tensor
    weights: Tensor
    entropies: Tensor
    logs: list[Tensor]


class Council(Module):
    r"""Models of one shape and one embedding table, whose streams are merged before the head.

    With the normalised stream :math:`h_e` of expert e and the entropy :math:`H_e`, in nats, of its distribution
    :math:`\operatorname{softmax}(h_e W^T)` of the next id, place by place,

    .. math:: w = \operatorname{softmax}(-\beta H), \qquad logits = \Big(\sum_e w_e h_e\Big) W^T .

    Streams of different models can be added only if they are read by one head, so all experts must have the same bits
    in `wte`, and in `wpe`; experts come from one model, trained further with both frozen. That is checked here, once.
    Whatever takes a `GPT` to generate text or to judge it takes a council too.

    Parameters
    ----------
    models : sequence of GPT
        The experts, at least one.
    beta : float
        How much surer experts are preferred: 0 gives all the same weight, and with a large one the surest decides.

    Attributes
    ----------
    experts : ModuleList
    config : GPTConfig
        That of the first expert.
    beta : float

    Raises
    ------
    ArgumentError
        If there is no expert, one is no GPT, sizes, dtypes or backends differ, `wte` or `wpe` differ (the message names
        the tensor and the first entry), or `beta` is no finite number of at least 0.
    """

    def __init__(self, models: Sequence[GPT], beta: float = 2.0):
        experts = list(models)
        if not experts or not all(isinstance(model, GPT) for model in experts):
            raise ArgumentError(
                f"Council needs at least one GPT and nothing else, got [{', '.join(type(m).__name__ for m in experts)}]"
            )
        if isinstance(beta, bool) or not isinstance(beta, (int, float)) or not 0 <= beta < math.inf:
            raise ArgumentError(f"Council needs a finite beta of at least 0, got {beta!r}")
        for number, other in enumerate(experts[1:], 1):
            _check_alike(experts[0], other, number)
        self.experts = ModuleList(experts)
        self.config, self.beta = experts[0].config, float(beta)

    @property
    def members(self) -> list[GPT]:
        """The experts as a list."""
        return cast(list[GPT], list(self.experts))

    def merge(self, hidden: Sequence[Tensor], logits: Sequence[Tensor]) -> Opinion:
        """Weigh the experts' streams ``[..., c]`` by their logits ``[..., v]``."""
        logs = [log_softmax(widened(answer)) for answer in logits]
        entropies = stack([-(exp(log) * log).sum(-1) for log in logs], axis=-1)
        weights = softmax(entropies * -self.beta)
        merged = sum(
            (weights[..., number : number + 1] * stream for number, stream in enumerate(hidden[1:], 1)),
            weights[..., :1] * hidden[0],
        )
        return Opinion(merged.astype(hidden[0].dtype), weights, entropies, logs)

    def opinion(self, ids: Any) -> Opinion:
        """What the experts make of ``ids[b, t]``, at every place; see `GPT.forward` for the errors."""
        streams = [expert.hidden(ids) for expert in self.members]
        return self.merge(streams, [self.head(stream) for stream in streams])

    def hidden(self, ids: Any) -> Tensor:
        """The merged stream ``[b, t, c]`` for int64 ``ids[b, t]``."""
        return self.opinion(ids).hidden

    def head(self, hidden: Tensor) -> Tensor:
        """Logits of a stream, by the table that all experts share."""
        return self.members[0].head(hidden)

    def forward(self, ids: Any) -> Tensor:
        """Logits ``[b, t, v]`` for int64 ``ids[b, t]``, a tensor or a NumPy array; see `GPT.forward` for the errors."""
        return self.head(self.hidden(ids))


def check_model(name: str, model: object) -> None:
    """Refuse what is neither a model nor a council.

    Raises
    ------
    ArgumentError
        Naming its type, and who was asked.
    """
    if not isinstance(model, (GPT, Council)):
        raise ArgumentError(f"{name} needs a GPT or a Council, got {type(model).__name__}")


def _check_alike(first: GPT, other: GPT, number: int) -> None:
    """Refuse an expert whose stream cannot be added to that of the first."""
    names = ("vocab", "context", "layers", "heads", "width")
    differing = [
        f"{name} {getattr(first.config, name)} and {getattr(other.config, name)}"
        for name in names
        if getattr(first.config, name) != getattr(other.config, name)
    ]
    if differing:
        raise ArgumentError(f"the experts of a council have one shape; 0 and {number} have {', '.join(differing)}")
    tables, own = dict(first.named_parameters()), dict(other.named_parameters())
    for name in SHARED:
        a, b = tables[name], own[name]
        if (a.dtype, a.backend) != (b.dtype, b.backend):
            raise ArgumentError(
                f"the experts of a council have one dtype and backend; {name} is {a.dtype} on {a.backend.name} in "
                f"expert 0, and {b.dtype} on {b.backend.name} in expert {number}"
            )
        _check_bits(name, a.numpy(), b.numpy(), number)


def _check_bits(name: str, a: np.ndarray, b: np.ndarray, number: int) -> None:
    bits = f"u{a.dtype.itemsize}"
    differs = np.ascontiguousarray(a).view(bits) != np.ascontiguousarray(b).view(bits)
    if differs.any():
        place = tuple(int(i) for i in np.unravel_index(int(np.argmax(differs)), a.shape))
        raise ArgumentError(
            f"the experts of a council share {' and '.join(SHARED)} bit by bit, and {name} of expert {number} differs "
            f"from that of expert 0 in {int(differs.sum())} of {differs.size} numbers, first at {place}: {b[place]!r} "
            f"instead of {a[place]!r}. Train experts from one model with these two frozen"
        )
