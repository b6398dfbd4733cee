"""The fixed workloads and contenders, as data.

Imports the standard library; what a workload is in some library belongs to that library's module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

CONTENDERS = {
    "forgenb-eager": "with_forgenb",
    "forgenb-routine": "with_forgenb",
    "torch-eager": "with_torch",
    "torch-compile": "with_torch",
    "jax-jit": "with_jax",
    "tinygrad": "with_tinygrad",
    "autograd": "with_autograd",
    "micrograd": "with_micrograd",
}
"""The module that builds a contender's steps."""

DECODERS = {"forgenb-routine": "decode_forgenb", "torch-eager": "decode_torch"}
"""The module that decodes for a contender."""

LOADERS = {"forgenb-eager": "load_forgenb", "torch-eager": "load_torch", "transformers": "load_torch"}
"""The module that loads a model's files for a contender."""

READ = "read"
"""What others are held against: reading as many bytes, from memory or from a file."""

OWN = ("forgenb-eager", "forgenb-routine")
"""The contenders that are forgenb itself; the others are its peers."""


class Unsupported(Exception):
    """A contender has no such workload; the argument says why."""


@dataclass(frozen=True)
class MLP:
    """A training step of a fully connected network by SGD.

    Attributes
    ----------
    sizes : tuple of int
        Of the layers, the inputs' first.
    activation : str
        ``tanh`` or ``relu``, after every layer but the last.
    batch, batches : int
        Rows in a step, and how many batches follow each other before the first comes again.
    lr, momentum : float
        Of SGD.

    Notes
    -----
    A network with one output learns by binary cross entropy from logits against float targets ``[batch, 1]``, others
    by cross entropy against class ids ``[batch]``.
    """

    sizes: tuple[int, ...]
    activation: str
    batch: int
    batches: int
    lr: float
    momentum: float = 0.0

    @property
    def binary(self) -> bool:
        """Whether there is one output."""
        return self.sizes[-1] == 1

    @property
    def flop(self) -> int:
        """Of the matrix products of a step; the inputs have no gradient."""
        weights = [a * b for a, b in pairwise(self.sizes)]
        return 6 * self.batch * sum(weights) - 2 * self.batch * weights[0]


@dataclass(frozen=True)
class Transformer:
    """A GPT-2 without dropout on one batch of random ids: a training step by AdamW, or the loss alone.

    AdamW has PyTorch's defaults: betas 0.9 and 0.999, epsilon 1e-8, decay 0.01 of every parameter.
    """

    vocab: int
    context: int
    layers: int
    heads: int
    width: int
    batch: int
    training: bool = True
    lr: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    decay: float = 0.01

    @property
    def flop(self) -> int:
        """Of the matrix products of a step, the causal half of attention counted."""
        c, tokens = self.width, self.batch * self.context
        forward = 2 * tokens * (12 * self.layers * c * c + self.vocab * c) + 2 * tokens * self.layers * self.context * c
        return forward * (3 if self.training else 1)


@dataclass(frozen=True)
class Chain:
    """``h = tanh(h w + b) - x``, over and over, on few elements, forward and backward, op by op."""

    size: int = 64
    repeats: int = 50

    @property
    def flop(self) -> int:
        """It has no matrix product."""
        return 0


Spec = MLP | Transformer | Chain

SPECS: dict[str, Spec] = {
    "moons": MLP((2, 16, 16, 1), "tanh", 200, 1, 0.1),
    "digits": MLP((64, 128, 64, 10), "relu", 64, 28, 0.05, 0.9),
    "micro": Transformer(65, 16, 2, 2, 32, 8),
    "nanocpu": Transformer(65, 64, 4, 4, 128, 12),
    "charsix": Transformer(65, 256, 6, 6, 384, 8),
    "mlp_small": MLP((2, 64, 64, 2), "relu", 64, 1, 0.1),
    "mlp_wide": MLP((256, 1024, 1024, 10), "relu", 256, 1, 0.05),
    "gpt2_mini": Transformer(1024, 128, 4, 8, 256, 8, training=False),
    "chain": Chain(),
}

STEPS = {
    "moons": 100,
    "digits": 100,
    "micro": 50,
    "nanocpu": 8,
    "charsix": 2,
    "mlp_small": 100,
    "mlp_wide": 5,
    "gpt2_mini": 5,
    "chain": 30,
}
"""Timed steps in a turn."""


@dataclass
class Step:
    """A workload as a contender runs it.

    Attributes
    ----------
    run : callable
        One step, finished when it returns; gives its loss, something with ``item()``.
    gradient : callable, optional
        A number that depends on the last step's gradients, where no later loss would show that they are wrong.
    work : callable, optional
        ``bytes`` and ``flop`` of a step that has run, where the contender knows them.
    """

    run: Callable[[], Any]
    gradient: Callable[[], float] | None = None
    work: Callable[[], dict[str, int]] | None = None


@dataclass(frozen=True)
class Decoding:
    """One sequence, continued with a cache by the id of the greatest logit each time.

    Attributes
    ----------
    model : Transformer
        Its sizes.
    prompt, ids : int
        How many ids are read at once at first, and how many steps follow, of one id each.
    prefill : int
        Ids of the longer prompt whose reading is timed by itself.
    """

    model: Transformer
    prompt: int
    ids: int
    prefill: int

    @property
    def nbytes(self) -> int:
        """Of the weights that a step reads, in float32: all but the table of positions, of which it reads a row."""
        c = self.model.width
        return 4 * (self.model.vocab * c + self.model.layers * (12 * c * c + 13 * c) + 2 * c)


DECODINGS = {
    "charsix": Decoding(Transformer(65, 256, 6, 6, 384, 1, training=False), 8, 248, 128),
    "gpt2": Decoding(Transformer(50257, 1024, 12, 12, 768, 1, training=False), 8, 64, 256),
}
"""What is decoded; `gpt2` has the 124,439,808 numbers of the smallest GPT-2."""

TINY = Decoding(Transformer(65, 16, 2, 2, 32, 1, training=False), 4, 8, 8)
"""What a process decodes before the memory of another is measured."""


@dataclass
class Decoder:
    """A model with a cache, as a contender runs it; what follows is the id of the greatest logit, and that logit.

    Attributes
    ----------
    prefill : callable
        Forget everything, read a prompt, and give what follows.
    step : callable
        Read one id more, and give what follows.
    launches : callable, optional
        How many kernels and products a step that has run was made of, where the contender knows it.
    """

    prefill: Callable[[list[int]], tuple[int, float]]
    step: Callable[[int], tuple[int, float]]
    launches: Callable[[], int] | None = None
