"""Answers to the exercises of chapter 13."""

import numpy as np


def running_mean(gradients, beta, power=None):
    found = 0.0
    for g in gradients:
        found = beta * found + (1 - beta) * g
    return found / (1 - beta ** (len(gradients) if power is None else power))


def train_adamw(p, gradient, steps, lr, beta1, beta2, eps, decay):
    m = v = 0.0
    for t in range(1, steps + 1):
        g = gradient(p)
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        p = p - lr * m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + eps) - lr * decay * p
    return p


def train_lion(p, gradient, steps, lr, beta1, beta2, decay):
    m = 0.0
    for _ in range(steps):
        g = gradient(p)
        p = p - lr * (np.sign(beta1 * m + (1 - beta1) * g) + decay * p)
        m = beta2 * m + (1 - beta2) * g
    return p


RIGHT = {"13-1": running_mean, "13-2": train_adamw, "13-3": train_lion}


def adam_with_l2(p, gradient, steps, lr, beta1, beta2, eps, decay):
    return train_adamw(p, lambda p: gradient(p) + decay * p, steps, lr, beta1, beta2, eps, 0.0)


def uncorrected(p, gradient, steps, lr, beta1, beta2, eps, decay):
    m = v = 0.0
    for _ in range(steps):
        g = gradient(p)
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        p = p - lr * m / (np.sqrt(v) + eps) - lr * decay * p
    return p


def inside(p, gradient, steps, lr, beta1, beta2, eps, decay):
    m = v = 0.0
    for t in range(1, steps + 1):
        g = gradient(p)
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        p = p - lr * m / (1 - beta1**t) / np.sqrt(v / (1 - beta2**t) + eps) - lr * decay * p
    return p


def shrunk_after(p, gradient, steps, lr, beta1, beta2, eps, decay):
    m = v = 0.0
    for t in range(1, steps + 1):
        g = gradient(p)
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        p = p - lr * m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + eps)
        p = p * (1 - lr * decay)
    return p


def in_place(p, *rest):
    p[:] = train_adamw(p, *rest)
    return p


def without_sign(p, gradient, steps, lr, beta1, beta2, decay):
    m = 0.0
    for _ in range(steps):
        g = gradient(p)
        p = p - lr * (beta1 * m + (1 - beta1) * g + decay * p)
        m = beta2 * m + (1 - beta2) * g
    return p


def memory_first(p, gradient, steps, lr, beta1, beta2, decay):
    m = 0.0
    for _ in range(steps):
        g = gradient(p)
        m = beta2 * m + (1 - beta2) * g
        p = p - lr * (np.sign(beta1 * m + (1 - beta1) * g) + decay * p)
    return p


def decay_in_gradient(p, gradient, steps, lr, beta1, beta2, decay):
    m = 0.0
    for _ in range(steps):
        g = gradient(p)
        p = p - lr * np.sign(beta1 * m + (1 - beta1) * g + decay * p)
        m = beta2 * m + (1 - beta2) * g
    return p


WRONG = [
    ("13-1", "does not correct", lambda gs, beta: running_mean(gs, beta, np.inf), "is not corrected for that"),
    ("13-1", "corrects for one step", lambda gs, beta: running_mean(gs, beta, 1), "a constant too large"),
    ("13-1", "counts too far", lambda gs, beta: running_mean(gs, beta, len(gs) + 1), "one step too many"),
    ("13-1", "goes backwards", lambda gs, beta: running_mean(gs[::-1], beta), "the newest gradient has"),
    ("13-1", "swaps the weights", lambda gs, beta: running_mean(gs, 1 - beta), "all changed places"),
    ("13-1", "takes the plain mean", lambda gs, beta: np.mean(gs, axis=0), "the same weight"),
    ("13-2", "adds decay to the gradient", adam_with_l2, "that is Adam, and not AdamW"),
    ("13-2", "does not correct", uncorrected, "neither mean is corrected"),
    ("13-2", "has epsilon in the root", inside, "inside the root"),
    ("13-2", "shrinks after the step", shrunk_after, "shrinks what the step has left"),
    ("13-2", "forgets decay", lambda *given: train_adamw(*given[:-1], 0.0), "decay is left out"),
    ("13-2", "decays without lr", lambda *given: train_adamw(*given[:-1], given[-1] / given[3]), "by the learning"),
    ("13-2", "has the wrong sign", lambda *given: train_adamw(*given[:-1], -given[-1]), "grow by the decay"),
    ("13-2", "writes into its start", in_place, "no longer what it was"),
    ("13-3", "forgets the sign", without_sign, "the sign is not taken"),
    ("13-3", "moves the memory first", memory_first, "the memory moves first"),
    ("13-3", "puts decay in the sign", decay_in_gradient, "decay stands inside the sign"),
    ("13-3", "keeps c", lambda *given: train_lion(*given[:5], given[4], given[6]), "the memory keeps c"),
    ("13-3", "swaps betas", lambda p, f, n, lr, a, b, decay: train_lion(p, f, n, lr, b, a, decay), "other's place"),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
