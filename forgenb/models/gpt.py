"""GPT-2: a decoder-only transformer with learned positions, pre-normalised blocks and a tied head.

Symbols of shapes: b samples, t time, c width, v vocabulary.

Imports `forgenb.nn` and ops; no optimiser or data. Its files are `forgenb.models.pretrained`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError
from ..nn import Embedding, LayerNorm, Linear, Module, ModuleList
from ..nn.dropout import Sites, check_rate
from ..ops.attention import attention
from ..ops.cross_entropy import cross_entropy
from ..ops.embedding import embedding
from ..ops.gelu import gelu
from ..ops.ids import as_array
from ..ops.matmul import matmul
from ..recompute import recomputed
from ..routine import frozen, late, scope
from ..storage.opening import StrPath
from ..storage.quantized.groups import check_group
from ..tensor import Tensor

STD = 0.02
"""Standard deviation of initial weights, except the projections that end in the residual stream."""


@dataclass(frozen=True)
class GPTConfig:
    """Sizes of a `GPT`.

    Attributes
    ----------
    vocab, context : int
        How many ids there are, and the most positions of a sequence.
    layers, heads, width : int
        Blocks, attention heads (a divisor of the width), and size of the residual stream.
    dropout : float
        The rate at every site, ``0 <= dropout < 1``.
    end : int or None
        The id that ends a text, where generating stops by default.

    Raises
    ------
    ArgumentError
        If a size is below 1, `heads` does not divide `width`, the rate is out of range, or `end` is no id.
    """

    vocab: int
    context: int
    layers: int
    heads: int
    width: int
    dropout: float = 0.0
    end: int | None = None

    def __post_init__(self) -> None:
        for name in ("vocab", "context", "layers", "heads", "width"):
            size = getattr(self, name)
            if not isinstance(size, int) or isinstance(size, bool) or size < 1:
                raise ArgumentError(f"GPTConfig: {name} must be an integer of at least 1, got {size!r}")
        if self.width % self.heads:
            raise ArgumentError(f"GPTConfig: heads={self.heads} must divide width={self.width}")
        check_rate(self.dropout)
        if self.end is not None and (type(self.end) is not int or not 0 <= self.end < self.vocab):
            raise ArgumentError(f"GPTConfig: end must be None or an id from 0 to {self.vocab - 1}, got {self.end!r}")

    @property
    def parameters(self) -> int:
        """How many numbers the model learns: vc + tc + layers (12 c^2 + 13 c) + 2 c."""
        c = self.width
        return (self.vocab + self.context) * c + self.layers * (12 * c * c + 13 * c) + 2 * c

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Name and shape of each parameter, in canonical order and one at a time: nothing is allocated."""
        c = self.width
        block = (
            ("ln_1.weight", (c,)),
            ("ln_1.bias", (c,)),
            ("attn.c_attn.weight", (c, 3 * c)),
            ("attn.c_attn.bias", (3 * c,)),
            ("attn.c_proj.weight", (c, c)),
            ("attn.c_proj.bias", (c,)),
            ("ln_2.weight", (c,)),
            ("ln_2.bias", (c,)),
            ("mlp.c_fc.weight", (c, 4 * c)),
            ("mlp.c_fc.bias", (4 * c,)),
            ("mlp.c_proj.weight", (4 * c, c)),
            ("mlp.c_proj.bias", (c,)),
        )
        yield from (("wte.weight", (self.vocab, c)), ("wpe.weight", (self.context, c)))
        for layer in range(self.layers):
            yield from ((f"h.{layer}.{name}", shape) for name, shape in block)
        yield from (("ln_f.weight", (c,)), ("ln_f.bias", (c,)))


class Attention(Module):
    """Causal self-attention between two projections."""

    def __init__(self, name: str, config: GPTConfig, options: dict):
        c = config.width
        self.heads = config.heads
        self.c_attn = Linear(c, 3 * c, name=f"{name}.c_attn", std=STD, **options)
        self.c_proj = Linear(c, c, name=f"{name}.c_proj", std=_residual_std(config), **options)

    def forward(self, x: Tensor, drop: Sites) -> Tensor:
        """Map ``x[b, t, c]`` to ``[b, t, c]``; drops attention weights."""
        qkv, seed = self.c_attn(x), drop.next_seed()
        time = x.shape[1]
        mixed = attention(qkv, self.heads, drop.p, seed, drop.first * self.heads * time * time)
        return self.c_proj(mixed)


