"""forgenb itself: op by op, and a whole step as one routine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import forgenb as fnb
from forgenb import models, optim
from forgenb.ops.activations import relu, tanh
from forgenb.ops.binary_loss import bce_with_logits
from forgenb.ops.cross_entropy import cross_entropy
from forgenb.ops.matmul import matmul
from forgenb.ops.reduction import mean
from forgenb.routine import Compiled, compile

from .specs import MLP, Spec, Step, Transformer, Unsupported

PACKAGES = ("forgenb", "numba", "numpy", "scipy")


def build(contender: str, spec: Spec, arrays: dict[str, np.ndarray], threads: int) -> Step:
    """A workload's step; `threads` was given to the process in ``FORGENB_THREADS``."""
    routine = contender == "forgenb-routine"
    if isinstance(spec, MLP):
        return _mlp(spec, arrays, routine)
    if isinstance(spec, Transformer):
        return _transformer(spec, arrays, routine)
    if routine:
        raise Unsupported("the chain measures what one op costs by itself")
    return _chain(spec.repeats, arrays)


def _update(loss: Callable, optimizer: optim.Optimizer) -> Callable:
    """Forward, backward and the optimiser's step."""

    def step(*batch):
        optimizer.zero_grad()
        value = loss(*batch)
        value.backward()
        optimizer.step()
        return value

    return step


def _mlp(spec: MLP, arrays: dict[str, np.ndarray], routine: bool) -> Step:
    layers = len(spec.sizes) - 1
    parameters = [
        (f"{i}.{part}", fnb.Parameter(fnb.tensor(arrays[f"{i}.{part}"])))
        for i in range(layers)
        for part in ("weight", "bias")
    ]
    weights, biases = [p for _, p in parameters[::2]], [p for _, p in parameters[1::2]]
    optimizer = optim.SGD(parameters, lr=spec.lr, momentum=spec.momentum)
    activation = {"tanh": tanh, "relu": relu}[spec.activation]
    distance = bce_with_logits if spec.binary else cross_entropy

    def loss(x, y):
        for w, b in zip(weights[:-1], biases[:-1]):
            x = activation(matmul(x, w, b))
        return distance(matmul(x, weights[-1], biases[-1]), y)

    x, y = (np.split(arrays[name], spec.batches) for name in ("x", "y"))
    return _cycled(_update(loss, optimizer), list(zip(x, y)), routine)


def _cycled(step: Callable, batches: list[tuple[np.ndarray, ...]], routine: bool) -> Step:
    """`step` on one batch after the other; where there is one only, it stays in its place in a routine, too."""
    tensors = [tuple(fnb.tensor(array) for array in batch) for batch in batches]
    if len(tensors) == 1:
        (batch,) = tensors
        run = lambda: step(*batch)  # noqa: E731
        return _compiled(compile(run)) if routine else Step(run)
    done = iter(range(2**62))
    whole = compile(step) if routine else step
    run = lambda: whole(*tensors[next(done) % len(tensors)])  # noqa: E731
    return _compiled(whole, run) if isinstance(whole, Compiled) else Step(run)


def _compiled(step: Compiled, run: Callable | None = None) -> Step:
    """A step whose routine tells how much it has to do, once it has run."""
    return Step(run or step, work=lambda: step.routine.work() if step.routine is not None else {})


def gpt(spec: Transformer, arrays: dict[str, np.ndarray]) -> tuple[models.GPT, optim.AdamW]:
    """The model with its values, and its optimiser."""
    model = models.GPT(models.GPTConfig(spec.vocab, spec.context, spec.layers, spec.heads, spec.width))
    model.load_state_dict({name: value for name, value in arrays.items() if name not in ("x", "y")})
    for parameter in model.parameters():
        parameter.decay = True
    named = model.named_parameters()
    return model, optim.AdamW(named, lr=spec.lr, betas=spec.betas, eps=spec.eps, weight_decay=spec.decay)


def _transformer(spec: Transformer, arrays: dict[str, np.ndarray], routine: bool) -> Step:
    model, optimizer = gpt(spec, arrays)
    batch: Any = (arrays["x"], arrays["y"])
    if not spec.training:
        model.eval()

        def forward(ids, targets):
            with fnb.no_grad():
                return model.loss(ids, targets)

        return _cycled(forward, [batch], routine)
    return _cycled(_update(model.loss, optimizer), [batch], routine)


def _chain(repeats: int, arrays: dict[str, np.ndarray]) -> Step:
    x = fnb.tensor(arrays["x"])
    w, b = (fnb.tensor(arrays[name], requires_grad=True) for name in ("weight", "bias"))

    def run():
        w.grad = b.grad = None
        h = x
        for _ in range(repeats):
            h = tanh(h * w + b) - x
        loss = mean(h)
        loss.backward()
        return loss

    return Step(run, lambda: float(np.sum(w.grad.numpy(), dtype=np.float64)) if w.grad is not None else 0.0)
