"""Losses of a tiny GPT on one backend, and what its steps copied: also a script, for a process with a simulator."""

import json
import sys

import forgenb as fnb
from forgenb.random import generator, integers

CONFIG = {"vocab": 11, "context": 4, "layers": 1, "heads": 2, "width": 8}


def losses(backend, steps=3, dropout=0.1):
    """Loss of each step, and the counts of each step."""
    found, counts = [], []
    with fnb.use(backend), fnb.random.seeded(0):
        model = fnb.models.GPT(fnb.models.GPTConfig(**CONFIG, dropout=dropout))
        optimizer = fnb.optim.AdamW(model.named_parameters(), lr=1e-2)
        for step in range(steps):
            ids = integers(generator(1, "batch", step), CONFIG["vocab"], 10).reshape(2, 5)
            before = fnb.stats()
            loss = model.loss(ids[:, :-1], ids[:, 1:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step(clip_norm=1.0)
            found.append(loss.item())
            counts.append(fnb.stats().since(before))
    return found, counts


if __name__ == "__main__":
    print(json.dumps(losses(sys.argv[1])[0]))
