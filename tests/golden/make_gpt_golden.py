"""Write gpt_step.npz: one training step of a small GPT, and three AdamW steps, computed by PyTorch.

Run with PyTorch 2 and NumPy installed: ``python tests/golden/make_gpt_golden.py``. Parameters and ids come
from NumPy's Philox, so the file does not depend on PyTorch's random numbers.

The model is pre-LN, with learned positions, tanh GELU, causal attention scaled by 1/sqrt(width / heads), and
its head tied to the token table. Linear weights are stored [in, out]; the columns of c_attn are q, k, v, each
head by head. The bias of k has no effect on the output, so its gradient is zero but for rounding.

Arrays of the file, for each parameter NAME:

- ``param/NAME`` (float64); ``grad64/NAME`` and ``grad32/NAME``, gradients computed in either dtype;
  ``adamw/NAME`` (float64), the parameter after three steps on the same batch
- ``ids``, ``targets`` (batch, context); ``logits64`` (batch, context, vocab); ``loss64``, ``loss32`` (mean)
- ``adamw_losses``, ``adamw_norms`` (before each step; the norm is that before clipping), ``config`` (JSON)

AdamW: decay on parameters of two axes only, gradients times clip/norm where norm > clip (no epsilon).
"""

import json
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

CONFIG = {"layers": 2, "heads": 2, "width": 16, "context": 8, "vocab": 13, "batch": 3, "eps": 1e-5}
ADAMW = {"lr": 1e-2, "betas": (0.9, 0.99), "eps": 1e-8, "decay": 0.1, "clip": 1.0, "steps": 3}
LAYERS, HEADS, C, T, V, B = (CONFIG[key] for key in ("layers", "heads", "width", "context", "vocab", "batch"))


def shapes():
    """Name to shape, in the order of the model."""
    out = {"wte.weight": (V, C), "wpe.weight": (T, C)}
    for i in range(LAYERS):
        for norm in ("ln_1", "ln_2"):
            out |= {f"h.{i}.{norm}.weight": (C,), f"h.{i}.{norm}.bias": (C,)}
        linears = {
            "attn.c_attn": (C, 3 * C),
            "attn.c_proj": (C, C),
            "mlp.c_fc": (C, 4 * C),
            "mlp.c_proj": (4 * C, C),
        }
        for name, shape in linears.items():
            out |= {f"h.{i}.{name}.weight": shape, f"h.{i}.{name}.bias": shape[1:]}
    return out | {"ln_f.weight": (C,), "ln_f.bias": (C,)}


def draw():
    """Parameters far enough from zero that every term of every rule matters, and a batch of ids."""
    source = np.random.Generator(np.random.Philox(key=20240229))
    params = {}
    for name, shape in shapes().items():
        scale = 0.3 if len(shape) == 2 else 0.2
        params[name] = scale * source.standard_normal(shape) + ("ln_" in name and name.endswith("weight"))
    ids, targets = source.integers(0, V, (2, B, T))
    return params, ids, targets


def forward(p, ids):
    """Logits ``(batch, context, vocab)``."""

    def linear(x, name):
        return x @ p[f"{name}.weight"] + p[f"{name}.bias"]

    def norm(x, name):
        return F.layer_norm(x, (C,), p[f"{name}.weight"], p[f"{name}.bias"], CONFIG["eps"])

    x = p["wte.weight"][ids] + p["wpe.weight"]
    for i in range(LAYERS):
        qkv = linear(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").split(C, dim=-1)
        q, k, v = (part.view(B, T, HEADS, C // HEADS).transpose(1, 2) for part in qkv)
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + linear(heads.transpose(1, 2).reshape(B, T, C), f"h.{i}.attn.c_proj")
        hidden = F.gelu(linear(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc"), approximate="tanh")
        x = x + linear(hidden, f"h.{i}.mlp.c_proj")
    return norm(x, "ln_f") @ p["wte.weight"].T


def loss_of(p, ids, targets):
    return F.cross_entropy(forward(p, ids).reshape(-1, V), targets.reshape(-1))


def leaves(params, dtype):
    return {name: torch.tensor(value, dtype=dtype, requires_grad=True) for name, value in params.items()}


def one_step(params, ids, targets, dtype):
    """Loss, logits and gradients."""
    p = leaves(params, dtype)
    loss = loss_of(p, ids, targets)
    loss.backward()
    return loss.item(), forward(p, ids).detach().numpy(), {name: t.grad.numpy() for name, t in p.items()}


def adamw_steps(params, ids, targets):
    """Losses, gradient norms, and the parameters at the end."""
    p = leaves(params, torch.float64)
    groups = [
        {"params": [t for t in p.values() if t.dim() == 2], "weight_decay": ADAMW["decay"]},
        {"params": [t for t in p.values() if t.dim() != 2], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=ADAMW["lr"], betas=ADAMW["betas"], eps=ADAMW["eps"])
    losses, norms = [], []
    for _ in range(ADAMW["steps"]):
        optimiser.zero_grad()
        loss = loss_of(p, ids, targets)
        loss.backward()
        norm = torch.sqrt(sum((t.grad**2).sum() for t in p.values()))
        if norm > ADAMW["clip"]:
            for t in p.values():
                t.grad *= ADAMW["clip"] / norm
        optimiser.step()
        losses.append(loss.item())
        norms.append(norm.item())
    return losses, norms, {name: t.detach().numpy() for name, t in p.items()}


def main():
    params, ids, targets = draw()
    batch = torch.tensor(ids), torch.tensor(targets)
    loss64, logits, grad64 = one_step(params, *batch, torch.float64)
    loss32, _, grad32 = one_step(params, *batch, torch.float32)
    losses, norms, after = adamw_steps(params, *batch)
    arrays = {
        "ids": ids,
        "targets": targets,
        "logits64": logits,
        "loss64": loss64,
        "loss32": np.float32(loss32),
    }
    arrays |= {"adamw_losses": losses, "adamw_norms": norms, "config": json.dumps({**CONFIG, "adamw": ADAMW})}
    for kind, values in {"param": params, "grad64": grad64, "grad32": grad32, "adamw": after}.items():
        arrays |= {f"{kind}/{name}": value for name, value in values.items()}
    path = Path(__file__).with_name("gpt_step.npz")
    np.savez_compressed(path, **arrays)
    print(path.name, path.stat().st_size, "bytes; loss", loss64, "then", losses[1:], "norms", norms)


if __name__ == "__main__":
    main()
