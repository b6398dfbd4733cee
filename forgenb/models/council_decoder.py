"""A council with caches of keys and values: a decoder an expert, and one answer of them all.

Imports the council, the decoder and candidates; which id comes next is chosen in `sampler`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError
from ..ops.apply import widened
from ..ops.log_softmax import log_softmax
from ..tape import no_grad
from ..tensor import Tensor
from .council import Council, Opinion
from .decoder import Decoder
from .sampler import clamped, most_likely

__all__ = ["CouncilDecoder", "CouncilReport"]


@dataclass(frozen=True, eq=False)
class CouncilReport:
    """What each of n experts thinks that comes next in b sequences, and what they agree on.

    Attributes
    ----------
    weights, entropies : ndarray, ``(b, n)``
        How much each counts, and the entropy of its distribution in nats.
    candidates, probabilities : ndarray, ``(b, n, k)``
        Each expert's most probable ids, the greatest first, and their probabilities.
    consensus, consensus_probabilities : ndarray, ``(b, k)``
        The same of the council.
    """

    weights: NDArray[np.floating]
    entropies: NDArray[np.floating]
    candidates: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    consensus: NDArray[np.int64]
    consensus_probabilities: NDArray[np.float64]


class CouncilDecoder:
    """A `Decoder` an expert, all of which read the same ids; their streams are merged in each call.

    It has the methods of a `Decoder`, and is used like one: logits are those of the council.

    Parameters
    ----------
    council : Council
    batch, capacity
        See `Decoder`.

    Raises
    ------
    ArgumentError
        If it is no council, or see `Decoder`.
    """

    def __init__(self, council: Council, batch: int = 1, capacity: int | None = None):
        if not isinstance(council, Council):
            raise ArgumentError(f"CouncilDecoder needs a Council, got {type(council).__name__}")
        self.model = council
        self.decoders = [Decoder(expert, batch, capacity) for expert in council.members]
        self.batch, self.capacity = self.decoders[0].batch, self.decoders[0].capacity
        self._opinion: Opinion | None = None
        self._logits: Tensor

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many ids of each sequence were read, ``(batch,)``."""
        return self.decoders[0].lengths

    def prefill(self, prompts: Sequence[Sequence[int]]) -> np.ndarray:
        """Forget everything and read one prompt a sequence; see `Decoder.prefill`."""
        for decoder in self.decoders:
            decoder.prefill(prompts)
        return self._answer()

    def step(self, ids: Sequence[int]) -> np.ndarray:
        """Read one more id of each sequence; see `Decoder.step`."""
        for decoder in self.decoders:
            decoder.step(ids)
        return self._answer()

    def release(self, row: int) -> None:
        """Give a sequence up; see `Decoder.release`."""
        for decoder in self.decoders:
            decoder.release(row)

    def report(self, top: int = 5) -> CouncilReport:
        """Where the last logits come from.

        Parameters
        ----------
        top : int
            How many candidates; less than 1 counts as 1, and more than there are as all.

        Raises
        ------
        ArgumentError
            If nothing was read yet, or `top` is no integer.
        """
        if self._opinion is None:
            raise ArgumentError("report has nothing to tell: call prefill with the prompts first")
        kept = clamped(top, self.model.config.vocab)
        each = [most_likely(logs.numpy(), kept) for logs in self._opinion.logs]
        with no_grad():
            consensus = most_likely(log_softmax(widened(self._logits)).numpy(), kept)
        return CouncilReport(
            np.array(self._opinion.weights.numpy()),
            np.array(self._opinion.entropies.numpy()),
            np.stack([ids for ids, _ in each], 1),
            np.stack([probabilities for _, probabilities in each], 1),
            *consensus,
        )

    def _answer(self) -> np.ndarray:
        with no_grad():
            self._opinion = self.model.merge([d.hidden for d in self.decoders], [d.logits for d in self.decoders])
            self._logits = self.model.head(self._opinion.hidden)
        return np.array(self._logits.numpy())