class MLP(Module):
    """Two layers with four times the width between them."""

    def __init__(self, name: str, config: GPTConfig, options: dict):
        c = config.width
        self.c_fc = Linear(c, 4 * c, name=f"{name}.c_fc", std=STD, **options)
        self.c_proj = Linear(4 * c, c, name=f"{name}.c_proj", std=_residual_std(config), **options)

    def hidden(self, x: Tensor) -> Tensor:
        """What is between the two layers, ``[b, t, 4 c]`` of ``x[b, t, c]``."""
        return gelu(self.c_fc(x))

    def forward(self, x: Tensor) -> Tensor:
        """Map ``x[b, t, c]`` to ``[b, t, c]``."""
        return self.c_proj(self.hidden(x))


class Block(Module):
    """One layer: attention, then the MLP, each on the normalised stream and added to it."""

    def __init__(self, name: str, config: GPTConfig, options: dict):
        places = {key: options[key] for key in ("dtype", "backend")}
        self.ln_1 = LayerNorm(config.width, name=f"{name}.ln_1", **places)
        self.attn = Attention(f"{name}.attn", config, options)
        self.ln_2 = LayerNorm(config.width, name=f"{name}.ln_2", **places)
        self.mlp = MLP(f"{name}.mlp", config, options)

    def forward(self, x: Tensor, drop: Sites) -> Tensor:
        """Map ``x[b, t, c]`` to ``[b, t, c]``; drops both results before they are added."""
        x = x + drop(self.attn(self.ln_1(x), drop))
        return x + drop(self.mlp(self.ln_2(x)))


