"""Models made of `forgenb.nn`, and sampling from them."""

from .generate import generate, next_id, stream
from .gpt import GPT, GPTConfig

__all__ = ["GPT", "GPTConfig", "generate", "next_id", "stream"]
