"""tinygrad on the CPU, for which it needs clang: the whole step under its JIT, which captures it in the first calls."""

from __future__ import annotations

import os

import numpy as np

os.environ.setdefault("DEV", "CPU")
from tinygrad import Tensor, TinyJit, nn

from .specs import MLP, Spec, Step, Unsupported

PACKAGES = ("tinygrad", "numpy")


def build(contender: str, spec: Spec, arrays: dict[str, np.ndarray], threads: int) -> Step:
    """A workload's step; how many threads there are is its own choice."""
    if not isinstance(spec, MLP):
        raise Unsupported("only fully connected networks are written for it")
    count = len(spec.sizes) - 1
    p = [Tensor(arrays[f"{i}.{part}"]) for i in range(count) for part in ("weight", "bias")]
    optimizer = nn.optim.SGD(p, lr=spec.lr, momentum=spec.momentum)

    @TinyJit
    def step(x, y):
        optimizer.zero_grad()
        for i in range(0, 2 * count - 2, 2):
            x = getattr(x @ p[i] + p[i + 1], spec.activation)()
        z = x @ p[-2] + p[-1]
        loss = z.binary_crossentropy_logits(y) if spec.binary else z.sparse_categorical_crossentropy(y)
        loss.backward()
        return loss.realize(*optimizer.schedule_step())  # before the parameters are new, not after

    x, y = (np.split(arrays[name], spec.batches) for name in ("x", "y"))
    batches = [(Tensor(a).realize(), Tensor(b if spec.binary else b.astype(np.int32)).realize()) for a, b in zip(x, y)]
    done = iter(range(2**62))

    def run():
        with _training():
            return step(*batches[next(done) % spec.batches]).numpy()

    return Step(run)


def _training():
    """Its training mode, under the name it has in this version."""
    if hasattr(Tensor, "train"):
        return Tensor.train()
    from tinygrad.helpers import Context

    return Context(TRAINING=1)
