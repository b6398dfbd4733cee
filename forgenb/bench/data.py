"""Inputs and initial values of the workloads, drawn by NumPy, the same for every contender.

Imports `contenders.specs` and NumPy; scikit-learn only for its digits.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .contenders.specs import MLP, Spec, Transformer

__all__ = ["arrays"]

STD = 0.02


def arrays(workload: str, spec: Spec) -> dict[str, np.ndarray]:
    """Everything that a contender needs to begin, by name.

    Returns
    -------
    dict
        ``x`` and ``y`` are inputs and targets, of all batches one after the other; the other names are those of
        parameters. Weights are ``[in, out]``.

    Raises
    ------
    ImportError
        If the data is scikit-learn's, which is not installed.
    """
    if isinstance(spec, Transformer):
        return _transformer(spec)
    if not isinstance(spec, MLP):
        return _chain(spec.size)
    x, y = _inputs(workload, spec)
    return {"x": x, "y": y, **_mlp_parameters(spec.sizes)}


def moons(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two half circles with noise, and which of them each of the `n` points is on."""
    r = np.random.default_rng(seed)
    angle = r.uniform(0, np.pi, n)
    side = np.arange(n) % 2
    upper = np.stack([np.cos(angle), np.sin(angle)], 1)
    lower = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], 1)
    points = np.where(side[:, None] == 0, upper, lower)
    return (points + r.normal(0, 0.1, points.shape)).astype(np.float32), side


def digits() -> tuple[np.ndarray, np.ndarray]:
    """1,797 images of 8x8, from 0 to 1, and their digits."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise ImportError(f"its images come with scikit-learn, which is not installed ({error})") from None
    found = load_digits()
    return (found.data / 16).astype(np.float32), found.target.astype(np.int64)


def _inputs(workload: str, spec: MLP) -> tuple[np.ndarray, np.ndarray]:
    rows = spec.batch * spec.batches
    if workload == "digits":
        x, y = digits()
        return x[:rows], y[:rows]
    if spec.sizes[0] == 2:
        x, y = moons(rows)
        return x, y.astype(np.float32)[:, None] if spec.binary else y.astype(np.int64)
    r = np.random.default_rng(0)
    x = r.normal(0, 1, (rows, spec.sizes[0])).astype(np.float32)
    return x, r.integers(0, spec.sizes[-1], rows)


def _mlp_parameters(sizes: tuple[int, ...], seed: int = 0) -> dict[str, np.ndarray]:
    r = np.random.default_rng(seed)
    found = {}
    for i, (a, b) in enumerate(pairwise(sizes)):
        found[f"{i}.weight"] = (r.uniform(-1, 1, (a, b)) / np.sqrt(a)).astype(np.float32)
        found[f"{i}.bias"] = np.zeros(b, np.float32)
    return found


def _transformer(spec: Transformer) -> dict[str, np.ndarray]:
    r, c = np.random.default_rng(0), spec.width

    def weight(*shape: int) -> np.ndarray:
        return r.normal(0, STD, shape).astype(np.float32)

    found = {"wte.weight": weight(spec.vocab, c), "wpe.weight": weight(spec.context, c)}
    for i in range(spec.layers):
        for name, shape in (
            ("attn.c_attn", (c, 3 * c)),
            ("attn.c_proj", (c, c)),
            ("mlp.c_fc", (c, 4 * c)),
            ("mlp.c_proj", (4 * c, c)),
        ):
            found[f"h.{i}.{name}.weight"] = weight(*shape)
            found[f"h.{i}.{name}.bias"] = np.zeros(shape[1], np.float32)
        found |= {**_norm(f"h.{i}.ln_1", c), **_norm(f"h.{i}.ln_2", c)}
    shape = (spec.batch, spec.context)
    return {
        **found,
        **_norm("ln_f", c),
        "x": r.integers(0, spec.vocab, shape),
        "y": r.integers(0, spec.vocab, shape),
    }


def _norm(name: str, c: int) -> dict[str, np.ndarray]:
    return {f"{name}.weight": np.ones(c, np.float32), f"{name}.bias": np.zeros(c, np.float32)}


def _chain(size: int) -> dict[str, np.ndarray]:
    r = np.random.default_rng(0)
    return {name: r.uniform(-1, 1, size).astype(np.float32) for name in ("x", "weight", "bias")}
