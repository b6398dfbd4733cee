"""Models that may sit in one council, and the council's answer in plain NumPy."""

import numpy as np
from support import plain_gpt

from forgenb.models import GPT, GPTConfig

CONFIG = GPTConfig(vocab=7, context=6, layers=1, heads=2, width=8)


def expert(seed, dtype="float32", **changes):
    """A model with the embeddings of seed 1, and all else of its own."""
    config = GPTConfig(**{**vars(CONFIG), **changes})
    made, shared = (GPT(config, seed=s, dtype=dtype).state_dict() for s in (seed, 1))
    model = GPT(config, seed=seed, dtype=dtype)
    tables = {name: shared[name] for name in ("wte.weight", "wpe.weight")}
    model.load_state_dict({name: value * 6 for name, value in {**made, **tables}.items()})
    return model.eval()


def plain(experts, beta, ids):
    """Weights and entropies ``[t, n]``, and log-probabilities ``[t, v]`` of the council."""
    streams = np.array([plain_gpt.hidden(model, ids) for model in experts])
    logs = np.array([plain_gpt.logs(model, ids) for model in experts])
    entropies = -(np.exp(logs) * logs).sum(-1)
    weights = np.exp(plain_gpt.log_softmax(-beta * entropies.T))
    merged = np.einsum("tn,ntc->tc", weights, streams)
    table = experts[0].state_dict()["wte.weight"].astype(np.float64)
    return weights, entropies.T, plain_gpt.log_softmax(merged @ table.T)
