"""A run that stops and goes on in another process ends with the bits of one that did not stop."""

import os
import subprocess
import sys

import numpy as np

CODE = """
import sys
import numpy as np
from forgenb.models import GPT, GPTConfig
from forgenb.optim import AdamW, warmup_cosine

def steps(model, optimizer, first, last):
    for step in range(first, last + 1):
        ids = np.random.default_rng(step).integers(0, 5, (1, 4))
        model.dropout_seed = step
        optimizer.zero_grad()
        model.loss(ids[:, :-1], ids[:, 1:]).backward()
        optimizer.lr = warmup_cosine(step, 3, 2, 1e-2)
        optimizer.step(clip_norm=1.0)

def states(model, optimizer):
    return {f"model/{k}": v for k, v in model.state_dict().items()} | {
        f"optimizer/{k}": v for k, v in optimizer.state_dict().items()}

def parts(file, kind):
    return {k.removeprefix(kind): file[k] for k in file if k.startswith(kind)}

model = GPT(GPTConfig(5, 3, 1, 2, 4, dropout=0.1), seed=int(sys.argv[1]))
optimizer = AdamW(model.named_parameters())
first, last, source, target = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
if source != "none":
    with np.load(source) as file:
        model.load_state_dict(parts(file, "model/"))
        optimizer.load_state_dict(parts(file, "optimizer/"))
steps(model, optimizer, first, last)
np.savez(target, **states(model, optimizer))
"""


def run(backend, *arguments):
    environment = os.environ | {
        "PYTHONWARNINGS": "error",
        "FORGENB_BACKEND": backend,
        "FORGENB_CUDA_SIMULATOR": "lanes",
    }
    result = subprocess.run(
        [sys.executable, "-c", CODE, *map(str, arguments)], capture_output=True, text=True, env=environment
    )
    assert result.returncode == 0, result.stderr
    return np.load(arguments[-1])


def test_a_resumed_run_has_the_same_bits_in_another_process(tmp_path, each_backend):
    """P63."""
    straight = run(each_backend, 1, 1, 3, "none", tmp_path / "straight.npz")
    run(each_backend, 1, 1, 2, "none", tmp_path / "half.npz")
    resumed = run(each_backend, 2, 3, 3, tmp_path / "half.npz", tmp_path / "resumed.npz")
    assert set(resumed) == set(straight)
    assert int(resumed["optimizer/step"]) == 3
    for name in straight:
        assert resumed[name].tobytes() == straight[name].tobytes(), name
