"""Write hvp.npz: Hessian-vector products of the loss of a small GPT, computed by PyTorch in float64.

Run with PyTorch 2 and NumPy installed: ``python tests/golden/make_hvp_golden.py``. The model, its parameters and the
batch are those of ``make_gpt_golden.py``, whose file holds them.

Arrays of the file, for each parameter NAME: ``vector/NAME`` (eighths between -1 and 1, so that they take little space)
and ``product/NAME`` (float64), the Hessian of the mean loss times all vectors together.
"""

from pathlib import Path

import numpy as np
import torch
from make_gpt_golden import draw, leaves, loss_of
from torch.nn.attention import SDPBackend, sdpa_kernel


def vectors(params):
    """One for each parameter, without zeros."""
    source = np.random.Generator(np.random.Philox(key=20240301))
    return {
        name: source.integers(1, 9, p.shape) * source.choice([-0.125, 0.125], p.shape) for name, p in params.items()
    }


def main():
    params, ids, targets = draw()
    given = vectors(params)
    p = leaves(params, torch.float64)
    with sdpa_kernel(SDPBackend.MATH):  # the others have no second derivative
        loss = loss_of(p, torch.tensor(ids), torch.tensor(targets))
        first = torch.autograd.grad(loss, list(p.values()), create_graph=True)
        along = sum((g * torch.tensor(v)).sum() for g, v in zip(first, given.values(), strict=True))
        found = torch.autograd.grad(along, list(p.values()))
    arrays = {f"vector/{name}": v for name, v in given.items()}
    arrays |= {f"product/{name}": h.numpy() for name, h in zip(p, found, strict=True)}
    path = Path(__file__).with_name("hvp.npz")
    np.savez_compressed(path, **arrays)
    largest = max(np.abs(arrays[f"product/{name}"]).max() for name in params)
    print(path.name, path.stat().st_size, "bytes; loss", loss.item(), "largest product", largest)


if __name__ == "__main__":
    main()
