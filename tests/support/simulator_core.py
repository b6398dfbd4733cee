"""A core of the suite, to be run as a script where Numba's CUDA simulator was chosen before Numba is imported."""

import json
import time

import numpy as np
from support.tiny_gpt import losses

import forgenb as fnb
from forgenb.backend import get_backend
from forgenb.ops import TABLE
from forgenb.testing.samples import call, cotangent, expected, samples

OPS = [
    "add",
    "gelu",
    "exp",
    "pow",
    "softmax",
    "layernorm",
    "cross_entropy",
    "matmul",
    "sum",
    "max",
    "embedding",
    "scatter_add",
    "dropout",
    "where",
    "astype",
]


def differences(name):
    """The largest distance from the reference and from the CPU's gradients, relative to the largest element."""
    found = []
    for sample in [s.cast("float32") for s in samples(name) if sum(a.size for a in s.arrays) <= 40][:2]:
        grads = []
        for place in ("cuda", "cpu"):
            tensors = [fnb.tensor(a, backend=place) for a in sample.arrays]
            for p in TABLE[name].differentiable:
                if p < len(tensors) and tensors[p].dtype.kind == "f":
                    tensors[p].requires_grad = True
            with fnb.use(place):
                outputs = call(name, tensors, sample)
                for out in outputs:
                    if out.requires_grad:
                        out.backward(cotangent(out), retain_graph=True)
            grads.append([t.grad.numpy() for t in tensors if t.grad is not None])
            if place == "cuda":
                pairs = list(zip([o.numpy() for o in outputs], expected(name, sample), strict=True))
        for a, b in [*pairs, *zip(*grads, strict=True)]:
            found.append(float(np.max(np.abs(a - b), initial=0) / np.max(np.abs(b), initial=1)))
    return max(found, default=0.0)


if __name__ == "__main__":
    started = time.perf_counter()
    with fnb.use("cuda"):
        sums = [fnb.tensor(np.ones((1, n), np.float32)).sum(1).item() for n in (0, 1, 31, 32, 33)]
    report = {
        "machine": get_backend("cuda").report()["machine"],
        "ops": {name: differences(name) for name in OPS},
        "sums": sums,
        "losses": [losses(place)[0] for place in ("cuda", "cpu")],
        "seconds": time.perf_counter() - started,
    }
    print(json.dumps(report))
