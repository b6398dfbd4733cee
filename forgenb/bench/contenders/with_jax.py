"""JAX with optax: value, gradient and update in one jitted function."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax

from .specs import MLP, Spec, Step, Transformer, Unsupported

PACKAGES = ("jax", "jaxlib", "optax", "numpy")


def build(contender: str, spec: Spec, arrays: dict[str, np.ndarray], threads: int) -> Step:
    """A workload's step; XLA takes as many threads as the process has cores."""
    jax.config.update("jax_platforms", "cpu")
    parameters = {name: jnp.asarray(value) for name, value in arrays.items() if name not in ("x", "y")}
    if isinstance(spec, MLP):
        batches = list(zip(*(map(jnp.asarray, np.split(arrays[name], spec.batches)) for name in ("x", "y"))))
        return _training(_mlp(spec), parameters, optax.sgd(spec.lr, momentum=spec.momentum or None), batches)
    if not isinstance(spec, Transformer):
        raise Unsupported("the chain measures what one op costs by itself")
    batch = jnp.asarray(arrays["x"]), jnp.asarray(arrays["y"])
    loss = _transformer(spec)
    if spec.training:
        adamw = optax.adamw(spec.lr, *spec.betas, eps=spec.eps, weight_decay=spec.decay)
        return _training(loss, parameters, adamw, [batch])
    forward = jax.jit(loss)
    return Step(lambda: forward(parameters, *batch).block_until_ready())


def _training(loss: Callable, parameters: dict, optimizer, batches: list) -> Step:
    @jax.jit
    def update(p, state, x, y):
        value, gradient = jax.value_and_grad(loss)(p, x, y)
        change, state = optimizer.update(gradient, state, p)
        return optax.apply_updates(p, change), state, value

    now = [parameters, optimizer.init(parameters)]
    done = iter(range(2**62))

    def run():
        *now[:], value = update(*now, *batches[next(done) % len(batches)])
        return value.block_until_ready()

    return Step(run)


def _mlp(spec: MLP) -> Callable:
    activation = {"tanh": jnp.tanh, "relu": jax.nn.relu}[spec.activation]
    last = len(spec.sizes) - 2

    def loss(p, x, y):
        for i in range(last):
            x = activation(x @ p[f"{i}.weight"] + p[f"{i}.bias"])
        z = x @ p[f"{last}.weight"] + p[f"{last}.bias"]
        if spec.binary:
            return optax.sigmoid_binary_cross_entropy(z, y).mean()
        return optax.softmax_cross_entropy_with_integer_labels(z, y).mean()

    return loss


def _transformer(spec: Transformer) -> Callable:
    heads, size = spec.heads, spec.width // spec.heads
    mask = jnp.tril(jnp.ones((spec.context, spec.context), bool))

    def norm(p, name, x):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p[f"{name}.weight"] + p[f"{name}.bias"]

    def linear(p, name, x):
        return x @ p[f"{name}.weight"] + p[f"{name}.bias"]

    def attention(p, name, x):
        b, t, c = x.shape
        parts = jnp.split(linear(p, f"{name}.c_attn", x), 3, -1)
        q, k, v = (part.reshape(b, t, heads, size).transpose(0, 2, 1, 3) for part in parts)
        weights = jax.nn.softmax(jnp.where(mask, q @ k.transpose(0, 1, 3, 2) / np.sqrt(size), -jnp.inf), -1)
        return linear(p, f"{name}.c_proj", (weights @ v).transpose(0, 2, 1, 3).reshape(b, t, c))

    def loss(p, ids, targets):
        x = p["wte.weight"][ids] + p["wpe.weight"]
        for i in range(spec.layers):
            x = x + attention(p, f"h.{i}.attn", norm(p, f"h.{i}.ln_1", x))
            inner = linear(p, f"h.{i}.mlp.c_fc", norm(p, f"h.{i}.ln_2", x))
            x = x + linear(p, f"h.{i}.mlp.c_proj", jax.nn.gelu(inner, approximate=True))
        logits = norm(p, "ln_f", x) @ p["wte.weight"].T
        return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()

    return loss
