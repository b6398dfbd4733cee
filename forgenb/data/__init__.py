"""Text, characters or pairs of bytes as ids, batches of ids, and batches of any arrays.

All of it is NumPy on the host. Ids are int64; ``n`` is the length of a text, ``t`` the context and ``b`` the
batch.

It imports its own modules; no tensor is made and nothing is downloaded.
"""

from forgenb.data.batches import batch, batch_starts, windows
from forgenb.data.bpe import GPT2Tokenizer
from forgenb.data.epochs import Batches, Share
from forgenb.data.ids import as_ids
from forgenb.data.text import default_text, load_text, split
from forgenb.data.text_stream import TextStream, Tokenizer
from forgenb.data.tokenizer import CharTokenizer

__all__ = [
    "Batches",
    "CharTokenizer",
    "GPT2Tokenizer",
    "Share",
    "TextStream",
    "Tokenizer",
    "as_ids",
    "batch",
    "batch_starts",
    "default_text",
    "load_text",
    "split",
    "windows",
]
