"""Write gpt2_gradients.npz: the loss of a tiny GPT-2 and every gradient, by the transformers library in float64.

Run with PyTorch 2, transformers 5 and NumPy installed: ``python tests/golden/make_gradients_golden.py``. The model has
2 layers, 2 heads, width 16, context 16 and 31 ids, and reads 8 tokens; parameters and ids come from NumPy's Philox.

Arrays of the file: ``ids`` and ``targets`` (1, 8), ``loss`` (float64), and for each parameter NAME as forgenb calls it
``param/NAME`` (float32, of which float64 has the same values) and ``grad/NAME`` (float64).
"""

from pathlib import Path

import numpy as np
import torch
from make_gpt2_golden import tiny

SIZES = {"vocab_size": 31, "n_positions": 16, "n_embd": 16, "n_layer": 2, "n_head": 2}
TOKENS = 8


def main():
    model, ids = tiny(SIZES)
    text = torch.tensor(ids[:1, : TOKENS + 1])
    values = {name.removeprefix("transformer."): p.detach().numpy().copy() for name, p in model.named_parameters()}
    logits = model.double()(text[:, :-1]).logits
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, SIZES["vocab_size"]), text[0, 1:])
    loss.backward()
    grads = {name.removeprefix("transformer."): p.grad.numpy() for name, p in model.named_parameters()}
    arrays = {"ids": text[:, :-1].numpy(), "targets": text[:, 1:].numpy(), "loss": loss.item()}
    arrays |= {f"param/{name}": value for name, value in values.items()}
    arrays |= {f"grad/{name}": value for name, value in grads.items()}
    path = Path(__file__).with_name("gpt2_gradients.npz")
    np.savez_compressed(path, **arrays)
    print(path.name, path.stat().st_size, "bytes;", len(values), "tensors; loss", loss.item())


if __name__ == "__main__":
    main()
