"""forgenb's decoder: a prompt op by op, then a routine for each id."""

from __future__ import annotations

import numpy as np

from forgenb import models
from forgenb.models.decoder import Decoder as Cached
from forgenb.nn.init import unwritten

from .load_forgenb import forget
from .specs import Decoder, Transformer
from .with_forgenb import PACKAGES

__all__ = ["PACKAGES", "decoder"]


def decoder(spec: Transformer, arrays: dict[str, np.ndarray], threads: int) -> Decoder:
    """A decoder of the model with these values; `threads` was given to the process in ``FORGENB_THREADS``."""
    with unwritten():
        model = models.GPT(models.GPTConfig(spec.vocab, spec.context, spec.layers, spec.heads, spec.width))
    model.load_state_dict(arrays)
    forget()
    cached = Cached(model)
    return Decoder(
        lambda ids: _greatest(cached.prefill([ids])[0]),
        lambda last: _greatest(cached.step([last])[0]),
        lambda: len(cached.routine.program) if cached.routine is not None else 0,
    )


def _greatest(logits: np.ndarray) -> tuple[int, float]:
    place = int(logits.argmax())
    return place, float(logits[place])
