"""Every setting of every layer has an effect: on its parameters, on its state, or on what it computes."""

import inspect

import numpy as np
import pytest

import forgenb as fnb
from forgenb import nn

LINE = np.array([[-2.0, -0.5, 0.25, 3.0], [0.5, 1.0, -1.5, 2.0]])
PLANES = np.linspace(-1, 2, 2 * 4 * 6 * 6).reshape(2, 4, 6, 6)
STEPS = np.sin(np.arange(24.0)).reshape(2, 3, 4)
LABELS = np.array([1, 2])

CALLS = {
    nn.ELU: ({}, LINE), nn.GELU: ({}, LINE), nn.LeakyReLU: ({}, LINE), nn.HuberLoss: ({}, LINE, LINE[::-1]),
    nn.GRU: ({"n_in": 4, "n": 4, "layers": 2}, STEPS), nn.LSTM: ({"n_in": 4, "n": 4, "layers": 2}, STEPS),
    nn.RNN: ({"n_in": 4, "n": 4, "layers": 2}, STEPS),
    nn.AvgPool2d: ({"kernel": 3}, PLANES), nn.MaxPool2d: ({"kernel": 3}, PLANES),
    nn.BatchNorm: ({"c": 4}, PLANES), nn.GroupNorm: ({"groups": 2, "c": 4}, PLANES),
    nn.Conv1d: ({"c_in": 4, "c_out": 4, "kernel": 3}, PLANES[:, :, 0]),
    nn.Conv2d: ({"c_in": 4, "c_out": 4, "kernel": 3}, PLANES),
    nn.CrossEntropyLoss: ({}, LINE, LABELS), nn.NLLLoss: ({}, LINE, LABELS),
    nn.Dropout: ({"p": 0.5, "site": 1}, PLANES),
    nn.Embedding: ({"n": 5, "d": 4}, LABELS), nn.Linear: ({"n_in": 4, "n_out": 3}, LINE),
    nn.LayerNorm: ({"n": 4}, LINE), nn.RMSNorm: ({"n": 4}, LINE),
    nn.MultiHeadAttention: ({"width": 4, "heads": 2}, STEPS),
}  # fmt: skip
OTHERS = {
    "alpha": 2.0, "exact": True, "slope": 0.5, "delta": 0.1, "label_smoothing": 0.25, "ignore_index": 1,
    "layers": 1, "bias": False, "dropout": 0.5, "seed": 7, "name": "other", "dtype": "float64", "backend": "python",
    "stride": 2, "padding": 1, "dilation": 2, "groups": 2, "eps": 0.5, "momentum": 0.75, "std": 0.3, "causal": True,
    "rotary": True, "site": 2,
}  # fmt: skip


def optional(kind):
    return [n for n, p in inspect.signature(kind).parameters.items() if p.default is not p.empty]


def everything(kind, changed):
    """Outputs of two passes, in training and not, and all that the layer holds."""
    settings, *arrays = CALLS[kind]
    seeded = {"seed": 1} if "seed" in inspect.signature(kind).parameters else {}
    with fnb.random.seeded(3):
        layer = kind(**{**settings, **seeded, **changed})
    held = [*layer.parameters(), *(t for _, t in layer.named_buffers())]
    dtype, backend = (held[0].dtype, held[0].backend.name) if held else ("float32", None)
    operands = [fnb.tensor(a, dtype if a.dtype.kind == "f" else None, backend=backend) for a in arrays]
    passes = [layer(*operands), layer(*operands)]
    layer.eval()
    results = [r for out in (*passes, layer(*operands)) for r in (out if isinstance(out, tuple) else (out,))]
    results = [r for out in results for r in (out if isinstance(out, tuple) else (out,))]
    return [(t.shape, t.dtype, t.backend.name, getattr(t, "name", None), t.tolist()) for t in (*results, *held)]


PAIRS = [(kind, keyword) for kind in CALLS for keyword in optional(kind)]


@pytest.mark.parametrize(("kind", "keyword"), PAIRS, ids=lambda value: getattr(value, "__name__", value))
def test_a_setting_has_an_effect(kind, keyword):
    usual = everything(kind, {})
    assert usual == everything(kind, {})
    assert usual != everything(kind, {keyword: OTHERS[keyword]})


def test_every_layer_with_settings_is_among_them():
    kinds = [kind for name in nn.__all__ if inspect.isclass(kind := getattr(nn, name))]
    assert {k for k in kinds if optional(k)} - {nn.ModuleList} == {k for k in CALLS if optional(k)}
