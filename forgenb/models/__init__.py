"""Models made of `forgenb.nn`, and sampling from them.

Imports its own modules; a model is ops and modules, with no kernel of its own.
"""

from .generate import generate, next_id, stream
from .gpt import GPT, GPTConfig

__all__ = ["GPT", "GPTConfig", "generate", "next_id", "stream"]
