"""A GPT-2 in plain NumPy and float64, written without a look at the library's ops."""

import numpy as np


def hidden(model, ids):
    """The normalised stream after the last block, ``[t, c]``."""
    w = {name: value.astype(np.float64) for name, value in model.state_dict().items()}
    x = w["wte.weight"][ids] + w["wpe.weight"][: len(ids)]
    for layer in range(model.config.layers):
        p = {name.removeprefix(f"h.{layer}."): value for name, value in w.items() if name.startswith(f"h.{layer}.")}
        x = x + _attention(_normal(x, p, "ln_1"), p, model.config.heads)
        x = x + _linear(_gelu(_linear(_normal(x, p, "ln_2"), p, "mlp.c_fc")), p, "mlp.c_proj")
    return _normal(x, w, "ln_f")


def logs(model, ids):
    """Logarithms of the probabilities of what follows each id, ``[t, v]``."""
    return log_softmax(hidden(model, ids) @ model.state_dict()["wte.weight"].astype(np.float64).T)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def _linear(x, p, name):
    return x @ p[f"{name}.weight"] + p[f"{name}.bias"]


def _normal(x, p, name):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * p[f"{name}.weight"] + p[f"{name}.bias"]


def _gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _attention(x, p, heads):
    q, k, v = (part.reshape(len(x), heads, -1).swapaxes(0, 1) for part in np.split(_linear(x, p, "attn.c_attn"), 3, -1))
    scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])
    scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
    return _linear((np.exp(log_softmax(scores)) @ v).swapaxes(0, 1).reshape(len(x), -1), p, "attn.c_proj")