class GPT(Module):
    r"""A GPT-2 language model.

    Parameters
    ----------
    config : GPTConfig
        The sizes.
    seed : int
        Of the initial values: weights from :math:`N(0, 0.02^2)`, those of attn.c_proj and mlp.c_proj from
        :math:`N(0, 0.02^2 / 2L)`, each from the stream of (seed, full name); biases 0, norms 1.
    dtype, backend : optional
        Of the parameters.

    Attributes
    ----------
    dropout_seed : int
        Of this step's masks; a training loop sets it before every step. Site s uses
        ``random.site_seed(dropout_seed, s)``: site 1 is the sum of the embeddings, then for each layer the
        attention weights, the result of attention and that of the MLP. In eval mode nothing is dropped.
    dropout_first : int
        How many samples of the same step came before, where a step's batch is passed in parts.
    recompute_blocks : bool
        Keep of each block only its input, and compute the block again in backward: less memory, the time of one more
        forward pass, the same bits. At first False; it may be set before any step.

    References
    ----------
    Radford et al., "Language models are unsupervised multitask learners", 2019.
    """

    def __init__(self, config: GPTConfig, seed: int = 1337, *, dtype: Any = None, backend: str | None = None):
        options = {"seed": seed, "dtype": dtype, "backend": backend}
        self.config = config
        self.dropout_seed = 0
        self.dropout_first = 0
        self.recompute_blocks = False
        self.wte = Embedding(config.vocab, config.width, name="wte", std=STD, **options)
        self.wpe = Embedding(config.context, config.width, name="wpe", std=STD, **options)
        self.h = ModuleList(Block(f"h.{i}", config, options) for i in range(config.layers))
        self.ln_f = LayerNorm(config.width, name="ln_f", dtype=dtype, backend=backend)

    @staticmethod
    def from_pretrained(
        folder: StrPath, *, dropout: float | None = None, dtype: Any = None, backend: str | None = None
    ) -> GPT:
        """Read a GPT-2 from the files that the Hugging Face hub has of it; nothing is downloaded.

        Parameters
        ----------
        folder : str or path
            With `config.json`, and `model.safetensors` or the shards that `model.safetensors.index.json` lists. Their
            tensors may be float16, bfloat16, float32 or float64.
        dropout : float, optional
            The rate at every site, instead of the one in `config.json`.
        dtype, backend : optional
            Of the parameters, to which stored values are rounded; by default float32, and what creations use.

        Returns
        -------
        GPT
            In eval mode.

        Raises
        ------
        CheckpointError
            There is no such folder or file, one is damaged, `config.json` describes a model that this is not, names,
            shapes or dtypes of the tensors are not those of the model (all are listed), or a value is NaN or infinite.
            Nothing was allocated that the files do not hold.
        ArgumentError
            `folder` is no name, `dropout` no rate, `dtype` no float, or a step is being recorded.

        References
        ----------
        Wolf et al., "Transformers: state-of-the-art natural language processing", 2020.
        """
        from .pretrained.loading import load

        return load(folder, dropout, dtype, backend)

    def save_pretrained(self, folder: StrPath) -> None:
        """Write `config.json` and `model.safetensors`, which `from_pretrained` and the transformers library read.

        Parameters
        ----------
        folder : str or path
            Made where it is missing. Each of the two files is replaced whole or not at all, the config last.

        Raises
        ------
        CheckpointError
            A value is NaN or infinite, or a file cannot be written; what was there before is as it was, but for a
            first file that is new.
        ArgumentError
            `folder` is no name.
        """
        from .pretrained.saving import save

        save(self, folder)

    def save_quantized(self, folder: StrPath, group: int = 64) -> None:
        """Write the model with its matrices in 4 bits a number; `from_pretrained` reads it, other libraries do not.

        docs/quantisation.md has the format. Norms and biases are written as they are.

        Parameters
        ----------
        folder : str or path
            See `save_pretrained`.
        group : int
            How many numbers share their ends, see `forgenb.storage.quantized.groups.quantize`: fewer are nearer to
            the model, and take more room.

        Raises
        ------
        CheckpointError
            See `save_pretrained`; or a number of a matrix is too large for float32.
        ArgumentError
            `folder` is no name, or `group` no size.
        """
        from .pretrained.saving import save

        check_group(group)
        save(self, folder, group)

    def hidden(self, ids: Any) -> Tensor:
        """The normalised stream after the last block, ``[b, t, c]``, for int64 ``ids[b, t]``."""
        ids = ids if isinstance(ids, Tensor) else as_array("GPT", ids)
        shape = tuple(ids.shape)
        if len(shape) != 2 or not 1 <= shape[1] <= self.config.context:
            raise ArgumentError(f"GPT needs ids of shape [b, t] with t in 1 .. {self.config.context}, got {shape}")
        rate = self.config.dropout if frozen("model.training", lambda: self.training) else 0.0
        drop = Sites(rate, late(lambda: self.dropout_seed), late(lambda: self.dropout_first))
        x = drop(embedding(ids, self.wte.weight, self.wpe.weight))
        run = _twice if frozen("model.recompute_blocks", lambda: bool(self.recompute_blocks)) else _once
        for number, block in enumerate(self.h):
            with scope(f"h.{number}"):
                x = run(block, x, drop)
        return self.ln_f(x)

    def head(self, hidden: Tensor) -> Tensor:
        """Logits ``[b, t, v]`` of ``hidden[b, t, c]``, by the rows of the embedding table."""
        return matmul(hidden, self.wte.weight, trans_b=True)

    def forward(self, ids: Any) -> Tensor:
        """Logits ``[b, t, v]`` for int64 ``ids[b, t]``, a tensor or a NumPy array.

        Raises
        ------
        ArgumentError
            If `ids` has not two axes, or is longer than the context.
        IndexRangeError
            If an id is outside the vocabulary.
        """
        return self.head(self.hidden(ids))

    def loss(self, ids: Any, targets: Any) -> Tensor:
        """Mean cross entropy, in nats, of ``targets[b, t]`` under the logits for ``ids[b, t]``."""
        return cross_entropy(self(ids), targets)


def _once(block: Module, x: Tensor, drop: Sites) -> Tensor:
    return block(x, drop)


def _twice(block: Module, x: Tensor, drop: Sites) -> Tensor:
    """A block whose inner values backward computes again, with the masks of the same sites."""
    before = drop.site

    def run(x: Tensor) -> Tensor:
        drop.site = before
        return block(x, drop)

    return recomputed(run, x, block.parameters())


def _residual_std(config: GPTConfig) -> float:
    return STD / (2 * config.layers) ** 0.5
