"""Models made of `forgenb.nn`, sampling from them, and how surprising a text is to them.

Imports its own modules; a model is ops and modules, with no kernel of its own.
"""

from .attention_plot import plot_attention
from .council import Council, Opinion
from .council_decoder import CouncilDecoder, CouncilReport
from .decoder import Decoder
from .generate import generate, generate_batch, stream
from .gpt import GPT, GPTConfig
from .sampler import Chooser, Greedy, Sampler, next_id, top_probs
from .surprisal import Surprisal, surprisal
from .trace import LayerDetail, Pass, StepTrace, Tracer, attention_matrix

__all__ = [
    "GPT",
    "Chooser",
    "Council",
    "CouncilDecoder",
    "CouncilReport",
    "Decoder",
    "GPTConfig",
    "Greedy",
    "LayerDetail",
    "Opinion",
    "Pass",
    "Sampler",
    "StepTrace",
    "Surprisal",
    "Tracer",
    "attention_matrix",
    "generate",
    "generate_batch",
    "next_id",
    "plot_attention",
    "stream",
    "surprisal",
    "top_probs",
]
