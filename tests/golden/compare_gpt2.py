"""Compare a random model of the size of GPT-2 (124,439,808 numbers) with the transformers library, both ways, by hand.

``python tests/golden/compare_gpt2.py STAGE FOLDER`` in turn for the stages `make` (with PyTorch and transformers),
`load` (with forgenb) and `check` (with PyTorch and transformers again); each prints what it found. FOLDER takes 1 GB.
"""

import sys
import time
from pathlib import Path

import numpy as np

BOUND = 1e-5
TURNS = 5


def make(folder):
    """A model as transformers makes it, with the norms and biases drawn too, and its logits."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(7)
    model = GPT2LMHeadModel(GPT2Config()).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.copy_(float(name.endswith("weight")) + 0.1 * torch.randn(parameter.shape))
        ids = torch.randint(0, 50257, (1, 64))
        logits = model(ids).logits
    model.save_pretrained(folder / "theirs")
    np.savez(folder / "theirs.npz", ids=ids.numpy(), logits=logits.numpy())
    print(sum(p.numel() for p in model.parameters()), "numbers; largest logit", float(logits.abs().max()))


def load(folder):
    """Logits beside the stored ones, times beside those of reading the file, and the model saved again."""
    import forgenb as fnb
    from forgenb.bench.contenders.reading import ReadingWorker
    from forgenb.models import GPT

    stored = np.load(folder / "theirs.npz")
    path, reader = folder / "theirs" / "model.safetensors", ReadingWorker("read", 1)
    loading, reading = [], []
    for _ in range(1 + TURNS):  # after the first, both write to memory that is there, the reader's at a multiple of 64
        reading.append(reader.run(str(path), anew=False)["ms"] / 1e3)
        loading.append(seconds(lambda: GPT.from_pretrained(folder / "theirs")))
    del loading[0], reading[0]
    print("loading", sorted(loading), "reading", sorted(reading))
    print("medians", np.median(loading) / np.median(reading), "least", min(loading) / min(reading))
    with fnb.peak_memory() as peak:
        model = GPT.from_pretrained(folder / "theirs")
    print("peak of tensors", peak.nbytes)
    found = model(stored["ids"]).numpy()
    error = np.abs(found - stored["logits"]).max() / np.abs(stored["logits"]).max()
    print("logits differ by", error, "of the largest,", "fine" if error < BOUND else "TOO MUCH")
    print("saving", seconds(lambda: model.save_pretrained(folder / "ours")))


def check(folder):
    """What transformers computes with the file that forgenb wrote."""
    import torch
    from transformers import GPT2LMHeadModel

    stored = np.load(folder / "theirs.npz")
    theirs = GPT2LMHeadModel.from_pretrained(folder / "theirs").eval()
    ours, about = GPT2LMHeadModel.from_pretrained(folder / "ours", output_loading_info=True)
    print(about)
    pairs = zip(theirs.state_dict().items(), ours.state_dict().items(), strict=True)
    print("parameters have equal bits:", all(a == b and torch.equal(x, y) for (a, x), (b, y) in pairs))
    with torch.no_grad():
        found = ours.eval()(torch.tensor(stored["ids"])).logits.numpy()
    print("logits differ by", np.abs(found - stored["logits"]).max())


def seconds(function):
    """How long a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


if __name__ == "__main__":
    {"make": make, "load": load, "check": check}[sys.argv[1]](Path(sys.argv[2]))
