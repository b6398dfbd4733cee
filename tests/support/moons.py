"""The half-moons of a published example, with the generator that they were drawn from."""

import math

import numpy as np

SHAPES = {"b1": (16,), "b2": (16,), "b3": (1,), "w1": (16, 2), "w2": (16, 16), "w3": (1, 16)}


class Xorshift:
    """The 32-bit xorshift with signed results."""

    def __init__(self, seed):
        self.state = (seed + 1) & 0xFFFFFFFF

    def draw(self):
        s = self.state
        s ^= (s << 13) & 0xFFFFFFFF
        s ^= s >> 17
        s ^= (s << 5) & 0xFFFFFFFF
        self.state = s
        return s - (1 << 32) if s >> 31 else s

    def integer(self, high):
        return self.draw() % high

    def uniform(self, low=0.0, high=1.0):
        return (self.draw() % 10000) / 10000.0 * (high - low) + low


def moons(rng, count):
    """Points of two half circles in turn, with noise drawn for the last coordinate first."""
    points = []
    for _ in range(count):
        v = rng.integer(count) * math.pi / count
        quad = [math.cos(v), math.sin(v), 1 - math.cos(v), 0.5 - math.sin(v)]
        for k in (3, 2, 1, 0):
            quad[k] += rng.uniform(-0.1, 0.1)
        points += quad
    return np.array(points).reshape(-1, 2).astype(np.float32)


def labels(count):
    return np.where(np.arange(count) % 2 == 0, 1, -1).astype(np.float32)[:, None]


def parameters(rng):
    draws = {name: [rng.uniform() for _ in range(math.prod(shape))] for name, shape in SHAPES.items()}
    return {name: np.array(draws[name], np.float32).reshape(shape) for name, shape in SHAPES.items()}
