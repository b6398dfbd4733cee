"""Models made of `forgenb.nn`, and sampling from them.

Imports its own modules; a model is ops and modules, with no kernel of its own.
"""

from .decoder import Decoder
from .generate import generate, generate_batch, stream
from .gpt import GPT, GPTConfig
from .sampler import Chooser, Greedy, Sampler, next_id

__all__ = [
    "GPT",
    "Chooser",
    "Decoder",
    "GPTConfig",
    "Greedy",
    "Sampler",
    "generate",
    "generate_batch",
    "next_id",
    "stream",
]
