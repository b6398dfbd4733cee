"""PyTorch, as its users would write these steps: fused and foreach optimisers, its own attention; eager or compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
import torch.nn.functional as F

from .specs import MLP, Spec, Step, Transformer, Unsupported

PACKAGES = ("torch", "numpy")


def build(contender: str, spec: Spec, arrays: dict[str, np.ndarray], threads: int) -> Step:
    """A workload's step."""
    torch.set_num_threads(threads)
    wrap = torch.compile if contender == "torch-compile" else lambda f: f
    if contender == "torch-compile":
        torch._dynamo.reset()
    if isinstance(spec, MLP):
        return _mlp(spec, arrays, wrap)
    if isinstance(spec, Transformer):
        return _transformer(spec, arrays, wrap)
    if contender == "torch-compile":
        raise Unsupported("the chain measures what one op costs by itself")
    return _chain(spec.repeats, arrays)


def _update(loss: Callable, optimizer: torch.optim.Optimizer) -> Callable:
    def step(*batch):
        optimizer.zero_grad(set_to_none=True)
        value = loss(*batch)
        value.backward()
        optimizer.step()
        return value.detach()

    return step


def _mlp(spec: MLP, arrays: dict[str, np.ndarray], wrap: Callable) -> Step:
    count = len(spec.sizes) - 1
    names = [f"{i}.{part}" for i in range(count) for part in ("weight", "bias")]
    p = [torch.tensor(arrays[name], requires_grad=True) for name in names]
    optimizer = torch.optim.SGD(p, lr=spec.lr, momentum=spec.momentum, foreach=True)
    activation = getattr(torch, spec.activation)
    distance = F.binary_cross_entropy_with_logits if spec.binary else F.cross_entropy

    def loss(x, y):
        for i in range(0, 2 * count - 2, 2):
            x = activation(x @ p[i] + p[i + 1])
        return distance(x @ p[-2] + p[-1], y)

    x, y = (torch.tensor(arrays[name]).split(spec.batch) for name in ("x", "y"))
    step = _update(wrap(loss), optimizer)
    done = iter(range(2**62))

    def run():
        i = next(done) % spec.batches
        return step(x[i], y[i])

    return Step(run)


class Block(torch.nn.Module):
    """One layer of the transformer."""

    def __init__(self, spec: Transformer):
        super().__init__()
        c, self.heads = spec.width, spec.heads
        self.ln_1, self.ln_2 = torch.nn.LayerNorm(c), torch.nn.LayerNorm(c)
        self.attn = torch.nn.ModuleDict({"c_attn": torch.nn.Linear(c, 3 * c), "c_proj": torch.nn.Linear(c, c)})
        self.mlp = torch.nn.ModuleDict({"c_fc": torch.nn.Linear(c, 4 * c), "c_proj": torch.nn.Linear(4 * c, c)})

    def forward(self, x):
        """Map ``[b, t, c]`` to ``[b, t, c]``."""
        b, t, c = x.shape
        parts = self.attn["c_attn"](self.ln_1(x)).split(c, 2)
        q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c)
        x = x + self.attn["c_proj"](mixed)
        return x + self.mlp["c_proj"](F.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate="tanh"))


class GPT(torch.nn.Module):
    """A GPT-2 whose head is the embedding table."""

    def __init__(self, spec: Transformer):
        super().__init__()
        self.wte = torch.nn.Embedding(spec.vocab, spec.width)
        self.wpe = torch.nn.Embedding(spec.context, spec.width)
        self.h = torch.nn.ModuleList(Block(spec) for _ in range(spec.layers))
        self.ln_f = torch.nn.LayerNorm(spec.width)

    def forward(self, ids, targets):
        """Mean cross entropy."""
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.h:
            x = block(x)
        logits = self.ln_f(x) @ self.wte.weight.T
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


@torch.no_grad()
def fill(model: GPT, values: Mapping[str, torch.Tensor]) -> None:
    """Write values into the parameters of their names; weights are ``[in, out]``."""
    for name, parameter in model.named_parameters():
        linear = name.endswith((".c_attn.weight", ".c_proj.weight", ".c_fc.weight"))  # kept as [out, in]
        parameter.copy_(values[name].T if linear else values[name])


def _transformer(spec: Transformer, arrays: dict[str, np.ndarray], wrap: Callable) -> Step:
    model = GPT(spec)
    fill(model, {name: torch.from_numpy(array) for name, array in arrays.items()})
    ids, targets = torch.tensor(arrays["x"]), torch.tensor(arrays["y"])
    loss = wrap(lambda: model(ids, targets))
    if not spec.training:

        def forward():
            with torch.no_grad():
                return loss()

        return Step(forward)
    optimizer = torch.optim.AdamW(
        model.parameters(), spec.lr, betas=spec.betas, eps=spec.eps, weight_decay=spec.decay, fused=True
    )
    return Step(_update(loss, optimizer))


def _chain(repeats: int, arrays: dict[str, np.ndarray]) -> Step:
    x = torch.tensor(arrays["x"])
    w, b = (torch.tensor(arrays[name], requires_grad=True) for name in ("weight", "bias"))

    def run():
        w.grad = b.grad = None
        h = x
        for _ in range(repeats):
            h = torch.tanh(h * w + b) - x
        loss = h.mean()
        loss.backward()
        return loss.detach()

    return Step(run, lambda: w.grad.double().sum().item())
