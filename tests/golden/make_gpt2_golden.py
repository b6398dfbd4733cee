"""Write gpt2/: a tiny GPT-2 as the transformers library saves it, and what that library computes with it.

Run with PyTorch 2, transformers 5 and NumPy installed: ``python tests/golden/make_gpt2_golden.py``. Parameters and
ids come from NumPy's Philox, so the files do not depend on PyTorch's random numbers.

The folder has:

- ``config.json`` and ``model.safetensors``, untouched (float32, names with ``transformer.`` before them)
- ``expected.npz``: ``ids`` (batch, time); ``logits64`` and ``logits32`` (batch, time, vocab), the same parameters
  computed in either dtype; ``prompt``, and ``greedy``, the prompt with 64 ids that the library chose greedily
"""

from pathlib import Path

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

SIZES = {"vocab_size": 61, "n_positions": 80, "n_embd": 24, "n_layer": 2, "n_head": 3}
ADDED = 64


def tiny(sizes=SIZES):
    """A model whose every parameter matters, positions most, so that what it chooses does not repeat itself."""
    config = GPT2Config(**sizes, bos_token_id=None, eos_token_id=None, attn_implementation="eager")
    model = GPT2LMHeadModel(config).eval()
    source = np.random.Generator(np.random.Philox(key=20190214))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            norm = ".ln_" in name and name.endswith("weight")
            scale = 1.0 if ".wpe." in name else 0.3 if parameter.dim() == 2 else 0.2
            values = norm + scale * source.standard_normal(tuple(parameter.shape))
            parameter.copy_(torch.tensor(values, dtype=torch.float32))
    ids = source.integers(0, sizes["vocab_size"], (2, 24))
    return model, ids


def main():
    folder = Path(__file__).with_name("gpt2")
    model, ids = tiny()
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    prompt = torch.tensor(ids[:1, :8])
    with torch.no_grad():
        greedy = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=ADDED, do_sample=False)
        logits32 = model(torch.tensor(ids)).logits.numpy()
        logits64 = model.double()(torch.tensor(ids)).logits.numpy()
    arrays = {"ids": ids, "logits64": logits64, "logits32": logits32, "prompt": ids[0, :8], "greedy": greedy[0].numpy()}
    np.savez_compressed(folder / "expected.npz", **arrays)
    print(sum(path.stat().st_size for path in folder.iterdir()), "bytes;", greedy[0].tolist())
    print("float32 from float64:", np.abs(logits32 - logits64).max() / np.abs(logits64).max())


if __name__ == "__main__":
    main()
