"""Models made of `forgenb.nn`, sampling from them, and how surprising a text is to them.

Imports its own modules; a model is ops and modules, with no kernel of its own.
"""

from .council import Council, Opinion
from .council_decoder import CouncilDecoder, CouncilReport
from .decoder import Decoder
from .generate import generate, generate_batch, stream
from .gpt import GPT, GPTConfig
from .sampler import Chooser, Greedy, Sampler, next_id
from .surprisal import Surprisal, surprisal

__all__ = [
    "GPT",
    "Chooser",
    "Council",
    "CouncilDecoder",
    "CouncilReport",
    "Decoder",
    "GPTConfig",
    "Greedy",
    "Opinion",
    "Sampler",
    "Surprisal",
    "generate",
    "generate_batch",
    "next_id",
    "stream",
    "surprisal",
]
