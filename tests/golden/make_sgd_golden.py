"""Write sgd.npz: steps of gradient descent by ``torch.optim.SGD``, for given gradients.

Run with PyTorch 2 and NumPy installed: ``PYTHONPATH=tests python tests/golden/make_sgd_golden.py``. Dampening is 0, as
by default.

Arrays of the file: ``start`` (3,) and ``grads`` (steps, 3), numbers that float32 holds, and for each setting NAME of
tests/support/descent.py ``NAME/float32`` and ``NAME/float64`` (steps, 3), the parameter after each step.
"""

from pathlib import Path

import numpy as np
import torch
from support.descent import RATE, SETTINGS


def iterates(start, grads, settings):
    """The parameter after each step."""
    p = torch.nn.Parameter(torch.tensor(start))
    optimizer = torch.optim.SGD([p], RATE, **settings)
    found = []
    for grad in grads:
        p.grad = torch.tensor(grad)
        optimizer.step()
        found.append(p.detach().numpy().copy())
    return np.stack(found)


def main():
    source = np.random.Generator(np.random.Philox(key=20240601))
    arrays = {"start": source.normal(size=3).astype("float32"), "grads": source.normal(size=(6, 3)).astype("float32")}
    start, grads = arrays.values()
    for name, settings in SETTINGS.items():
        for dtype in ("float32", "float64"):
            arrays[f"{name}/{dtype}"] = iterates(start.astype(dtype), grads.astype(dtype), settings)
    path = Path(__file__).with_name("sgd.npz")
    np.savez_compressed(path, **arrays)
    print(path.name, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
