"""Write modules.npz: outputs and gradients of layers that PyTorch has too, computed by PyTorch in float64.

Run with PyTorch 2 and NumPy installed: ``python tests/golden/make_modules_golden.py``. Parameters and inputs come from
NumPy's Philox, so the file does not depend on PyTorch's random numbers.

For each layer LAYER: ``LAYER/x`` (perhaps ``LAYER/x1`` ...) and ``LAYER/param/NAME`` with PyTorch's names and layouts;
``LAYER/out`` (``LAYER/out1`` ...); and for the loss ``sum(out * cos(position))`` over all outputs ``LAYER/grad/NAME``
and ``LAYER/dx``. Batch normalisation also has its buffers after two steps, and its output in evaluation.
"""

from pathlib import Path

import numpy as np
import torch
from torch import nn

SOURCE = np.random.Generator(np.random.Philox(key=20240301))


def draw(*shape):
    return torch.tensor(0.5 * SOURCE.standard_normal(shape), requires_grad=True)


LAYERS = {
    "conv2d": (
        lambda: nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
        [(2, 4, 7, 6)],
    ),
    "conv1d": (lambda: nn.Conv1d(3, 4, 3, stride=2, padding=1), [(2, 3, 9)]),
    "max_pool": (lambda: nn.MaxPool2d(3, 2, 1), [(2, 2, 7, 6)]),
    "avg_pool": (lambda: nn.AvgPool2d((3, 2), (2, 1), (1, 0)), [(2, 2, 7, 6)]),
    "group_norm": (lambda: nn.GroupNorm(2, 6), [(3, 6, 2, 3)]),
    "layer_norm": (lambda: nn.LayerNorm((4, 3)), [(2, 5, 4, 3)]),
    "rms_norm": (lambda: nn.RMSNorm(6, eps=1e-5), [(2, 3, 6)]),
    "rnn": (lambda: nn.RNN(3, 5, 2, batch_first=True), [(2, 4, 3), (2, 2, 5)]),
    "lstm": (lambda: nn.LSTM(3, 5, 2, batch_first=True), [(2, 4, 3), (2, 2, 5), (2, 2, 5)]),
    "gru": (lambda: nn.GRU(3, 5, 2, batch_first=True), [(2, 4, 3), (2, 2, 5)]),
    "attention": (lambda: Attention(8, 2), [(2, 5, 8)]),
    "batch_norm": (lambda: nn.BatchNorm2d(3), [(4, 3, 2, 5)]),
}


class Attention(nn.Module):
    """Causal self-attention by `torch.nn.MultiheadAttention`."""

    def __init__(self, width, heads):
        super().__init__()
        self.inner = nn.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, x):
        mask = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), 1)
        return self.inner(x, x, x, attn_mask=mask)[0]


def call(name, layer, inputs):
    if name == "lstm":
        out, state = layer(inputs[0], tuple(inputs[1:]))
        return [out, *state]
    result = layer(*inputs)
    return list(result) if isinstance(result, tuple) else [result]


def weighted(outputs):
    return sum(
        (out * torch.cos(torch.arange(out.numel(), dtype=out.dtype)).reshape(out.shape)).sum() for out in outputs
    )


def one(name, make, shapes):
    layer, arrays = make().double(), {}
    for label, p in layer.named_parameters():
        p.data = draw(*p.shape).detach() + (1.0 if "norm" in name and label == "weight" else 0.0)
        arrays[f"param/{label}"] = p.detach().numpy().copy()
    inputs = [draw(*shape) for shape in shapes]
    outputs = call(name, layer, inputs)
    weighted(outputs).backward()
    for place, t in enumerate(inputs):
        arrays |= {f"x{place or ''}": t.detach().numpy(), f"dx{place or ''}": t.grad.numpy()}
    arrays |= {f"out{place or ''}": t.detach().numpy() for place, t in enumerate(outputs)}
    arrays |= {f"grad/{label}": p.grad.numpy() for label, p in layer.named_parameters()}
    if name == "batch_norm":
        layer(2 * inputs[0] + 1)
        arrays |= {"running_mean": layer.running_mean.numpy(), "running_var": layer.running_var.numpy()}
        arrays["evaluated"] = layer.eval()(inputs[0]).detach().numpy()
    return {f"{name}/{label}": array for label, array in arrays.items()}


def losses():
    """Losses of classes and of numbers, with the gradient by their first operand."""
    x, targets = draw(5, 4), torch.tensor([3, 0, 1, 0, 2])
    log_probs, other = torch.log_softmax(draw(5, 4), -1), torch.softmax(draw(5, 4), -1)
    y = draw(5, 4)
    found = {
        "smoothed": (x, lambda t: nn.functional.cross_entropy(t, targets, ignore_index=0, label_smoothing=0.2)),
        "nll": (x, lambda t: nn.functional.nll_loss(t, targets, ignore_index=0)),
        "mse": (x, lambda t: nn.functional.mse_loss(t, y)),
        "l1": (x, lambda t: nn.functional.l1_loss(t, y)),
        "huber": (x, lambda t: nn.functional.huber_loss(t, y, delta=0.4)),
        "kl": (log_probs, lambda t: nn.functional.kl_div(t, other, reduction="batchmean")),
    }
    arrays = {"loss/targets": targets.numpy(), "loss/y": y.detach().numpy(), "loss/probs": other.detach().numpy()}
    for name, (t, f) in found.items():
        leaf = t.detach().requires_grad_()
        f(leaf).backward()
        arrays |= {f"loss/{name}/x": leaf.detach().numpy(), f"loss/{name}/out": np.array(f(leaf).item())}
        arrays[f"loss/{name}/dx"] = leaf.grad.numpy()
    return arrays


def main():
    arrays = losses()
    for name, (make, shapes) in LAYERS.items():
        arrays |= one(name, make, shapes)
    path = Path(__file__).with_name("modules.npz")
    np.savez_compressed(path, **arrays)
    print(path.name, path.stat().st_size, "bytes,", len(arrays), "arrays")


if __name__ == "__main__":
    main()
